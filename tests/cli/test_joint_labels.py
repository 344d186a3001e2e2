"""Labels with holes, energies on a base, and what is told, on the command line."""

import csv
import json

import numpy as np
import pytest
import sklearn.metrics

from enstruct.cli.files_of_labels import Rows, told_at_random
from enstruct.cli.main import main
from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.data.tables.read import read_table, read_told
from enstruct.errors import DataError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.estimators.joint import JointMultiLabelClassifier

NAMES = ("twin", "other", "own", "rare")


def write(path, names, table):
    """CSV, empty where it is NaN."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(["" if np.isnan(value) else f"{value:g}" for value in row] for row in table)


def planted(n, seed):
    """Twins that x says nothing of, a label that x tells, a rare one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    twin = rng.random(n) < 0.5
    return X, np.stack([twin, twin ^ (rng.random(n) < 0.02), X[:, 0] > 0, rng.random(n) < 0.1], axis=1).astype(float)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """full.csv; test.csv and holes.csv, a third of whose cells are empty; told.csv, what holes.csv tells of two labels; model."""
    path = tmp_path_factory.mktemp("joint")
    for name, (X, Y) in {"full": planted(160, 0), "test": planted(60, 1)}.items():
        write(path / f"{name}.csv", ["x0", "x1", *NAMES], np.hstack([X, Y]))
    Y[np.random.default_rng(2).random(Y.shape) < 0.34] = np.nan
    Y[3] = np.nan
    write(path / "holes.csv", ["x0", "x1", *NAMES], np.hstack([X, Y]))
    write(path / "told.csv", ["other", "twin"], Y[:, [1, 0]])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        train = ["train", "full.csv", "--labels", "-4", "--base", "binary-relevance", "--folds", "2", "--out", "model"]
        assert main(train) == 0
        assert main(["train", "full.csv", "--labels", "-4", "--model.method", "binary-relevance", "--out", "plain"]) == 0
    return path


