"""Texts on the command line: from a column, JSON lines and folders, to answers, scores and suspects."""

import csv
import json

import pytest
from tests.generated_texts import documents, tiny_encoder

from enstruct import EnergyMultiLabelClassifier
from enstruct.cli.main import main

NAMES = ("grain", "wheat", "both")


def sets(Y):
    return [[name for name, is_there in zip(NAMES, row, strict=True) if is_there] for row in Y]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """train and test as .csv, .jsonl and folders; model, trained on the CSV file."""
    path = tmp_path_factory.mktemp("texts")
    for name, n, seed in (("train", 150, 0), ("test", 40, 1)):
        texts, Y = documents(n, seed)
        with (path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "body", "genre"])
            writer.writerows([i, text, ";".join(names)] for i, (text, names) in enumerate(zip(texts, sets(Y), strict=True)))
        with (path / f"{name}.jsonl").open("w") as file:
            for text, names in zip(texts, sets(Y), strict=True):
                file.write(json.dumps({"text": text, "labels": names}) + "\n")
        for i, (text, names) in enumerate(zip(texts, sets(Y), strict=True)):
            for label in names:
                (path / name / label).mkdir(parents=True, exist_ok=True)
                (path / name / label / f"{i:03}.txt").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        train = ["train", "train.csv", "--text", "body", "--labels", "genre", "--base", "binary-relevance", "--out", "model"]
        assert main(train) == 0
    return path


def scores(path):
    return json.loads(path.read_text())["rules"]["fixed"]["micro F1"]


def test_a_column_of_a_table(here, tmp_path, capsys):
    assert main(["evaluate", "model", "test.csv", "--json", str(tmp_path / "a.json")]) == 0
    assert scores(tmp_path / "a.json") > 0.95
    assert "40" in capsys.readouterr().out
    assert main(["predict", "model", "test.csv"]) == 0
    answers = capsys.readouterr().out.splitlines()
    assert len(answers) == 40
    (tmp_path / "bare.csv").write_text('body\ngrain oil ship gold trade\n""\n')
    assert main(["predict", "model", str(tmp_path / "bare.csv")]) == 0
    assert capsys.readouterr().out.splitlines() == ["grain", ""]


