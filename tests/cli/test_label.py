"""A page to label on, and data of its answers, from the command line."""

import csv
import json

import numpy as np
import pytest

from enstruct.cli import label as command
from enstruct.cli import pages
from enstruct.cli.main import main
from enstruct.data.songs import LABELS, songs

TRAIN = ["train", "songs.csv", "--text", "text", "--labels", "-10", "--base", "binary-relevance", "--folds", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """songs.csv, new.csv without labels, and a model of the first."""
    place = tmp_path_factory.mktemp("songs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr("enstruct.estimators.joint.PATIENCE", 1)
        patch.setattr("enstruct.training.contrastive.MOST_EPOCHS", 1)
        assert main(["data", "songs", "songs.csv", "--rows", "120"]) == 0
        assert main(["data", "songs", "new.csv", "--rows", "9", "--seed", "1", "--unlabelled"]) == 0
        assert main([*TRAIN, "--out", "model"]) == 0
    return place


@pytest.fixture
def served(folder, tmp_path, monkeypatch):
    """What is served, and ended at once after the acts in it were told."""
    monkeypatch.chdir(tmp_path)
    for name in ("songs.csv", "new.csv", "model"):
        (tmp_path / name).symlink_to(folder / name)
    monkeypatch.setattr(pages, "wait", lambda: None)
    sessions, acts = [], []

    def serve(session, options):
        sessions.append(session)
        for number, (row, cells, done) in enumerate(acts):
            session.tell(f"{len(session.journal)}-{number}", "me", row, cells, done, None)
        pages.serve(session, options)

    monkeypatch.setattr(command, "serve", serve)
    return sessions, acts


def rows(name):
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_songs_are_as_generated(folder):
    data = songs(120)
    table = rows(folder / "songs.csv")
    assert [row["text"] for row in table] == data.X.tolist()
    assert [[int(row[name]) for name in LABELS] for row in table] == data.Y.toarray().tolist()


def test_label_go_on_and_make_data(served, capsys):
    sessions, acts = served
    whole = {name: name in ("calm", "piano") for name in LABELS}
    acts += [(0, whole, True), (3, {"sad": True}, False)]
    assert main(["label", "model", "new.csv", "--out", "answers.jsonl"]) == 0
    said = capsys.readouterr().out
    assert "open http://127.0.0.1:" in said
    assert "1 of 9 rows finished, 11 answers kept" in said
    assert sessions[0].labelling.answers(3, {"sad": True}, {})["p"][LABELS.index("sad")] == 1
    acts[:] = [(3, {"sad": None, "happy": True}, False)]
    assert main(["label", "model", "new.csv", "--out", "answers.jsonl"]) == 0
    assert main(["answers", "answers.jsonl", "--out", "labelled.csv"]) == 0
    table = rows("labelled.csv")
    assert [*table[0]] == ["text", *LABELS]
    assert [table[0][name] for name in LABELS] == [str(int(whole[name])) for name in LABELS]
    assert [table[3][name] for name in ("sad", "happy", "calm")] == ["", "1", ""]
    assert main(["answers", "answers.jsonl", "--out", "labelled.csv"]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_from_nothing(served, capsys):
    sessions, acts = served
    acts += [(2, {"calm": True, "loud": False}, False)]
    new = ["label", "--new", "new.csv", "--text", "text", "--labels", "calm,loud", "--out", "a.jsonl"]
    assert main(new) == 0
    assert sessions[0].learner is not None
    assert sessions[0].answers(0, {})["p"] is None
    assert main(["answers", "a.jsonl", "--out", "l.csv"]) == 0
    assert rows("l.csv")[2] | {"text": ""} == {"text": "", "calm": "1", "loud": "0"}
    assert rows("l.csv")[0]["calm"] == ""
    assert main([*new[:-1], "b.jsonl", "--rules", "rules.txt"]) == 2
    with open("rules.txt", "w") as file:
        file.write("exclude: calm, loud\n")
    acts[:] = []
    assert main([*new[:-1], "b.jsonl", "--rules", "rules.txt"]) == 0
    assert sessions[-1].labelling.answers(0, {"calm": True}, {})["follows"] == {"loud": "'calm', 'loud' exclude one another"}


def test_labels_that_data_have_are_told(served):
    sessions, acts = served
    with open("part.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["text", *LABELS])
        for k, text in enumerate(songs(5, seed=3).X):
            writer.writerow([text, "1" if k == 1 else "", *([""] * 9)])
    acts += [(1, {"sad": False}, False)]
    assert main(["label", "model", "part.csv", "--labels", ",".join(LABELS), "--out", "a.jsonl"]) == 0
    assert sessions[0].row(1)["cells"] == {"calm": True, "sad": False}
    assert main(["answers", "a.jsonl", "--out", "l.csv"]) == 0
    assert [rows("l.csv")[1][name] for name in ("calm", "sad", "happy")] == ["1", "0", ""]
    assert rows("l.csv")[0]["calm"] == ""


def test_json_lines(served):
    _, acts = served
    with open("new.jsonl", "w") as file:
        for text in songs(3, seed=3).X:
            file.write(json.dumps({"text": text, "from": "radio"}) + "\n")
    acts += [(1, {"sad": True}, False)]
    assert main(["label", "model", "new.jsonl", "--out", "a.jsonl", "--text", "text"]) == 0
    assert main(["answers", "a.jsonl", "--out", "l.jsonl"]) == 0
    with open("l.jsonl") as file:
        lines = [json.loads(line) for line in file]
    assert lines[1]["labels"] == {"sad": True}
    assert lines[0]["labels"] is None
    assert {line["from"] for line in lines} == {"radio"}


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_a_named_set_becomes_a_table(served, tmp_path, capsys):
    """Features of other formats than CSV are written too, and train; of a folder of arrays they stay there."""
    _, acts = served
    assert main(["data", "synthetic", "mine.npz", "--rows", "60"]) == 0
    assert main(["train", "mine.npz", "--base", "binary-relevance", "--folds", "2", "--out", "m"]) == 0
    acts += [(4, {"b0.0": True}, False)]
    assert main(["label", "m", "mine.npz", "--out", "a.jsonl"]) == 0
    assert main(["answers", "a.jsonl", "--out", "l.csv"]) == 0
    table = rows("l.csv")
    assert table[4]["b0.0"] == "1"
    with np.load("mine.npz") as stored:
        assert float(table[4]["x3"]) == pytest.approx(
            stored[next(name for name in stored.files if stored[name].shape == (60, 64))][4, 3]
        )
    assert main(["data", "convert", "mine.npz", "rows"]) == 0
    assert main(["label", "m", "rows", "--out", "b.jsonl"]) == 2
    assert "give the file it was made of" in capsys.readouterr().err
    assert not (tmp_path / "b.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model", "new.csv", "--out", "a.txt"], "name it FILE.jsonl"),
        (["model", "--out", "a.jsonl"], "Give a MODEL and DATA"),
        (["model", "--new", "new.csv", "--out", "a.jsonl"], "begins without a model"),
        (["--new", "new.csv", "--out", "a.jsonl"], "needs --labels"),
        (["--new", "new.csv", "--labels", "a", "--out", "a.jsonl"], "two different labels"),
        (["--new", "new.csv", "--labels", "a,a", "--out", "a.jsonl"], "two different labels"),
        (["--new", "nowhere.csv", "--labels", "a,b", "--out", "a.jsonl"], "nowhere.csv"),
        (["model", "new.csv", "--out", "a.jsonl", "--order", "best"], "teaching, random, given"),
        (["model", "new.csv", "--out", "a.jsonl", "--port", "-1"], "from 0"),
        (["model", "new.csv", "--out", "a.jsonl", "--rules", "r.txt"], "a model has its own"),
        (["model", "new.csv", "--out", "a.jsonl", "--pictures", "cover"], "no column 'cover'"),
        (["model", "nowhere.csv", "--out", "a.jsonl"], "nowhere.csv"),
    ],
)
def test_what_cannot_be_labelled(served, arguments, message, capsys):
    assert main(["label", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") <= 2
    assert not served[0]


def test_answers_of_changed_data_are_refused(served, tmp_path, capsys):
    _, acts = served
    (tmp_path / "mine.csv").write_bytes((tmp_path / "new.csv").read_bytes())
    assert main(["label", "model", "mine.csv", "--out", "a.jsonl"]) == 0
    assert main(["answers", "a.jsonl", "--out", "l.csv"]) == 2
    assert "holds no answer" in capsys.readouterr().err
    acts += [(1, {"sad": True}, False)]
    assert main(["label", "model", "mine.csv", "--out", "a.jsonl"]) == 0
    (tmp_path / "mine.csv").write_text((tmp_path / "mine.csv").read_text() + "one more\n")
    capsys.readouterr()
    assert main(["label", "model", "mine.csv", "--out", "a.jsonl"]) == 2
    assert "about other data" in capsys.readouterr().err
    assert main(["answers", "a.jsonl", "--out", "l.csv"]) == 2
    assert "are not those that the answers are about" in capsys.readouterr().err
    assert not (tmp_path / "l.csv").exists()


def test_a_label_that_is_a_column_already_is_told_cell_by_cell(served, capsys):
    sessions, acts = served
    acts += [(0, {"sad": True}, False)]
    for cells, told in ((["", "", ""], {}), (["1", "", "0"], {"happy": True})):
        with open("n.csv", "w") as file:
            file.write("text,happy\n" + "".join(f"words {k},{cell}\n" for k, cell in enumerate(cells)))
        out = f"{len(told)}.jsonl"
        assert main(["label", "--new", "n.csv", "--text", "text", "--labels", "happy,sad", "--out", out]) == 0
        assert sessions[-1].row(0)["cells"] == {**told, "sad": True}
        assert "happy" not in sessions[-1].row(1)["cells"]
        assert main(["answers", out, "--out", f"{len(told)}.csv"]) == 0
        assert [row["happy"] for row in rows(f"{len(told)}.csv")] == cells
    with open("n.csv", "w") as file:
        file.write("text,happy\na,maybe\nb,\n")
    assert main(["label", "--new", "n.csv", "--text", "text", "--labels", "happy,sad", "--out", "w.jsonl"]) == 2
    assert "line 2, column 'happy'" in capsys.readouterr().err


def test_a_journal_that_is_open_elsewhere_keeps_its_models(served, monkeypatch, capsys):
    new = ["label", "--new", "new.csv", "--text", "text", "--labels", "calm,loud", "--out", "a.jsonl"]
    found = []

    def serve(session, options):
        marker = session.learner.folder / "marker"
        marker.write_text("a model")
        found.extend([main(new), marker.exists()])
        pages.serve(session, options)

    monkeypatch.setattr(command, "serve", serve)
    assert main(new) == 0
    assert found == [2, True]
    assert "is open in another workbench" in capsys.readouterr().err


def test_columns_that_were_left_out_in_training_need_not_be_there(served):
    _, acts = served
    with open("songs.csv") as file, open("with id.csv", "w") as out:
        out.writelines(f"{'id' if k == 0 else k},{line}" for k, line in enumerate(file))
    train = [*TRAIN, "--drop", "id"]
    train[1] = "with id.csv"
    assert main([*train, "--out", "m"]) == 0
    acts += [(1, {"sad": True}, False)]
    assert main(["label", "m", "songs.csv", "--labels", ",".join(LABELS), "--out", "a.jsonl"]) == 0
    assert main(["answers", "a.jsonl", "--out", "l.csv"]) == 0
    assert rows("l.csv")[1]["sad"] == "1"
