"""Commands of ``enstruct`` that tables run: each does what the program does."""

import json

import pytest
from bench.tests.either import main

from enstruct.errors import DataError, ModelFileError
from enstruct_bench.reproduce.library import Describe, Measured, Pictures, Synthetic, Train


def test_rows_and_a_model_are_those_of_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Synthetic("own.npz", rows=60).run()
    assert main(["data", "synthetic", "typed.npz", "--rows", "60"]) == 0
    assert (tmp_path / "own.npz").read_bytes() == (tmp_path / "typed.npz").read_bytes()
    Train("own.npz", model={"method": "spen", "max_epochs": 1, "method__energy_rate": 2.0}, out="own").run()
    words = ["--model.method", "spen", "--model.max_epochs", "1", "--method.energy_rate", "2"]
    assert main(["train", "own.npz", "--out", "typed", *words]) == 0
    weights = [next((tmp_path / name).glob("*.safetensors")).read_bytes() for name in ("own", "typed")]
    assert weights[0] == weights[1]


def test_training_goes_on_only_when_it_is_told_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Synthetic("own.npz", rows=60).run()
    (tmp_path / "m.checkpoint").write_text("")
    with pytest.raises(ModelFileError, match="--resume"):
        Train("own.npz", model={"method": "seal-nce", "max_epochs": 1}, out="m").run()


def test_a_description_and_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Synthetic("own.npz", rows=60).run()
    Describe("own.npz", json=tmp_path / "about.json").run()
    assert json.loads((tmp_path / "about.json").read_text())["data"] == "own.npz"
    (tmp_path / "a.conll").write_text("a X\nb Y\n\n" * 12)
    Train("a.conll", model={"max_epochs": 1}, out="m").run()
    Pictures("m", "a.conll", pictures=tmp_path / "p").run()
    assert "sentence.png" in {path.name for path in (tmp_path / "p").iterdir()}


def test_what_is_measured_is_made_elsewhere():
    with pytest.raises(DataError, match="costs --measure"):
        Measured().run()
