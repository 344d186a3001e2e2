"""``enstruct-bench figure``: every action writes its figures and its picture."""

import json

import numpy as np
import pytest
from bench.tests.either import main

from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct_bench.figures import couplings

FAST = ["--model.max_epochs", "2", "--model.hidden", "8", "--model.layers", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("figure")
    write_npz(path / "train.npz", block_exclusive(150, seed=1))
    write_npz(path / "test.npz", block_exclusive(40, seed=5))
    for method in ("spen", "seal-nce"):
        out = ["--out", str(path / method), "--model.method", method]
        assert main(["train", str(path / "train.npz"), *out, *FAST]) == 0
    return path


@pytest.mark.parametrize("action", ["convergence", "answers", "search-error"])
def test_of_a_saved_model(action, folder, tmp_path, capsys):
    assert main(["figure", action, str(folder / "spen"), str(folder / "test.npz"), "--out", str(tmp_path)]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {f"{action}.json", f"{action}.png"}
    figures = json.loads((tmp_path / f"{action}.json").read_text())
    assert figures["analysis"] == action
    assert figures["rows"] == 40
    assert "torch" in figures["environment"]
    assert f"{action}.png" in capsys.readouterr().out


def test_refinement(folder, tmp_path, capsys):
    arguments = [str(folder / "test.npz"), "--out", str(tmp_path)]
    assert main(["figure", "refinement", str(folder / "seal-nce"), *arguments]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"refinement.json", "refinement.png"}
    assert main(["figure", "refinement", str(folder / "spen"), *arguments]) == 2
    assert "answers by inference already" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["interactions", "line"])
def test_of_a_learned_loss(action, folder, tmp_path):
    assert main(["figure", action, str(folder / "seal-nce"), str(folder / "test.npz"), "--out", str(tmp_path)]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {f"{action}.json", f"{action}.png"}
    assert json.loads((tmp_path / f"{action}.json").read_text())["rows"] == 40


@pytest.mark.parametrize("action", ["singular", "sample-gradients"])
def test_of_a_toy(action, tmp_path, monkeypatch):
    monkeypatch.setattr("enstruct_bench.figures.sample_gradients.PROBLEMS", 2)
    assert main(["figure", action, "--out", str(tmp_path)]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {f"{action}.json", f"{action}.png"}


def test_couplings(folder, tmp_path):
    arguments = ["--out", str(tmp_path), "--seconds", "0.5", "--model.method", "implicit-cd", "--model.hidden", "8"]
    assert main(["figure", "couplings", str(folder / "train.npz"), *arguments]) == 0
    figures = json.loads((tmp_path / "couplings.json").read_text())
    for name in ("alternating", "unrolled 1", "implicit, 5 terms"):
        assert figures[name][-1]["seconds"] >= 0.5
        assert all(point["seconds"] < 0.5 for point in figures[name][:-1])  # the clock is read after every epoch


def test_measurements(folder, tmp_path):
    """Blocks of four: 24 of 120 pairs of labels never stand together."""
    assert main(["figure", "measurements", str(folder / "spen"), str(folder / "test.npz"), "--out", str(tmp_path)]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"measurements.json", "measurements.png"}
    figures = json.loads((tmp_path / "measurements.json").read_text())
    assert (figures["labels"], figures["pairs"]) == (16, 120)
    assert 24 <= figures["never_together"] < 60
    assert np.shape(figures["interactions"]) == (16, 16)
    assert np.shape(figures["matrix"]) == (figures["measurements"], 16)
    assert 0 <= figures["never_together_auc"] <= 1


@pytest.mark.parametrize(("action", "extra"), [("starts", ["--steps", "3"]), ("objectives", ["--seeds", "1"])])
def test_that_train(action, extra, folder, tmp_path):
    assert main(["figure", action, str(folder / "train.npz"), "--out", str(tmp_path), *extra, *FAST]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {f"{action}.json", f"{action}.png"}


@pytest.mark.parametrize(
    "arguments",
    [["starts", "--every", "0"], ["starts", "--steps", "0"], ["objectives", "--seeds", "0"], ["couplings", "--seconds", "0"]],
)
def test_impossible_numbers_are_errors(arguments, folder, tmp_path, capsys):
    action, *rest = arguments
    assert main(["figure", action, str(folder / "train.npz"), "--out", str(tmp_path), *rest, *FAST]) == 2
    said = capsys.readouterr().err
    assert "at least" in said or "steps must be a whole number from 1" in said
    assert list(tmp_path.iterdir()) == []


def test_a_method_without_an_energy_is_an_error(folder, tmp_path, capsys):
    arguments = ["--model.method", "mlp", "--out", str(tmp_path)]
    assert main(["figure", "starts", str(folder / "train.npz"), *arguments]) == 2
    assert "no energy" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_help_has_the_first_line_of_a_figure_s_module(capsys):
    with pytest.raises(SystemExit):
        main(["figure", "couplings", "--help"])
    first = (couplings.__doc__ or "").split("\n", 1)[0]
    assert first[:40] in " ".join(capsys.readouterr().out.split())
