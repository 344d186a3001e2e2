"""`enstruct export`, as a user types it."""

import json

import numpy as np
import onnxruntime
import pytest

from enstruct.cli.inputs import load_model
from enstruct.cli.main import main
from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive

FAST = ["--model.method", "seal-nce", "--model.max_epochs", "2", "--model.hidden", "8", "--model.layers", "1"]


@pytest.fixture
def trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_npz("train.npz", block_exclusive(120, seed=1))
    assert main(["train", "train.npz", "--out", "model", *FAST]) == 0
    return tmp_path


def test_export(trained, capsys):
    assert main(["export", "model", "out", "--rows", "8", "--decision", "expected-f1"]) == 0
    printed = capsys.readouterr().out
    assert "model.onnx" in printed
    assert "decisions equal the model's in all rows checked" in printed
    session = onnxruntime.InferenceSession("out/model.onnx")
    X = block_exclusive(20, seed=3).X.astype(np.float32)
    (p,) = session.run(["probabilities"], {"features": X})
    model = load_model(trained / "model")
    np.testing.assert_allclose(p, model.predict_proba(X), atol=1e-5)
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["labels"])[:2] == ["b0.0", "b0.1"]
    assert main(["export", "model", "out"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main(["export", "model", "out", "--overwrite", "--decision", "fixed", "--rows", "4"]) == 0
    assert onnxruntime.InferenceSession("out/model.onnx").get_modelmeta().custom_metadata_map["decision"] == "fixed"


def test_what_cannot_be(trained, capsys):
    assert main(["export", "nowhere", "out"]) == 2
    assert main(["export", "model", "train.npz"]) == 2
    assert "no export of enstruct's" in capsys.readouterr().err
    assert main(["export", "model", "out", "--decision", "fixd"]) == 2
    assert "Did you mean 'fixed'" in capsys.readouterr().err
