"""What is there is not written over, by any command."""

from pathlib import Path

import pytest
from bench.tests.either import main

from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive


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
    "an/singular.json": ["figure", "singular", "--out", "an"],
    "an2/singular.png": ["figure", "singular", "--out", "an2"],
    "an/measurements.png": ["figure", "measurements", "m", "mine.npz", "--out", "an"],
    "best.json": ["tune", "mine.npz", "--methods", "mlp", "--trials", "1", "--json", "best.json", "--model.max_epochs", "1"],
    "c.json": ["compare", "mine.npz", "--json", "c.json"],
    "c.rows.npz": ["compare", "mine.npz", "--json", "c.json"],
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


def test_figures_of_the_same_command_are_renewed(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for _ in range(2):
        assert main(COMMANDS["an/singular.json"]) == 0, capsys.readouterr().err
