"""Options, and files of them."""

import re

import pytest

from enstruct.cli.main import main
from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.estimators import EnergySequenceTagger

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
    assert re.fullmatch(r"error: .{,300}\nall options: enstruct( \w+)+ --help\n", said)
    return said


DAMAGED = {
    "nested": ("seed: " + "[" * 50_000 + "]" * 50_000, "nested more than 20 deep"),
    "of itself": ("drop: &a [*a]", "nested more than 20 deep"),
    "long number": ("seed: " + "1" * 5000, "digits"),
    "400 digits": ("model:\n  layers: " + "1" * 400, "--model.layers: a number of more than 64 bits"),
    "a list": ("[1, 2]", "names and values"),
    "empty": ("", "names and values"),
    "no YAML": ("a: b: c", "not allowed here"),
    "bytes": (b"\xff\xfe\x00", "decode byte"),
    "unknown": ("sede: 1", "no option sede. Did you mean --seed?"),
    "unknown below": ("model:\n  hiden: 1", "no option model.hiden. Did you mean --model.hidden?"),
    "a number for a group": ("model: 3", "model is 3"),
    "no file for a group": ("model: nowhere.yaml", "nowhere.yaml is no file of options"),
    "null for a group": ("seed: 1\nmodel:", "model is None"),
    "a word for a number": ("seed: many", "--seed: "),
    "a key that is no name": ("1: 2", "no option 1"),
}


def test_parameters_of_a_tagger_from_a_file(files):
    (files / "a.conll").write_text("a X\nb Y\n\n" * 12)
    assert main(["train", "a.conll", "--out", "t", "--model", "sub/m.yaml"]) == 0
    assert EnergySequenceTagger.load("t").max_epochs == 1


@pytest.mark.parametrize("kind", DAMAGED)
def test_files_of_options_that_are_none(kind, files, capsys):
    text, message = DAMAGED[kind]
    (files / "c.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    said = refused([*TRAIN, "--config", "c.yaml"], capsys)
    assert "c.yaml" in said
    assert message in said
    assert not (files / "model").exists()


def test_references_within_a_file_of_options_are_yaml(files):
    (files / "c.yaml").write_text("model: {method: seal-nce, max_epochs: &n 1, n_iter_no_change: *n, hidden: 8}\n")
    assert main([*TRAIN, "--config", "c.yaml"]) == 0


@pytest.mark.parametrize(
    "option", [["--seed", "1" * 5000], ["--model.weight_decay", "1" * 400], ["--model.layers", "1" * 400], ["--drop", "[" * 900]]
)
def test_values_of_any_length(option, files, capsys):
    refused([*TRAIN, *option], capsys)


@pytest.mark.parametrize("seed", ["4294967296", "-1", "1.5", "x"])
def test_seeds_that_no_generator_takes(seed, files, capsys):
    for command in (
        [*TRAIN, "--seed"],
        ["data", "pictures", "p", "--seed"],
        ["data", "duplicates", "p", "--split_seed"],
    ):
        assert "seed: " in refused([*command, seed], capsys)


def test_a_share_that_leaves_nothing_to_train_on(files, capsys):
    seal = [*TRAIN, "--model.method", "seal-nce"]
    assert main([*seal, "--model.validation_fraction", "0.9999", "--model.early_stopping", "true"]) == 2
    assert "nothing would be left to train on" in capsys.readouterr().err


def test_more_memory_than_there_is_and_what_cannot_be_printed(files, monkeypatch, capsys):
    from enstruct.cli import data

    for error, message in ((MemoryError("466 TiB"), "(466 TiB)"), ("é".encode, "set PYTHONIOENCODING=utf-8")):

        def work(*rest, error=error):
            raise error if isinstance(error, Exception) else UnicodeEncodeError("ascii", "é", 0, 1, "no such")

        monkeypatch.setattr(data, "block_exclusive", work)
        assert main(["data", "synthetic", "big.npz"]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1
