"""``enstruct report``: one page for every kind of model, whatever the data hold, and clear words for what cannot be."""

import csv
import re

import numpy as np
import pytest
from tests.generated import FAST_SEGMENTER, FAST_TAGGER, write_picture_parts, write_sentences
from tests.html_checks import check_page

from enstruct import JointMultiLabelClassifier
from enstruct.cli import report
from enstruct.cli.main import main

BAD = '<script>alert("1")</script>'
NAMES = ("twin", BAD, "own & co", "rare")


def planted(n, seed):
    """Twins that x says nothing of, a label that x tells, a rare one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    twin = rng.random(n) < 0.5
    return X, np.stack([twin, twin ^ (rng.random(n) < 0.02), X[:, 0] > 0, rng.random(n) < 0.1], axis=1).astype(float)


def write(path, names, table):
    """CSV, empty where it is NaN."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(["" if np.isnan(value) else f"{value:g}" for value in row] for row in table)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data and a model of each kind of label sets: joint, network, baseline, automatic, of texts."""
    path = tmp_path_factory.mktemp("report")
    for name, (X, Y) in {"train": planted(120, 0), "test": planted(60, 1)}.items():
        write(path / f"{name}.csv", ["x<0>", "x1", *NAMES], np.hstack([X, Y]))
    Y[np.random.default_rng(2).random(Y.shape) < 0.3] = np.nan
    write(path / "holes.csv", ["x<0>", "x1", *NAMES], np.hstack([X, Y]))
    with (path / "texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "labels"])
        writer.writerows([f"{BAD} word{i % 3} and other{i % 7} of {i % 5} rows", "ab"[i % 3 > 0]] for i in range(60))
    joint = ["--base", "binary-relevance", "--folds", "2"]
    fast = ["--model.max_epochs", "2", "--model.hidden", "8", "--model.layers", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        train = ["train", "train.csv", "--labels", "-4", "--out"]
        assert main([*train, "joint", *joint]) == 0
        assert main([*train, "network", "--model.method", "seal-nce", *fast]) == 0
        assert main([*train, "auto", "--auto", "0.001", *fast]) == 0
        assert main(["train", "texts.csv", "--text", "body", "--labels", "labels", "--out", "texts", *joint]) == 0
    return path


def reported(*words, out="report.html"):
    """The checked page of a report."""
    assert main(["report", *words, "--out", out, "--overwrite"]) == 0
    with open(out, encoding="utf-8") as file:
        return check_page(file.read())


def sections(page):
    return [attributes["id"] for attributes in page.of("section")]


ALL = ["data", "scores", "calibration", "ties", "energy", "worst", "suspects", "cost"]


def test_a_joint_has_every_section(here, capsys):
    page = reported("joint", "test.csv")
    words = page.words()
    assert sections(page) == ALL
    assert words.count(BAD) >= 6
    assert "Furthest from the mean: x<0>" in words or "x<0>" in words
    for said in ("60", "1.", "(in force)", "log-loss", "by the energy (nats a row)", "p given the others", "binary-relevance"):
        assert said in words, said
    assert "multiplies the odds" in words
    assert "no test" not in words
    assert len([title for title in page.of("svg") if "walk" in title["aria-labelledby"]]) > 0
    said = capsys.readouterr().out
    assert "report: report.html" in said


def test_decisions_of_least_risk_in_force(here):
    model = JointMultiLabelClassifier.load("joint")
    model.set_decision("subset-accuracy").save("likeliest")
    words = reported("likeliest", "test.csv").words()
    assert "subset-accuracy" in words
    assert words.count("(in force)") >= 1


def test_a_report_is_the_same_for_a_seed(here, monkeypatch):
    """But for the seconds that were measured, which a clock that stands still makes the same."""
    subject = report.Subject
    monkeypatch.setattr(report, "Subject", lambda *parts, **named: subject(*parts, **named, clock=lambda: 0.0))
    texts = []
    for seed in ("3", "3", "4"):
        reported("joint", "test.csv", "--seed", seed)
        texts.append((here / "report.html").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_what_was_trained_on_is_no_test(here, capsys):
    assert "this is no test" in reported("joint", "./train.csv").words()
    assert "this is no test" in capsys.readouterr().out


def test_labels_with_holes(here):
    page = reported("joint", "holes.csv")
    assert sections(page) == ALL
    assert "label cells unknown" in page.words()


def test_a_network_and_another_rule(here):
    page = reported("network", "test.csv", "--decision", "fixed")
    assert sections(page) == ALL
    assert "fixed (in force)" in page.words()
    assert "units of the energy" in page.words()


def test_an_average_of_models_says_that_it_has_no_energy(here):
    page = reported("auto", "holes.csv")
    assert sections(page) == ALL
    assert "no energy of its own" in page.words()
    assert "by x alone" in page.words()


def test_texts_are_shown_as_they_are(here):
    page = reported("texts", "texts.csv")
    assert sections(page) == ALL
    assert f"{BAD} word" in page.words()


def test_of_many_rows_some_are_drawn(here, monkeypatch):
    from enstruct.cli import files_of_labels

    monkeypatch.setattr(files_of_labels, "MOST_CELLS", 80)
    monkeypatch.setattr(files_of_labels, "FEWEST_ROWS", 10)
    words = reported("joint", "test.csv").words()
    assert "of 20 rows drawn from these" in words
    assert "60 rows, 4 labels" in words
    assert max(int(number) for number in re.findall(r"Row (\d+)", words)) > 20


def test_tags(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_sentences(tmp_path)
    text = (tmp_path / "test.conll").read_text().replace("W3", BAD.replace(" ", ""))
    (tmp_path / "test.conll").write_text(text)
    assert main(["train", "train.conll", "--out", "model", "--model.max_epochs", "4", *FAST_TAGGER]) == 0
    page = reported("model", "test.conll")
    assert sections(page) == ["data", "scores", "calibration", "confusion", "ties", "energy", "worst", "suspects", "cost"]
    assert BAD in page.words()
    assert "span-f1" in page.words()


def test_masks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_picture_parts(tmp_path)
    assert main(["train", "set", "--out", "model", *FAST_SEGMENTER]) == 0
    page = reported("model", "set")
    assert sections(page) == ["data", "scores", "calibration", "ties", "energy", "worst", "cost"]
    assert len(page.of("img")) == 32
    assert "this is no test" in reported("model", "set", "--part", "train").words()


def test_a_file_that_is_there_is_left_alone(here, capsys):
    (here / "mine.html").write_text("mine")
    assert main(["report", "joint", "test.csv", "--out", "mine.html"]) == 2
    assert "add --overwrite" in capsys.readouterr().err
    assert (here / "mine.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["joint", "test.csv", "--out", "page.pdf"], "name it FILE.html"),
        (["joint", "nowhere.csv", "--out", "p.html"], "nowhere.csv"),
        (["nowhere", "test.csv", "--out", "p.html"], "not an enstruct model folder"),
        (["joint", "test.csv", "--out", "p.html", "--decision", "fixd"], "Did you mean 'fixed'"),
        (["joint", "texts.csv", "--out", "p.html"], "no column of the model's label 'twin'"),
        (["joint", "empty.csv", "--out", "p.html"], "empty.csv"),
        (["joint", "test.csv", "--out", "test.csv/p.html"], "test.csv is no folder"),
        (["joint", "test.html", "--out", "test.html"], "is the file to be reported on"),
    ],
)
def test_bad_input_is_one_sentence(here, capsys, words, message):
    (here / "empty.csv").write_text(",".join(["x<0>", "x1", *(f'"{name}"'.replace('("1")', '(""1"")') for name in NAMES)]) + "\n")
    assert main(["report", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error) <= 310
    assert error.count("\n") == 1
    assert not (here / "p.html").exists()