@pytest.mark.parametrize("data", ["jsonl", "folder"])
def test_json_lines_and_folders(here, tmp_path, capsys, data):
    train, test = ("train.jsonl", "test.jsonl") if data == "jsonl" else ("train", "test")
    model = str(tmp_path / "model")
    assert main(["train", train, "--model.method", "binary-relevance", "--out", model]) == 0
    assert main(["evaluate", model, test, "--json", str(tmp_path / "a.json")]) == 0
    assert scores(tmp_path / "a.json") > 0.9
    capsys.readouterr()
    (tmp_path / "new.jsonl").write_text('{"text": "grain and oil"}\n')
    assert main(["predict", model, str(tmp_path / "new.jsonl"), "--probabilities"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == ",".join(sorted(NAMES))
    (tmp_path / "docs" / "b").mkdir(parents=True)
    for file in ("b/1.txt", "1.txt", "0.txt"):
        (tmp_path / "docs" / file).write_text("grain and oil")
    assert main(["predict", model, str(tmp_path / "docs"), "--unlabelled", "--out", str(tmp_path / "a.jsonl")]) == 0
    answers = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert sorted(answer["file"] for answer in answers) == ["0.txt", "1.txt", "b/1.txt"]
    assert main(["predict", model, str(tmp_path / "nowhere")]) == 2
    assert "There is no file" in " ".join(capsys.readouterr().err.split())


def test_labels_that_were_counted_off_are_found_by_name(tmp_path, capsys):
    texts, Y = documents(60)
    for name, columns in (("train", ["body", *NAMES]), ("other", ["both", "wheat", "grain", "body", "more"])):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            cells = [
                {"body": text, "more": "1", **dict(zip(NAMES, row, strict=True))} for text, row in zip(texts, Y, strict=True)
            ]
            writer.writerows([each[column] for column in columns] for each in cells)
    train, model = [str(tmp_path / "train.csv"), "--text", "body", "--labels=-3"], str(tmp_path / "model")
    assert main(["train", *train, "--model.method", "binary-relevance", "--out", model]) == 0
    for name in ("train", "other"):
        assert main(["evaluate", model, str(tmp_path / f"{name}.csv"), "--json", str(tmp_path / f"{name}.json")]) == 0
    assert scores(tmp_path / "other.json") == scores(tmp_path / "train.json") > 0.9


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_told_labels_and_suspects(here, tmp_path, capsys):
    (tmp_path / "told.csv").write_text("both\n" + "1\n" * 40)
    out = tmp_path / "answers.jsonl"
    assert main(["predict", "model", "test.csv", "--known", str(tmp_path / "told.csv"), "--out", str(out)]) == 0
    assert all("both" in json.loads(line)["labels"] for line in out.read_text().splitlines())
    suspects = tmp_path / "suspects.csv"
    review = ["review", "train.csv", "--text", "body", "--labels", "genre", "--base", "binary-relevance", "--folds", "2"]
    assert main([*review, "--out", str(suspects)]) == 0
    assert len(suspects.read_text().splitlines()) == 1 + 150 * 3


def test_with_an_encoder(here, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ENSTRUCT_CACHE", str(tmp_path / "cache"))
    encoder, model = str(tiny_encoder(tmp_path / "tiny")), str(tmp_path / "model")
    train = ["train", "train.jsonl", "--model.method", "cross-entropy", "--model.max_epochs", "2", "--encoder", encoder]
    read = ["--pooling", "cls", "--max_tokens", "12", "--label_texts", "names"]
    assert main([*train, "--tuning", "lora", *read, "--out", model]) == 0
    kept = EnergyMultiLabelClassifier.load(model).encoder
    assert (kept.pooling, kept.max_tokens, len(kept.label_texts), kept.layers) == ("cls", 12, 3, 1)
    assert main([*train, "--encoder_layers", "2", "--out", str(tmp_path / "deep")]) == 0
    assert EnergyMultiLabelClassifier.load(tmp_path / "deep").encoder.layers == 2
    (here / "some.json").write_text('{"grain": "wheat and corn"}')
    assert main([*train, "--label_texts", "some.json", "--out", str(tmp_path / "other")]) == 2
    assert "has no text of" in " ".join(capsys.readouterr().err.split())
    capsys.readouterr()
    assert main(["predict", model, "test.jsonl"]) == 0
    before = capsys.readouterr().out
    assert len(before.splitlines()) >= 40
    (tmp_path / "tiny").rename(tmp_path / "moved")
    assert main(["predict", model, "test.jsonl"]) == 2
    assert "is not where it was" in " ".join(capsys.readouterr().err.split())
    assert main(["predict", model, "test.jsonl", "--encoder", str(tmp_path / "moved")]) == 0
    assert capsys.readouterr().out == before
    assert main([*train[:2], "--base", "binary-relevance", "--encoder", str(tmp_path / "moved"), "--out", "joint"]) == 0
    (tmp_path / "moved").rename(tmp_path / "again")
    assert main(["evaluate", "joint", "test.jsonl", "--encoder", str(tmp_path / "again")]) == 0
    assert main(["predict", "joint", "test.jsonl", "--encoder", "nowhere"]) == 2
    assert "There is no encoder 'nowhere'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "train.csv", "--text", "bdy", "--labels", "genre", "--out", "x"], "no column 'bdy'"),
        (["train", "train.csv", "--labels", "genre", "--out", "x"], "--text"),
        (["train", "train.jsonl", "--labels", "tags", "--out", "x"], "no row has a label"),
        (["train", "train.jsonl", "--encoder", "nowhere", "--out", "x"], "There is no encoder 'nowhere'"),
        (["train", "train.jsonl", "--tuning", "lora", "--out", "x"], "give that too"),
        (["train", "train.jsonl", "--max_tokens", "9", "--out", "x"], "--max_tokens is about --encoder"),
        (["train", "train.jsonl", "--encoder", "x", "--pooling", "max", "--out", "x"], "pooling= is"),
        (["train", "train.jsonl", "--encoder", "x", "--label_texts", "train.csv", "--out", "x"], "a JSON file of label"),
        (["train", "train.jsonl", "--encoder", "x", "--tuning", "all", "--out", "x"], "tuning= is"),
        (["train", "train.jsonl", "--auto", "0.1", "--encoder", "x", "--out", "x"], "leave --auto out"),
        (["train", "yeast", "--text", "x", "--out", "x"], "has no texts"),
        (["evaluate", "model", "numbers.csv"], "no column 'body'"),
        (["predict", "model", "train", "--labels", "genre"], "leave it out"),
        (["data", "describe", "train.jsonl"], "holds texts"),
    ],
)
def test_what_cannot_be_is_said(here, capsys, words, said):
    (here / "numbers.csv").write_text("a,genre\n1,grain\n")
    assert main(words) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (here / "x").exists()
