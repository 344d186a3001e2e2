"""The commands as a user types them."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import sklearn.metrics
from sklearn.datasets import dump_svmlight_file

from enstruct.cli import files_of_labels
from enstruct.cli.inputs import load_model, read_rows
from enstruct.cli.main import main
from enstruct.data.npz import read_npz, write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.metrics import calibration_error
from enstruct.training.callbacks import Callback

FAST = ["--model.method", "seal-nce", "--model.max_epochs", "3", "--model.hidden", "8", "--model.layers", "1"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "synthetic", "train.npz", "--rows", "200"]) == 0
    write_npz("test.npz", block_exclusive(60, seed=5))
    return tmp_path


class Interrupt(Callback):
    def on_batch_end(self, loop):
        if loop.progress.epoch == 1:
            raise KeyboardInterrupt


def _interrupting_bar():
    bar = Interrupt()
    bar.close = lambda: None
    return bar


def test_train_predict_evaluate(files, capsys):
    assert main(["train", "train.npz", "--out", "model", *FAST]) == 0
    assert "no effect" not in capsys.readouterr().out
    assert sorted(p.name for p in files.iterdir()) == ["model", "test.npz", "train.npz"]
    assert main(["predict", "model", "test.npz", "--out", "answers.txt"]) == 0
    lines = (files / "answers.txt").read_text().splitlines()
    model, truth = EnergyMultiLabelClassifier.load("model"), read_npz("test.npz")
    names, predicted = truth.label_names, model.predict(truth.X).toarray()
    assert lines == ["\t".join(np.array(names)[row == 1]) for row in predicted]
    assert len(set(lines)) > 5
    content = (files / "test.npz").read_bytes()
    assert main(["predict", "model", "test.npz", "--out", "./test.npz"]) == 2
    assert "is the file to be answered" in capsys.readouterr().err
    assert (files / "test.npz").read_bytes() == content
    assert main(["predict", "model", "test.npz", "--out", "answers.jsonl", "--top_k", "2"]) == 0
    whole = (files / "answers.jsonl").read_text()
    with pytest.MonkeyPatch.context() as patch:  # written some rows at a time
        patch.setattr(files_of_labels, "row_blocks", lambda rows, labels, cells: [slice(i, i + 3) for i in range(0, rows, 3)])
        assert main(["predict", "model", "test.npz", "--out", "answers.jsonl", "--top_k", "2", "--overwrite"]) == 0
    assert [json.loads(line)["labels"] for line in (files / "answers.jsonl").read_text().splitlines()] == [
        json.loads(line)["labels"] for line in whole.splitlines()
    ]
    records = [json.loads(line) for line in (files / "answers.jsonl").read_text().splitlines()]
    assert all(len(record["labels"]) == 2 for record in records)
    p = model.predict_proba(truth.X)
    most = np.argsort(-p, axis=1)[:, :2]
    assert [{*record["labels"]} for record in records] == [{names[i], names[j]} for i, j in most]
    assert records[3]["probabilities"][names[5]] == pytest.approx(p[3, 5], abs=1e-6)
    assert main(["evaluate", "model", "test.npz", "--json", "figures.json"]) == 0
    figures = json.loads((files / "figures.json").read_text())
    assert figures["decision"] == model.decision_
    assert figures["rules"][model.decision_]["example F1"] == pytest.approx(model.score(truth.X, truth.Y))
    y, by_rule = truth.Y.toarray(), model.predict_by_rule(truth.X)
    assert figures["rules"].keys() == by_rule.keys()
    for rule, answers in by_rule.items():  # by scikit-learn's metrics
        scores, z = figures["rules"][rule], answers.toarray()
        for average, name in (("samples", "example F1"), ("micro", "micro F1"), ("macro", "macro F1")):
            assert scores[name] == pytest.approx(sklearn.metrics.f1_score(y, z, average=average, zero_division=1))
        assert scores["Hamming loss"] == pytest.approx(sklearn.metrics.hamming_loss(y, z))
        assert scores["subset accuracy"] == pytest.approx(sklearn.metrics.accuracy_score(y, z))
    occurring = np.flatnonzero(y.any(axis=0))
    areas = [sklearn.metrics.average_precision_score(y[:, j], p[:, j]) for j in occurring]
    assert figures["average precision"] == pytest.approx(np.mean(areas))
    assert figures["calibration error"] == pytest.approx(calibration_error(y, p))
    capsys.readouterr()
    assert main(["predict", "model", "test.npz"]) == 0
    assert capsys.readouterr().out.splitlines() == lines


def test_rows_without_labels_and_missing_cells(files):
    data = block_exclusive(150, seed=2)
    data.X[::7, 3] = np.nan
    write_npz("holes.npz", data)
    assert main(["train", "holes.npz", "--out", "model", *FAST]) == 0
    np.savez("unlabelled.npz", X=data.X[:5], feature_names=np.array(data.feature_names))
    assert main(["predict", "model", "unlabelled.npz", "--unlabelled", "--out", "a.txt"]) == 0
    assert main(["predict", "model", "holes.npz", "--out", "b.txt"]) == 0
    assert (files / "a.txt").read_text().splitlines() == (files / "b.txt").read_text().splitlines()[:5]
    means = EnergyMultiLabelClassifier.load("model").notes_["means"]
    np.testing.assert_allclose(means, np.nanmean(data.X, axis=0))


def _write_csv(path, data, columns):
    """Cells of every column, x0 to x63 and the labels; ``id`` names the row."""
    cells = {f"x{i}": data.X[:, i] for i in range(data.X.shape[1])} | {"id": [f"row {i}" for i in range(len(data))]}
    cells |= dict(zip(data.label_names, data.Y.toarray().T, strict=True))
    rows = zip(*(cells[name] for name in columns), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


def test_a_model_remembers_how_its_file_was_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train, test = block_exclusive(120, seed=0), block_exclusive(30, seed=1)
    features, labels = list(train.feature_names), list(train.label_names)
    _write_csv(tmp_path / "train.csv", train, ["id", *features, *labels])
    _write_csv(tmp_path / "test.csv", test, [*features, "id", *labels])
    _write_csv(tmp_path / "no id.csv", test, [*features, *labels])
    _write_csv(tmp_path / "labels first.csv", test, [*labels, *features])
    write_npz("test.npz", test)
    assert main(["train", "train.csv", "--labels", "-16", "--drop", "[id]", "--out", "model", *FAST]) == 0
    figures = []
    for name in ("test.csv", "no id.csv", "test.npz"):
        assert main(["evaluate", "model", name, "--json", "figures.json"]) == 0, capsys.readouterr().err
        figures.append((tmp_path / "figures.json").read_text())
    assert figures[0] == figures[1] == figures[2]
    assert main(["evaluate", "model", "labels first.csv", "--labels", "16", "--json", "figures.json"]) == 0
    assert (tmp_path / "figures.json").read_text() == figures[0]
    _write_csv(tmp_path / "unlabelled.csv", test, ["id", *features])
    assert main(["predict", "model", "unlabelled.csv", "--unlabelled", "--out", "a.txt"]) == 0
    assert main(["predict", "model", "unlabelled.csv", "--out", "c.txt"]) == 0  # none of the labels has a column
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "c.txt").read_text()
    _write_csv(tmp_path / "some.csv", test, ["id", *features, labels[0]])
    capsys.readouterr()
    assert main(["predict", "model", "some.csv", "--out", "d.txt"]) == 0  # all features are there, and nothing else is asked for
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "d.txt").read_text()
    assert main(["evaluate", "model", "some.csv"]) == 2
    assert "there is no column of the model's label" in capsys.readouterr().err
    assert main(["predict", "model", "test.csv", "--out", "b.txt"]) == 0
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text()
    capsys.readouterr()
    assert main(["evaluate", "model", "test.csv", "--drop", "[x0]"]) == 2
    assert "lacks 1 features of the model, first 'x0'" in capsys.readouterr().err


def test_names_of_an_xml_file_are_remembered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, folder = block_exclusive(60, seed=0), tmp_path / "elsewhere"
    folder.mkdir()
    attributes = [f"@attribute {name} numeric" for name in data.feature_names]
    attributes += [f"@attribute {name} {{0,1}}" for name in data.label_names]
    rows = [",".join(map(str, [*x, *y])) for x, y in zip(data.X, data.Y.toarray(), strict=True)]
    (tmp_path / "a.arff").write_text("\n".join(["@relation a", *attributes, "@data", *rows]))
    entries = [f'<label name="{name}"/>' for name in data.label_names]
    (folder / "l.xml").write_text("\n".join(["<labels>", *entries, "</labels>"]))
    assert main(["train", "a.arff", "--labels", "elsewhere/l.xml", "--out", "model", *FAST]) == 0
    (folder / "l.xml").unlink()
    assert main(["evaluate", "model", "a.arff"]) == 0
    assert EnergyMultiLabelClassifier.load("model").notes_["labels"] == list(data.label_names)


def test_ctrl_c_and_resume_give_the_uninterrupted_model(files, monkeypatch, capsys):
    assert main(["train", "train.npz", "--out", "whole", *FAST]) == 0
    from enstruct.cli import progress

    monkeypatch.setattr(progress, "EpochBar", lambda title, endless: _interrupting_bar())
    assert main(["train", "train.npz", "--out", "model", *FAST]) == 130
    assert (files / "model.checkpoint").exists()
    assert not (files / "model").exists()
    monkeypatch.undo()
    monkeypatch.chdir(files)
    assert main(["train", "train.npz", "--out", "model", *FAST]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["train", "train.npz", "--out", "model", "--resume", *FAST]) == 0
    assert not (files / "model.checkpoint").exists()
    assert (files / "model" / "weights.safetensors").read_bytes() == (files / "whole" / "weights.safetensors").read_bytes()


def test_data_describe_and_list(files, capsys):
    assert main(["data", "describe", "train.npz", "--json", "described.json"]) == 0
    described = json.loads((files / "described.json").read_text())
    assert described["parts"]["train"]["labels"] == 16
    assert len(described["near"]) == 3
    out = capsys.readouterr().out
    assert "cardinality" in out
    assert "4.0" in out
    assert main(["data", "list"]) == 0
    assert "bibtex" in capsys.readouterr().out


def test_yaml_config_and_command_line_win(files):
    model = "  method: seal-nce\n  max_epochs: 2\n  hidden: 8\n  layers: 1\n"
    (files / "config.yaml").write_text(f"data: train.npz\nout: model\nmodel:\n{model}")
    assert main(["train", "--config", "config.yaml", "--model.max_epochs", "1"]) == 0
    model = EnergyMultiLabelClassifier.load("model")
    assert (model.max_epochs, model.hidden) == (1, 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "no-such.npz", "--out", "m"], "no-such.npz"),
        (["train", "train.npz", "--out", "m", "--model.method", "seal-nec"], "Did you mean 'seal-nce'"),
        (["predict", "nowhere", "train.npz"], "not an enstruct model"),
        (["data", "describe", "bibtx"], "Did you mean 'bibtex'"),
        (["train", "train.npz", "--out", "m", "--auto", "0"], "minutes must be positive, not 0.0"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(files, capsys, arguments, message):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (files / "m").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "train.npz", "--out", "m", "--seed", "-1"], "seed"),
        (["train", "train.npz"], "these are required: --out\n"),
        (["train", "train.npz", "--out", "m", "--model.max_epoch=3"], "Did you mean --model.max_epochs?\n"),
        (["train", "train.npz", "--out", "m", "--model.hidden", "many"], "--model.hidden: Expected"),
        (["train", "train.npz", "--out", "m", "--bogus"], "unrecognized arguments: --bogus.\n"),
        (["data"], "ACTION is one of list, "),
    ],
)
def test_what_is_wrong_with_options_is_said_in_two_lines(files, capsys, arguments, message):
    before = (files / "train.npz").read_bytes()
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert re.fullmatch(r"error: .*\nall options: enstruct( \w+)+ --help\n", said)
    assert (files / "train.npz").read_bytes() == before


def test_a_full_disk_is_said(files, capsys):
    assert main(["train", "train.npz", "--out", "model", *FAST]) == 0
    command = f"{sys.executable} -m enstruct.cli.main predict model test.npz > /dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_columns_that_no_names_tell_apart_and_cells_that_no_mean_fills(files, capsys):
    data = read_npz("train.npz")
    np.savez("plain.npz", X=data.X, Y=data.Y.toarray())
    assert main(["train", "plain.npz", "--out", "model", *FAST]) == 0
    np.savez("wide.npz", X=np.hstack([data.X, data.X]), Y=data.Y.toarray())
    holes = data.X.copy()
    holes[0, 0] = np.nan
    np.savez("holes.npz", X=holes, Y=data.Y.toarray())
    np.savez("narrow.npz", X=data.X, Y=data.Y.toarray()[:, :2])
    capsys.readouterr()
    for name, message in (("wide", "no names tell which"), ("holes", "fill them in"), ("narrow", "labels of the model")):
        assert main(["evaluate", "model", f"{name}.npz"]) == 2
        assert message in capsys.readouterr().err
    assert main(["predict", "model", "plain.npz", "--top_k", "2", "--decision", "threshold"]) == 2
    assert "each name a rule" in capsys.readouterr().err


def test_who_reads_the_first_lines_alone_gets_no_traceback(files):
    assert main(["train", "train.npz", "--out", "model", *FAST]) == 0
    command = [sys.executable, "-m", "enstruct.cli.main", "predict", "model", "test.npz"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()  # before the first line is written
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_demo_draws_and_reports(files, monkeypatch):
    from enstruct.cli import demo

    for settings in demo.METHODS.values():
        monkeypatch.setitem(settings, "max_epochs", 2)
    assert main(["demo", "--out", "d", "--rows", "200"]) == 0
    results = json.loads((files / "d" / "results.json").read_text())
    assert [row["method"] for row in results["results"]] == ["binary-relevance", "mlp", "seal-nce"]
    assert (files / "d" / "measurement_matrix.png").read_bytes().startswith(b"\x89PNG")


def test_settings_without_effect_are_named(files, capsys):
    told = ["--model.method", "cross-entropy", "--method.n_samples", "5", "--method.energy_weight", "2"]
    assert main(["train", "train.npz", "--out", "model", *FAST, *told]) == 0
    assert "no effect on cross-entropy: energy_weight, n_samples" in capsys.readouterr().out


def test_where_a_model_cannot_go_is_said_before_training(files, capsys, monkeypatch):
    (files / "mine").mkdir()
    (files / "mine" / "thesis.txt").write_text("precious")
    monkeypatch.setattr(EnergyMultiLabelClassifier, "fit", None)
    for out in ("mine", "train.npz", "train.npz/model"):
        for how in ([], ["--auto", "1"]):
            assert main(["train", "train.npz", "--out", out, *how]) == 2
            assert "choose another place" in capsys.readouterr().err.replace("\n", " ").lower()
    assert sorted(p.name for p in files.iterdir()) == ["mine", "test.npz", "train.npz"]


def test_evaluation_on_the_training_file_says_so(files, capsys):
    assert main(["train", "train.npz", "--out", "model", *FAST]) == 0
    assert main(["evaluate", "model", "train.npz"]) == 0
    assert "this is no test" in capsys.readouterr().out
    assert main(["evaluate", "model", "test.npz"]) == 0
    assert "this is no test" not in capsys.readouterr().out


def test_a_model_keeps_what_features_of_its_file_counted_from(files):
    data = read_npz("train.npz")
    dump_svmlight_file(data.X, data.Y, "all.svm", zero_based=True, multilabel=True)
    rows = np.flatnonzero(data.X[:, 0] == 0)[:20] if (data.X[:, 0] == 0).any() else np.arange(20)
    X = data.X[rows].copy()
    X[:, 0] = 0  # so that index 0 does not occur
    dump_svmlight_file(X, data.Y[rows], "rows.svm", zero_based=True, multilabel=True)
    assert main(["train", "all.svm", "--out", "model", *FAST]) == 0
    model = load_model(files / "model")
    read, _ = read_rows(model, "rows.svm", None, [], labelled=True)
    np.testing.assert_allclose(read.toarray(), X, rtol=1e-6)


def test_names_that_stand_twice(files, capsys):
    """Features are told apart by their order then; labels, which are answered by name, cannot be."""
    data = read_npz("train.npz")
    write_npz("twice.npz", replace(data, label_names=("a", "a", *data.label_names[2:])))
    assert main(["train", "twice.npz", "--out", "model", *FAST]) == 2
    assert "two labels are called 'a'" in capsys.readouterr().err
    twice = replace(data, feature_names=("a", "a", *data.feature_names[2:]))
    write_npz("twice.npz", twice)
    assert main(["train", "twice.npz", "--out", "model", *FAST]) == 0
    write_npz("turned.npz", replace(twice, X=twice.X[:, ::-1], feature_names=twice.feature_names[::-1]))
    capsys.readouterr()
    assert main(["evaluate", "model", "turned.npz"]) == 2
    assert "'a' twice" in capsys.readouterr().err


def test_a_synthetic_file_has_a_name_that_is_read(files, capsys):
    assert main(["data", "synthetic", "mine"]) == 2
    assert "ends in .npz" in capsys.readouterr().err


def test_what_a_model_does_not_use_is_not_read(tmp_path, monkeypatch, capsys):
    """Columns of names are remembered by theirs; others may hold anything, as may labels that nobody asks for."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)).round(3)
    genre = ["rock" if a > 0 else "jazz;rock" if b > 0 else "jazz" for a, b in X]
    _lines("t.csv", ["0", "1", "no", "lab"], [[*x, "words", lab] for x, lab in zip(X, genre, strict=True)])
    train = ["train", "t.csv", "--labels", "-1", "--drop", "no", *FAST]
    assert main([*train, "--out", "m"]) == 0
    notes = EnergyMultiLabelClassifier.load("m").notes_
    assert (notes["labels"], notes["drop"], notes["feature_names"]) == ("lab", ["no"], ["0", "1"])
    _lines("new.csv", ["lab", "id", "1", "0"], [["polka", f"r{k}", b, a] for k, (a, b) in enumerate(X)])
    capsys.readouterr()
    answers = []
    for name in ("t.csv", "new.csv"):
        assert main(["predict", "m", name, "--out", "-"]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) == 90
    assert not (tmp_path / "-").exists()
    assert main(["evaluate", "m", "new.csv"]) == 2
    assert "the model has no label 'polka'" in capsys.readouterr().err
    assert main(["predict", "m", "t.csv", "--out", "p.csv.gz"]) == 2
    assert "not compressed" in capsys.readouterr().err
    assert main(["train", "t.csv", "--labels", "lab", "--drop", "[0, no]", *FAST, "--out", "m0"]) == 0
    assert EnergyMultiLabelClassifier.load("m0").notes_["feature_names"] == ["1"]


def test_a_file_that_is_called_as_a_column_is_no_list_of_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab").touch()
    _lines("t.csv", ["x", "lab"], [[k % 7, "ab"[k % 7 > 3]] for k in range(70)])
    assert main(["train", "t.csv", "--labels", "lab", "--out", "m", *FAST]) == 0
    assert main(["evaluate", "m", "t.csv"]) == 0


def _lines(name, header, rows):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
