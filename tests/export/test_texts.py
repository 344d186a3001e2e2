"""Models of texts as graphs: what stands for texts, and what a server without enstruct makes of the files beside the graph."""

import json
import runpy
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from tests.generated_texts import documents, tiny_encoder

from enstruct import EnergyMultiLabelClassifier, JointMultiLabelClassifier, TextEncoder
from enstruct.encoders.text.trunk import load_trunk
from enstruct.errors import ConfigError
from enstruct.estimators.texts import ByEncoder
from enstruct.export import export_onnx
from enstruct.export.texts import ReadTexts, TokenFeatures
from enstruct.methods import METHODS

TEXTS, Y = documents(120)
NEW = [*documents(20, seed=1)[0], "", "zzz unheard of", "grain " * 60]
QUICK = {"hidden": 16, "layers": 1, "learning_rate": 0.03, "max_epochs": 4, "n_iter_no_change": 4, "random_state": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


def served(place, texts, name="model", **more):
    """Outputs by name, from the folder alone, as the example answers."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "answer_texts.py"))
    session, inputs = onnxruntime.InferenceSession(str(place / f"{name}.onnx")), {}
    if (place / "terms.json").exists():
        inputs["features"] = example["terms_of"](texts, place / "terms.json")
    if (place / "tokenizer.json").exists():
        inputs["tokens"] = example["tokens_of"](texts, place / "tokenizer.json")
    about = {("features",): "terms", ("tokens",): "tokens", ("features", "tokens"): "terms and tokens"}
    assert session.get_modelmeta().custom_metadata_map["texts"] == about[tuple(inputs)]
    if name == "model":
        sets = [[str(label) for label in labels] for labels in example["answers"](place, texts)]
        assert sets == [[str(i) for i in np.flatnonzero(row)] for row in session.run(["label_sets"], inputs)[0]]
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, inputs | more), strict=True))


def held_against(model, place):
    exported = export_onnx(model, place)
    found = served(place, NEW)
    p = model.joint_.base_proba(NEW) if hasattr(model, "joint_") else model.predict_proba(NEW)
    np.testing.assert_allclose(found["probabilities"], p, atol=1e-4)
    assert (found["label_sets"] == model.predict(NEW)).all()
    assert all(one.difference <= 1e-4 and one.size < 1.1 * one.weights + 60_000 for one in exported if one.path.stem == "model")
    return found


@pytest.mark.parametrize(
    "model",
    [
        EnergyMultiLabelClassifier("binary-relevance", random_state=0),
        EnergyMultiLabelClassifier("seal-nce", decision="expected-f1", **QUICK),
        EnergyMultiLabelClassifier(base="binary-relevance", random_state=0),
    ],
    ids=["linear", "networks", "default"],
)
@pytest.mark.usefixtures("quick_joints")
def test_by_terms(model, tmp_path):
    model.fit(TEXTS, Y)
    held_against(model, tmp_path / "served")
    assert {file.name for file in (tmp_path / "served").iterdir()} >= {"model.onnx", "terms.json"}
    export_onnx(model, tmp_path / "served", overwrite=True)


@pytest.mark.parametrize("tuning", ["frozen", "adapter", "lora", "full"])
def test_by_an_encoder(folder, tuning, tmp_path):
    encoder = TextEncoder(folder, tuning=tuning, max_tokens=12)
    settings = QUICK if tuning == "frozen" else {"max_epochs": 2, "random_state": 0}
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, **settings).fit(TEXTS, Y)
    held_against(model, tmp_path / "served")
    assert {file.name for file in (tmp_path / "served").iterdir()} == {"model.onnx", "tokenizer.json"}


@pytest.mark.parametrize("tuning", ["frozen", "lora"])
@pytest.mark.usefixtures("quick_joints")
def test_by_both_once_labels_are_told(folder, tuning, tmp_path):
    encoder = TextEncoder(folder, tuning=tuning)
    model = JointMultiLabelClassifier(encoder=encoder, folds=2, random_state=0).fit(TEXTS[:60], Y[:60])
    if tuning == "lora":
        assert {one.base.view for one in model.base_} == {"terms", "tokens"}
    export_onnx(model, tmp_path / "served")
    found = served(tmp_path / "served", NEW)
    np.testing.assert_allclose(found["probabilities"], model.base_proba(NEW), atol=1e-5)
    assert (found["label_sets"] == model.predict(NEW)).all()
    known = np.full((len(NEW), 3), np.nan, dtype=np.float32)
    known[:, 2] = 1
    told = served(tmp_path / "served", NEW, "conditional", known=known)["probabilities"]
    assert (told[:, 2] == 1).all()
    assert np.abs(told[:, :2] - model.predict_proba(NEW, known=known)[:, :2]).max() < 0.1  # mean field


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layers", [1, 2])
def test_tokens_have_the_encoders_features(folder, pooling, layers):
    encoder = TextEncoder(folder, pooling=pooling, layers=layers, cache=False)
    reader = ReadTexts(ByEncoder.of(encoder))
    module = TokenFeatures(encoder.trunk, pooling, layers)
    with torch.no_grad():
        found = module(torch.from_numpy(reader.inputs(NEW)["tokens"]))
    np.testing.assert_allclose(found, encoder.features(NEW), atol=1e-5)


def test_a_text_without_a_token_is_one_that_pads(folder):
    trunk = load_trunk(folder)
    module = TokenFeatures(trunk, "mean")
    with torch.no_grad():
        empty, padding = module(torch.tensor([[-1, -1], [5, 6]])), module(torch.tensor([[trunk.fill]]))
    np.testing.assert_allclose(empty[:1], padding, atol=1e-6)


def test_one_label_a_row(tmp_path):
    y = np.array(["grain", "wheat", "both"])[np.where(Y[:, 2] > 0, 2, Y[:, 1])]
    model = EnergyMultiLabelClassifier("binary-relevance", random_state=0).fit(TEXTS, y)
    export_onnx(model, tmp_path / "served")
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "answer_texts.py"))
    assert example["answers"](tmp_path / "served", NEW) == [[one] for one in model.predict(NEW)]


@pytest.mark.parametrize("tuning", ["frozen", "lora"])
def test_an_encoder_that_answers_in_half_precision_is_exported_in_single(folder, tuning, tmp_path):
    encoder = TextEncoder(folder, tuning=tuning, max_tokens=12, precision="bfloat16")
    settings = QUICK if tuning == "frozen" else {"max_epochs": 1, "random_state": 0}
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, **settings).fit(TEXTS, Y)
    (exported,) = export_onnx(model, tmp_path / "served")
    assert exported.difference < 1e-4
    assert np.abs(served(tmp_path / "served", NEW)["probabilities"] - model.predict_proba(NEW)).max() < 0.05


def test_texts_are_cut_where_the_encoders_tokenizer_cuts_them(folder, tmp_path):
    own = tiny_encoder(tmp_path / "left")
    told = json.loads((own / "tokenizer_config.json").read_text())
    (own / "tokenizer_config.json").write_text(json.dumps(told | {"truncation_side": "left"}))
    reader = ReadTexts(ByEncoder.of(TextEncoder(own, max_tokens=6, cache=False)))
    text = "oil ship gold trade crude corn rate bank"
    assert reader.inputs([text])["tokens"].tolist() == reader.trunk.tokens([text], 6)
    assert reader.inputs([text])["tokens"].tolist() != load_trunk(folder).tokens([text], 6)


@pytest.mark.usefixtures("quick_joints")
def test_a_trunk_is_in_a_graph_once(tmp_path):
    own = tiny_encoder(tmp_path / "wide", hidden_size=64, intermediate_size=256)  # beside which nodes weigh little
    encoder = TextEncoder(own, tuning="lora", size=2, max_tokens=12)
    trunk = sum(weights.numel() * weights.element_size() for weights in encoder.trunk.network.parameters())
    sizes = []
    for folds in (2, 3):
        model = JointMultiLabelClassifier(METHODS["cross-entropy"], encoder=encoder, folds=folds, random_state=0)
        exported = export_onnx(model.fit(TEXTS[:40], Y[:40]), tmp_path / str(folds))
        sizes.append(exported[0].size)
        assert exported[0].weights < 2 * trunk
    assert sizes[1] - sizes[0] < trunk / 2  # of another model there are the parts and the nodes


def test_drawn_texts_are_not_cut(folder, tmp_path, caplog):
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=TextEncoder(folder, max_tokens=12), **QUICK).fit(TEXTS, Y)
    load_trunk(folder).said.clear()
    export_onnx(model, tmp_path / "served")
    assert not [record for record in caplog.records if "cut there" in record.getMessage()]


def test_a_base_of_ones_own_that_reads_texts_is_refused(tmp_path):
    pipeline = make_pipeline(CountVectorizer(), MultiOutputClassifier(LogisticRegression()))
    model = JointMultiLabelClassifier(pipeline, folds=2, random_state=0).fit(TEXTS, Y)
    with pytest.raises(ConfigError, match="a model of your own"):
        export_onnx(model, tmp_path / "served")


def test_a_tokenizer_of_pythons_own_is_refused(folder, tmp_path, monkeypatch):
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=TextEncoder(folder), **QUICK).fit(TEXTS, Y)
    monkeypatch.setattr(type(model.encoder.trunk.tokenizer), "backend_tokenizer", None, raising=False)
    with pytest.raises(ConfigError, match="in Python alone"):
        export_onnx(model, tmp_path / "served")
    assert not (tmp_path / "served").exists()