def test_labels_counted_off_in_training_are_found_by_name_in_other_files(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with (folder / "test.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, columns in {"moved": [*NAMES, "x1", "x0"], "lacking": ["x0", "x1", *NAMES[:2]]}.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    assert main(["evaluate", "model", "test.csv"]) == 0
    scores = capsys.readouterr().out
    assert main(["evaluate", "model", "moved.csv"]) == 0
    assert capsys.readouterr().out == scores
    assert main(["evaluate", "model", "lacking.csv"]) == 2
    assert "no column of the model's label 'own' (2 lacking)" in capsys.readouterr().err


def test_rows_of_which_no_label_is_known_are_not_scored(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    write(folder / "nothing.csv", ["x0", "x1", *NAMES], np.hstack([np.ones((3, 2)), np.full((3, 4), np.nan)]))
    assert main(["evaluate", "model", "nothing.csv"]) == 2
    assert "there is nothing to score" in capsys.readouterr().err


@pytest.fixture
def asked_to_fit(monkeypatch):
    """(estimator, X, y) of each fit, which ends there."""
    calls = []

    def fit(model, X, y):
        calls.append((model, X, y))
        raise DataError("enough")

    monkeypatch.setattr(JointMultiLabelClassifier, "fit", fit)
    return calls


def test_what_is_learnt_from_where_labels_have_holes(here, asked_to_fit):
    options = ["--minutes", "0.5", "--folds", "3", "--seed", "7", "--model.metric", "micro-f1", "--model.decision", "threshold"]
    options += ["--model.n_iter_no_change", "4"]
    assert main(["train", "holes.csv", "--labels", "-4", "--base", "auto", "--out", "new", *options]) == 2
    model, X, y = asked_to_fit[0]
    data = read_table(here / "holes.csv", -4)
    rest = [row for row in range(60) if row != 3]  # of which nothing is known
    np.testing.assert_array_equal(y, data.told()[rest])
    np.testing.assert_array_equal(X, data.X[rest])
    told = {"base": "auto", "minutes": 0.5, "folds": 3, "random_state": 7, "metric": "micro-f1", "decision": "threshold"}
    assert model.get_params() == {**told, "n_iter_no_change": 4, "rules": None, "encoder": None}
    assert main(["train", "full.csv", "--labels", "-4", "--base", "auto", "--out", "new"]) == 2
    assert asked_to_fit[1][2].nnz == read_table(here / "full.csv", -4).Y.nnz  # whole labels go as they always did


def test_a_label_of_which_nothing_is_known_is_named(here, capsys):
    write(here / "never.csv", ["x", "a", "b"], [[0.5, 1, np.nan], [1.5, 0, np.nan]])
    assert main(["train", "never.csv", "--labels", "a,b", "--base", "auto", "--out", "new"]) == 2
    assert "nothing is known of the label 'b' in any row (1 such): leave its column out" in capsys.readouterr().err
    write(here / "nothing.csv", ["x", "a", "b"], [[0.5, np.nan, np.nan]])
    assert main(["train", "nothing.csv", "--labels", "a,b", "--base", "auto", "--out", "new"]) == 2
    assert "nothing is known of the labels of any row" in capsys.readouterr().err


@pytest.mark.parametrize("how", [["--model.method", "seal-nce"], ["--auto", "1"], ["--base", "seal-nce"]])
def test_what_cannot_take_holes_names_what_can(how, here, capsys):
    assert main(["train", "holes.csv", "--labels", "-4", "--out", "new", *how]) == 2
    said = capsys.readouterr().err
    cells = int(np.isnan(read_table(here / "holes.csv", -4).told()).sum())
    assert f"'holes.csv': {cells} cells of labels are unknown (first " in said
    assert "--base auto" in said
    assert not (here / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model.method", "seal-nce", "--minutes", "1"], "--minutes, --folds and --workers are of the method joint"),
        (["--model.method", "seal-nce", "--workers", "2"], "--minutes, --folds and --workers are of the method joint"),
        (["--base", "binary-relevance", "--workers", "0"], "--workers must be at least 1"),
        (["--auto", "1", "--folds", "2"], "--minutes, --folds and --workers are of the method joint"),
        (["--base", "auto", "--auto", "1"], "--auto is not for the method joint"),
        (["--resume"], "--resume is not for the method joint"),
        (["--base", "extra-trees", "--model.method", "seal-nce"], "leave --model.method out, or --base"),
        (["--base", "linnear"], "Unknown base 'linnear'"),
        (["--model.hidden", "8"], "--model.hidden is of a method's networks"),
        (["--method.energy_weight", "2"], "--method.energy_weight is of a method's networks"),
    ],
)
def test_options_that_do_not_go_together(options, message, here, capsys):
    assert main(["train", "full.csv", "--labels", "-4", "--out", "new", *options]) == 2
    assert message in capsys.readouterr().err
    assert not (here / "new").exists()


def test_told_labels_come_back_as_told(here):
    model, data = JointMultiLabelClassifier.load("model"), read_table(here / "test.csv", -4)
    known = read_told(here / "told.csv", NAMES)
    assert main(["predict", "model", "test.csv", "--known", "told.csv", "--probabilities", "--out", "p.csv", "--overwrite"]) == 0
    with (here / "p.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == list(NAMES)
    p = np.array(rows[1:], dtype=float)
    np.testing.assert_allclose(p, model.predict_proba(data.X, known=known), atol=1e-5)
    told = ~np.isnan(known)
    np.testing.assert_array_equal(p[told], known[told])
    assert main(["predict", "model", "test.csv", "--known", "told.csv", "--out", "a.txt", "--overwrite"]) == 0
    sets = [line.split("\t") for line in (here / "a.txt").read_text().splitlines()]
    answered = np.array([[name in row for name in NAMES] for row in sets])
    np.testing.assert_array_equal(answered[told], known[told] == 1)
    one = np.flatnonzero(told[:, 0] & ~told[:, 1])  # the other twin follows the one that is told
    assert (answered[one, 1] == known[one, 0]).mean() > 0.9
    assert main(["predict", "model", "test.csv", "--known", "told.csv", "--out", "a.csv", "--overwrite"]) == 0
    with (here / "a.csv").open() as file:
        table = list(csv.reader(file))
    assert table[0] == list(NAMES)
    np.testing.assert_array_equal(np.array(table[1:], dtype=int), answered)
    assert main(["predict", "model", "test.csv", "--known", "told.csv", "--out", "a.jsonl", "--overwrite"]) == 0
    records = [json.loads(line) for line in (here / "a.jsonl").read_text().splitlines()]
    assert [record["labels"] for record in records] == [[name for name in row if name] for row in sets]
    assert records[5]["probabilities"] == pytest.approx(dict(zip(NAMES, p[5], strict=True)), abs=1e-5)


def test_what_is_known_may_stand_in_the_data_themselves(here, capsys):
    assert main(["predict", "model", "holes.csv", "--known", "same", "--decision", "subset-accuracy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    model, data = JointMultiLabelClassifier.load("model"), read_table(here / "holes.csv", -4)
    answers = np.asarray(model.predict(data.X, known=data.told(), decision="subset-accuracy").toarray())
    assert lines == ["\t".join(np.array(NAMES)[row == 1]) for row in answers]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["model", "test.csv", "--known", "same"], "test.csv has no empty cells in columns of labels"),
        (["model", "holes.csv", "--known", "same", "--unlabelled"], "leave one out"),
        (["model", "full.csv", "--known", "told.csv"], "told.csv has 60 rows and full.csv 160"),
        (["model", "test.csv", "--known", "test.csv"], "the model has no label 'x0'"),
        (["model", "test.csv", "--probabilities", "--top_k", "2"], "leave them out"),
        (["model", "test.csv", "--decision", "jacard"], "Did you mean 'jaccard'"),
        (["plain", "test.csv", "--known", "told.csv"], "train one by the method joint"),
    ],
)
def test_what_cannot_be_told(options, message, here, capsys):
    assert main(["predict", *options]) == 2
    assert message in capsys.readouterr().err


def test_figures_are_of_the_cells_that_are_asked(here, capsys):
    assert main(["evaluate", "model", "holes.csv", "--told", "0.4", "--seed", "3", "--json", "e.json", "--overwrite"]) == 0
    figures = json.loads((here / "e.json").read_text())
    model, data = JointMultiLabelClassifier.load("model"), read_table(here / "holes.csv", -4)
    known = told_at_random(model, Rows(data.X, data), 0.4, 3)
    told, seen = ~np.isnan(known), ~np.isnan(data.told())
    assert not (told & ~seen).any()
    assert 0.3 < told.sum() / seen.sum() < 0.5
    assert figures["labels told"] == told.sum()
    asked, truth = seen & ~told, data.Y.toarray()
    p = model.predict_proba(data.X, known=known)
    assert figures["log-loss"] == pytest.approx(sklearn.metrics.log_loss(truth[asked], p[asked]))
    assert figures["rules"].keys() == {*model.rules_, "subset-accuracy", "example-f1", "hamming", "jaccard"}
    for rule, scores in figures["rules"].items():
        answers = model.predict(data.X, known=known, decision=rule).toarray()
        assert scores["micro F1"] == pytest.approx(sklearn.metrics.f1_score(truth[asked], answers[asked]))
    assert main(["evaluate", "model", "test.csv", "--json", "e.json", "--overwrite"]) == 0
    alone = json.loads((here / "e.json").read_text())
    assert "labels told" not in alone
    assert alone["log-loss"] > figures["log-loss"] + 0.05
    assert "log-loss 0." in capsys.readouterr().out
    for share, name, message in (("1", "model", "from 0 to below 1"), ("0.5", "plain", "--told: this model cannot use")):
        assert main(["evaluate", name, "test.csv", "--told", share]) == 2
        assert message in capsys.readouterr().err


def test_any_model_is_scored_on_what_is_known(here, capsys):
    assert main(["evaluate", "plain", "holes.csv", "--json", "e.json", "--overwrite"]) == 0
    figures, data = json.loads((here / "e.json").read_text()), read_table(here / "holes.csv", -4)
    model, seen = EnergyMultiLabelClassifier.load("plain"), ~np.isnan(data.told())
    assert figures["labels unknown"] == (~seen).sum()
    assert f"{len(data)} rows, {(~seen).sum()} labels unknown" in capsys.readouterr().out
    wrong = model.predict(data.X).toarray() != data.Y.toarray()
    by_row = [row[cells].mean() for row, cells in zip(wrong, seen, strict=True) if cells.any()]
    assert figures["rules"][model.decision_]["Hamming loss"] == pytest.approx(np.mean(by_row))
    assert figures["log-loss"] == pytest.approx(
        sklearn.metrics.log_loss(data.Y.toarray()[seen], model.predict_proba(data.X)[seen])
    )


def test_what_contradicts_all_of_training_is_not_told():
    model = JointMultiLabelClassifier()
    model.constants_, model.notes_ = np.array([np.nan, 0, 1]), {"label_names": ["a", "b", "c"]}
    Y = np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1]] * 40)
    data = Dataset(np.zeros((120, 1)), as_indicator(Y), ("x",), ("a", "b", "c"))
    known = told_at_random(model, Rows(data.X, data), 0.7, 0)
    told = ~np.isnan(known)
    assert not told[Y[:, 1] == 1, 1].any()
    assert not told[Y[:, 2] == 0, 2].any()
    for cells in (told[:, 0], told[Y[:, 1] == 0, 1], told[Y[:, 2] == 1, 2]):
        assert 0.5 < cells.mean() < 0.9
    np.testing.assert_array_equal(known[told], Y[told])


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_rules_bind_answers_and_are_said_in_words(here, capsys):
    (here / "rules.txt").write_text("# of the twins\ntwin -> other\nexclude: own, twin\nsoft 1.5: own -> twin\n")
    train = ["train", "full.csv", "--labels", "-4", "--base", "binary-relevance", "--folds", "2", "--out", "ruled"]
    (here / "wrong.txt").write_text("twin -> othre\n")
    assert main([*train, "--rules", "wrong.txt"]) != 0
    assert "othre" in capsys.readouterr().err
    assert main([*train, "--rules", "rules.txt"]) != 0
    assert "rows that it is about break the rule 'own', 'twin' exclude one another" in capsys.readouterr().err
    assert not (here / "ruled").exists()
    (here / "rules.txt").write_text("twin -> other\nsoft 1.5: own -> twin\n")
    assert main([*train, "--rules", "rules.txt"]) == 0
    assert "rule: 'twin' implies 'other' (broken in 2 of the 73 rows" in capsys.readouterr().out
    (here / "twins.csv").write_text("twin,other\n" + "1,\n" + "\n".join([","] * 59) + "\n")
    assert main(["predict", "ruled", "test.csv", "--known", "twins.csv", "--out", "out.jsonl"]) == 0
    answers = [json.loads(line)["labels"] for line in (here / "out.jsonl").read_text().splitlines()]
    assert all("other" in some for some in answers if "twin" in some)
    assert {"twin", "other"} <= set(answers[0])
    (here / "twins.csv").write_text("twin,other\n" + "1,0\n" + "\n".join([","] * 59) + "\n")
    capsys.readouterr()
    assert main(["predict", "ruled", "test.csv", "--known", "twins.csv"]) != 0
    assert "known tells 'twin', not 'other' in row 0, which breaks the rule 'twin' implies 'other'" in capsys.readouterr().err
