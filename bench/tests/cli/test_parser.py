"""Options, and files of them."""

import json
import re

import pytest
from bench.tests.either import main

from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.estimators import EnergyMultiLabelClassifier

TRAIN = ["train", "mine.npz", "--out", "model"]

SMALL = "max_epochs: 1\nhidden: 8\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_npz("mine.npz", block_exclusive(60, seed=1))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "m.yaml").write_text(SMALL)
    return tmp_path


def refused(arguments, capsys):
    """What is said of options that are."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"error: .{,300}\nall options: enstruct(-bench)?( \w+)+( --task \w+)? --help\n", said)
    return said


def test_parameters_of_the_model_from_a_file(files, capsys):
    assert main([*TRAIN, "--model", "sub/m.yaml", "--model.method", "seal-nce", "--model.layers", "1"]) == 0
    model = EnergyMultiLabelClassifier.load("model")
    assert (model.max_epochs, model.hidden, model.layers) == (1, 8, 1)
    (files / "sub" / "c.yaml").write_text("data: mine.npz\nout: other\nmodel: m.yaml\n")  # beside it
    assert main(["train", "--config", "sub/c.yaml", "--model.method", "seal-nce"]) == 0
    assert EnergyMultiLabelClassifier.load("other").hidden == 8
    compared = ["compare", "mine.npz", "--methods", "mlp", "--seeds", "1", "--json", "c.json"]
    assert main([*compared, "--model", "sub/m.yaml"]) == 0
    assert main([*compared, "--model.max_epochs", "1", "--model.hidden", "8"]) == 0, capsys.readouterr().err
    assert "__path__" not in json.loads((files / "c.json").read_text())["setting"]["model"]


def test_a_file_of_parameters_that_is_none(files, capsys):
    (files / "m.yaml").write_text("hiden: 8")
    for command in (TRAIN, ["train", "--task", "masks", "p", "--out", "m"], ["figure", "starts", "mine.npz"]):
        assert "m.yaml: there is no option model.hiden" in refused([*command, "--model", "m.yaml"], capsys)
    for name in ("mine.npz", ".", "nowhere.yaml"):
        assert f"{name} is no file of options" in refused([*TRAIN, "--model", name], capsys)


@pytest.mark.parametrize("seed", ["4294967296", "-1", "1.5", "x"])
def test_seeds_that_no_generator_takes(seed, files, capsys):
    for command in (
        [*TRAIN, "--seed"],
        ["compare", "mine.npz", "--split_seed"],
        ["tune", "mine.npz", "--split_seed"],
        ["compare", "a.conll", "--split_seed"],
    ):
        assert "seed: " in refused([*command, seed], capsys)


def test_the_largest_seed(files):
    assert main(["compare", "mine.npz", "--seeds", "1", "--methods", "low-rank", "--split_seed", "4294967295"]) == 0
