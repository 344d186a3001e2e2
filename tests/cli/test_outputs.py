"""What is there is not written over, by any command."""

import json
from pathlib import Path

import numpy as np
import pytest

from enstruct.cli.main import main
from enstruct.cli.outputs import check_figures, check_free, check_names
from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.errors import ConfigError, DataError, SaveError
from enstruct.estimators import EnergyMultiLabelClassifier


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("outputs")
    data = block_exclusive(60, seed=1)
    write_npz(path / "mine.npz", data)
    (path / "a.conll").write_text("a X\nb Y\n\n" * 12)
    fast = ["--model.max_epochs", "1"]
    assert main(["train", str(path / "mine.npz"), "--out", str(path / "m"), "--model.method", "spen", *fast]) == 0
    assert main(["train", str(path / "a.conll"), "--out", str(path / "t"), *fast]) == 0
    assert main(["data", "pictures", str(path / "p"), "--images", "8", "--size", "16"]) == 0
    assert main(["train", str(path / "p"), "--out", str(path / "s"), "--model.width", "4", *fast]) == 0
    return path


COMMANDS = {
    "out.npz": ["data", "synthetic", "out.npz", "--rows", "9"],
    "out/images/0000.png": ["data", "pictures", "out", "--images", "1"],
    "d.json": ["data", "describe", "mine.npz", "--json", "d.json"],
    "o.txt": ["predict", "m", "mine.npz", "--out", "o.txt"],
    "e.json": ["evaluate", "m", "mine.npz", "--json", "e.json"],
    "o.conll": ["predict", "t", "a.conll", "--out", "o.conll"],
    "te.json": ["evaluate", "t", "a.conll", "--json", "te.json"],
    "pic/sentence.png": ["evaluate", "t", "a.conll", "--pictures", "pic"],
    "found/0003.png": ["predict", "s", "p/images", "--out", "found"],
    "se.json": ["evaluate", "s", "p", "--json", "se.json"],
    "x/masks.png": ["evaluate", "s", "p", "--pictures", "x"],
    "demo-output/results.json": ["demo"],
    "suspects.csv": ["review", "mine.npz", "--out", "suspects.csv"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_not_the_commands_own_is_left(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b'{"precious": 1}')
    assert main(COMMANDS[name]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert path.read_bytes() == b'{"precious": 1}'
    path.unlink()


@pytest.mark.parametrize("name", ["out.npz", "o.txt", "o.conll", "found/0003.png", "x/masks.png", "out/images/0000.png"])
def test_it_is_written_over_where_that_is_said(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"precious")
    assert main([*COMMANDS[name], "--overwrite"]) == 0
    assert path.read_bytes() != b"precious"


def test_figures_of_the_same_command_are_renewed(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for _ in range(2):
        for name in ("d.json", "e.json"):
            assert main(COMMANDS[name]) == 0, capsys.readouterr().err
    (folder / "d.json").rename(folder / "e.json")
    assert main(COMMANDS["e.json"]) == 2
    assert "add --overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["/", ".", "", "m", "mine.npz/o.txt", "/dev/null"])
def test_where_nothing_can_be_written_is_one_line(out, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for command in (["predict", "m", "mine.npz"], ["predict", "t", "a.conll"]):
        assert main([*command, "--out", out, "--overwrite"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert said.count("\n") == 1


def test_a_folder_that_nothing_may_be_written_in(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(SaveError, match="nothing may be written in"):
        check_free([tmp_path / "new" / "o.txt"], overwrite=True)


def test_links_are_what_is_there(tmp_path):
    (tmp_path / "o.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="is there already"):
        check_free([tmp_path / "o.txt"], overwrite=False)


def test_pictures_beside_figures_are_theirs(tmp_path):
    figures, picture = tmp_path / "f.json", tmp_path / "f.png"
    picture.write_bytes(b"a photograph")
    with pytest.raises(ConfigError, match=r"f\.png is there already"):
        check_figures(figures, False, {"a": int}, [picture])
    figures.write_text('{"a": 1}')
    check_figures(figures, False, {"a": int}, [picture])


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\r", "", "\x85", "\u2028x", "\ud800"])
def test_labels_that_no_line_can_hold(name, tmp_path, monkeypatch, capsys):
    """A model fitted in Python may have any."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((30, 3)).astype(np.float32)
    Y = (X > 0).astype(int)
    names = [name, "b", "c"]
    notes = {"source": "x", "feature_names": ["f0", "f1", "f2"], "label_names": names, "first_feature": None, "means": None}
    EnergyMultiLabelClassifier("binary-relevance").fit(X, Y).save("m", notes)
    np.savez("new.npz", X=X, feature_names=np.array(notes["feature_names"]))
    for out in ([], ["--out", "o.txt"]):
        assert main(["predict", "m", "new.npz", "--unlabelled", *out]) == 2
        assert "--out FILE.jsonl" in capsys.readouterr().err
    assert main(["predict", "m", "new.npz", "--unlabelled", "--out", "o.jsonl"]) == 0
    records = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert len(records) == 30
    assert [*records[0]["probabilities"]] == names


def test_tags_that_columns_or_references_cannot_hold():
    check_names("tag", ["B LOC"], Path("o"), "\t", "")
    for tag, apart in (("B\tLOC", "\t"), ("", "\t"), ("a b", " <>"), ("a>", " <>")):
        with pytest.raises(DataError, match="cannot stand in a line"):
            check_names("tag", [tag], Path("o"), apart, "")
