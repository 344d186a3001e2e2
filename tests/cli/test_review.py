"""Given labels that are probably wrong, as a list."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from enstruct.cli import review
from enstruct.cli.main import main
from enstruct.estimators.label_noise import NoteNoise

NAMES = ("a", "b", "c")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """60 rows in which b is as a, but for rows 11 and 40; of row 5 nothing is known. mine.csv, and what it holds."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, a = rng.standard_normal((60, 2)), rng.random(60) < 0.5
    X[:, 0] += 2 * np.sign(X[:, 0])  # so that nothing about c is in doubt
    Y = np.stack([a, a, X[:, 0] > 0], axis=1).astype(float)
    Y[[11, 40], 1] = 1 - Y[[11, 40], 1]
    Y[::4, 2], Y[5] = np.nan, np.nan
    with open("mine.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x0", "x1", *NAMES])
        writer.writerows([*x, *("" if np.isnan(v) else int(v) for v in y)] for x, y in zip(X, Y, strict=True))
    return Y


def read(name):
    with open(name, newline="") as file:
        return list(csv.DictReader(file))


def test_cells_of_broken_pairs_come_first(table, capsys):
    command = ["review", "mine.csv", "--labels", "-3", "--out", "s.csv", "--minutes", "0.001", "--folds", "2"]
    assert main(command) == 0
    cells = read("s.csv")
    assert {(int(cell["row"]), cell["label"]) for cell in cells[:4]} == {(11, "a"), (11, "b"), (40, "a"), (40, "b")}
    places = [(int(cell["row"]), NAMES.index(cell["label"])) for cell in cells]
    assert sorted(places) == [tuple(place) for place in np.argwhere(~np.isnan(table))]
    assert [float(cell["value"]) for cell in cells] == [table[place] for place in places]
    quality = [float(cell["quality"]) for cell in cells]
    assert quality == sorted(quality)
    assert f"{len(cells)} given labels of 59 rows" in capsys.readouterr().out
    assert main(command) == 2
    assert "add --overwrite" in capsys.readouterr().err


@pytest.fixture
def found(monkeypatch):
    """What is asked of the library, which answers with three cells."""
    calls = []

    def find(X, y, **settings):
        calls.append((X, y, settings))
        return SimpleNamespace(cells=lambda: [(8, 2, 0.01), (4, 0, 0.25), (5, 1, 0.5)], noise=NoteNoise(0.004, 0.213, 0.052))

    monkeypatch.setattr(review, "find_label_issues", find)
    return calls


def test_rows_are_those_of_the_file(table, found, capsys):
    """Row 5 is left out of what is reviewed, and rows behind it keep their numbers."""
    assert main(["review", "mine.csv", "--labels", "-3", "--out", "s.csv", "--top", "2", "--seed", "9", "--minutes", "2"]) == 0
    X, y, settings = found[0]
    np.testing.assert_array_equal(y, np.delete(table, 5, axis=0))
    assert len(X) == 59
    assert settings == {"base": "auto", "minutes": 2.0, "random_state": 9}
    assert [list(row.values()) for row in read("s.csv")] == [
        ["9", "c", str(int(table[9, 2])), "0.01"],
        ["4", "a", str(int(table[4, 0])), "0.25"],
    ]
    said = " ".join(capsys.readouterr().out.split())
    assert "labels that are there about 21.3% seem not to be noted, of absent ones about 0.40% to be" in said
    assert "up to 5.2% of labels that are there seem to be noted as other ones" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "mine.csv"], "is the file to be reviewed"),
        (["--out", "s.txt"], "name it FILE.csv"),
        (["--out", "s.csv", "--top", "0"], "top must be a whole number from 1 on"),
        (["--out", "s.csv", "--base", "seal-nce"], "--base auto"),
        (["--out", "s.csv", "--folds", "1"], "folds=1 leaves a fifth of the rows out"),
    ],
)
def test_what_cannot_be_reviewed(options, message, table, found, capsys):
    assert main(["review", "mine.csv", "--labels", "-3", *options]) == 2
    assert message in capsys.readouterr().err
    assert not found


@pytest.fixture
def at_once(monkeypatch):
    """The page is served and ended at once; what the session was."""
    from enstruct.cli import pages

    served = []
    monkeypatch.setattr(pages, "wait", lambda: None)
    serve = pages.serve
    monkeypatch.setattr(review, "serve", lambda session, options: (served.append(session), act(session), serve(session, options)))
    acts = []

    def act(session):
        for number, (row, cells) in enumerate(acts):
            session.tell(f"{len(session.journal)}-{number}", "me", row, cells, False, None)

    served.append(acts)
    return served


def complete(name="whole.csv"):
    """40 rows, none with a hole: b is as a, but in row 11."""
    rng = np.random.default_rng(0)
    a = rng.random(40) < 0.5
    Y = np.stack([a, a, rng.random(40) < 0.5], axis=1).astype(int)
    Y[11, 1] = 1 - Y[11, 1]
    with open(name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["x0", *NAMES])
        writer.writerows([f"{v:.4f}", *y] for v, y in zip(rng.normal(size=40), Y, strict=True))
    return Y


REVIEW = ["review", "whole.csv", "--labels", "-3", "--base", "binary-relevance", "--folds", "2"]


def test_a_page_of_suspects_and_the_corrected_data(tmp_path, monkeypatch, at_once, capsys):
    monkeypatch.chdir(tmp_path)
    Y = complete()
    acts = at_once[0]
    acts.append((11, {"b": bool(1 - Y[11, 1])}))
    assert main(REVIEW) == 0
    session = at_once[1]
    assert (session.review.suspects[0].row, session.review.suspects[0].label) in {(11, "a"), (11, "b")}
    assert "1 labels changed: whole.csv.corrected.csv" in capsys.readouterr().out
    corrected = np.array([[int(row[name]) for name in NAMES] for row in read("whole.csv.corrected.csv")])
    assert np.argwhere(corrected != Y).tolist() == [[11, 1]]
    monkeypatch.setattr(review, "JointMultiLabelClassifier", None)  # suspects are not looked for again
    acts[:] = [(11, {"b": None})]
    assert main(REVIEW) == 0
    assert "0 labels changed" in capsys.readouterr().out
    assert np.array_equal([[int(row[name]) for name in NAMES] for row in read("whole.csv.corrected.csv")], Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--log", "a.txt"], "name it FILE.jsonl"),
        (["--corrected", "a.txt"], "name it FILE.csv"),
        (["--corrected", "whole.csv"], "three different files"),
        (["--port", "70000"], "from 0 (any) to 65535"),
        (["--out", "s.csv", "--log", "a.jsonl"], "are of the page"),
    ],
)
def test_pages_that_cannot_be(options, message, tmp_path, monkeypatch, capsys, at_once):
    monkeypatch.chdir(tmp_path)
    complete()
    assert main([*REVIEW, *options]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["whole.csv"]
