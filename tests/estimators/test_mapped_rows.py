"""Networks of label sets on rows that stay in their file: as from memory, in a fraction of it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier, JointMultiLabelClassifier
from enstruct.cli.main import main
from enstruct.data.dataset import Dataset
from enstruct.data.on_disk import read_on_disk, write_on_disk
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.features import Features

rng = np.random.default_rng(0)
W = rng.normal(size=(30, 5))
POINTS = rng.normal(size=(200, 30)).astype(np.float32) * 3
COUNTS = np.maximum(POINTS, 0).round()
COUNTS[:, 7] = 0  # a feature that no row has
Y = (POINTS @ W > 4).astype(np.uint8)
FORMS = {"dense": POINTS, "sparse": sparse.csr_matrix(COUNTS), "zero or one": sparse.csr_matrix((COUNTS > 0).astype(np.float32))}
SETTINGS = {"hidden": 16, "max_epochs": 3, "random_state": 0}


@pytest.fixture(params=FORMS)
def both(request, tmp_path):
    """The rows in memory, and mapped."""
    X = FORMS[request.param]
    names = tuple(f"f{i}" for i in range(30)), tuple("abcde")
    write_on_disk(tmp_path / "rows", Dataset(X, sparse.csr_matrix(Y), *names))
    return X, read_on_disk(tmp_path / "rows").X


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "spen"])
def test_a_fit_is_the_one_from_memory(method, both):
    X, mapped = both
    ours, theirs = (EnergyMultiLabelClassifier(method, **SETTINGS).fit(rows, Y) for rows in (mapped, X))
    np.testing.assert_allclose(ours.predict_proba(mapped), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    assert ours.decision_ == theirs.decision_
    again = EnergyMultiLabelClassifier(method, **SETTINGS).fit(mapped[:150], Y[:150], X_val=mapped[150:], y_val=Y[150:])
    assert np.isfinite(again.predict_proba(mapped[::7])).all()


@pytest.mark.parametrize("standardize", ["auto", True, False])
def test_features_are_those_from_memory(standardize, both):
    X, mapped = both
    ours, theirs = (Features.fit(rows, standardize, choose=True) for rows in (mapped, X))
    assert ours.arrays().keys() == theirs.arrays().keys()
    for name, numbers in theirs.arrays().items():
        np.testing.assert_allclose(ours.arrays()[name], numbers, rtol=1e-5)


def test_what_takes_all_rows_at_once_refuses(both):
    _, mapped = both
    for estimator in (EnergyMultiLabelClassifier(), JointMultiLabelClassifier(), AutoMultiLabelClassifier()):
        with pytest.raises(ConfigError, match="takes all rows at once"):
            estimator.fit(mapped, Y)
    with pytest.raises(ConfigError, match="takes all rows at once"):
        EnergyMultiLabelClassifier("binary-relevance").fit(mapped, Y)
    with pytest.raises(ConfigError, match="tf-idf"):
        EnergyMultiLabelClassifier("cross-entropy", standardize="tfidf").fit(mapped, Y)
    model = EnergyMultiLabelClassifier("cross-entropy", **SETTINGS).fit(POINTS[:, :20], Y)
    with pytest.raises(DataError, match="30 features, but the model was fitted to 20"):
        model.predict(mapped)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_a_joint_answers_some_rows_at_a_time(both, monkeypatch):
    """Whatever it was fitted to, names of columns included."""
    X, mapped = both
    table = pd.DataFrame(X.toarray() if sparse.issparse(X) else X, columns=[f"f{i}" for i in range(30)])
    for model in (
        JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, Y),
        EnergyMultiLabelClassifier(base="binary-relevance", random_state=0).fit(table, Y),
    ):
        rows = X if isinstance(model, JointMultiLabelClassifier) else table
        known = np.where(np.arange(5) == 2, Y, np.nan)
        wanted = model.predict_proba(rows, known=known), model.predict(rows), model.log_prob(rows, Y)
        with monkeypatch.context() as patch:
            patch.setattr("enstruct.data.mapped.CELLS", 300)
            assert len(list(mapped.blocks())) > 5
            np.testing.assert_allclose(model.predict_proba(mapped, known=known), wanted[0], atol=1e-5)
            assert (model.predict(mapped) == wanted[1]).all()
            np.testing.assert_allclose(model.log_prob(mapped, Y), wanted[2], atol=1e-4)
    joint = model.joint_
    np.testing.assert_allclose(joint.disagreement(mapped), joint.disagreement(table), atol=1e-5)
    with pytest.raises(DataError, match="no rows"):
        model.predict(mapped[:0])
    with pytest.raises(DataError, match="30 features, but the model was fitted to 20"):
        EnergyMultiLabelClassifier(base="binary-relevance").fit(POINTS[:, :20], Y).predict(mapped)


def test_names_of_rows_before_are_forgotten(both, tmp_path):
    _, mapped = both
    model = EnergyMultiLabelClassifier("cross-entropy", **SETTINGS).fit(pd.DataFrame(POINTS[:, :3], columns=[*"xyz"]), Y)
    model.fit(mapped, Y).save(tmp_path / "model")
    again = EnergyMultiLabelClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(mapped), model.predict_proba(mapped), atol=1e-6)


def test_other_answers_and_no_rows(both):
    X, mapped = both
    model = EnergyMultiLabelClassifier("seal-nce", **SETTINGS).fit(mapped, Y)
    np.testing.assert_allclose(model.infer(mapped).y, model.infer(X).y, atol=1e-3)
    np.testing.assert_allclose(model.energy(mapped, Y), model.energy(X, Y), rtol=1e-3)
    assert model.sample(mapped[:5], 3).shape == (5, 3, 5)
    with pytest.raises(DataError, match="no rows"):
        model.predict(mapped[:0])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_file_that_was_damaged_since(value, tmp_path):
    write_on_disk(tmp_path / "rows", Dataset(POINTS, sparse.csr_matrix(Y), tuple(map(str, range(30))), tuple("abcde")))
    file = tmp_path / "rows" / "x_values.bin"
    file.write_bytes(np.float32(value).tobytes() + file.read_bytes()[4:])
    with pytest.raises(DataError, match="not finite"):
        EnergyMultiLabelClassifier("cross-entropy", **SETTINGS).fit(read_on_disk(tmp_path / "rows").X, Y)


def test_features_of_a_folder_count_as_the_models(tmp_path, capsys):
    lines = [f"{int(y[0])} " + " ".join(f"{j}:{v:.3g}" for j, v in enumerate(x[:9])) for x, y in zip(POINTS, Y, strict=True)]
    (tmp_path / "train.svm").write_text("\n".join(lines))
    (tmp_path / "few.svm").write_text("0 1:1 7:2\n1 2:1\n")
    model, few = str(tmp_path / "model"), tmp_path / "few"
    short = ["--model.method", "cross-entropy", "--model.hidden", "8", "--model.max_epochs", "2"]
    assert main(["train", str(tmp_path / "train.svm"), "--out", model, *short]) == 0
    assert main(["data", "convert", f"{few}.svm", str(few)]) == 0
    assert main(["predict", model, str(few), "--out", str(tmp_path / "a.csv")]) == 2
    assert "--first_feature 0" in capsys.readouterr().err
    assert main(["data", "convert", f"{few}.svm", str(few), "--first_feature", "0", "--overwrite"]) == 0
    for source, out in ((f"{few}.svm", "a.csv"), (str(few), "b.csv")):
        assert main(["predict", model, source, "--out", str(tmp_path / out)]) == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_a_folder_for_a_model_that_knows_means(tmp_path):
    rows = "\n".join(",".join(map(str, [*x[:3], *y[:2]])) for x, y in zip(COUNTS, Y, strict=True))
    (tmp_path / "gaps.csv").write_text(f"a,b,c,sun,rain\n,1,2,0,1\n{rows}\n")
    (tmp_path / "whole.csv").write_text(f"a,b,c,sun,rain\n{rows}\n")
    model, folder = str(tmp_path / "model"), str(tmp_path / "rows")
    short = ["--model.method", "cross-entropy", "--model.hidden", "8", "--model.max_epochs", "2", "--labels", "-2"]
    assert main(["train", str(tmp_path / "gaps.csv"), "--out", model, *short]) == 0
    assert main(["data", "convert", str(tmp_path / "whole.csv"), folder, "--labels", "-2"]) == 0
    assert main(["predict", model, folder, "--out", str(tmp_path / "a.csv")]) == 0


def test_the_command_line(tmp_path, capsys):
    rows = "\n".join(",".join(map(str, [*x[:4], *y[:2]])) for x, y in zip(COUNTS, Y, strict=True))
    (tmp_path / "mine.csv").write_text(f"a,b,c,d,sun,rain\n{rows}\n")
    folder, model = str(tmp_path / "rows"), str(tmp_path / "model")
    assert main(["data", "convert", str(tmp_path / "mine.csv"), folder, "--labels", "-2"]) == 0
    assert "200 rows, 4 features, 2 labels" in capsys.readouterr().out
    assert main(["data", "convert", str(tmp_path / "mine.csv"), folder, "--labels", "-2"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main(["data", "convert", str(tmp_path / "mine.csv"), folder, "--labels", "-2", "--overwrite"]) == 0
    (tmp_path / "other").mkdir()
    assert main(["data", "convert", str(tmp_path / "mine.csv"), str(tmp_path / "other"), "--labels", "-2", "--overwrite"]) == 2
    short = ["--model.method", "cross-entropy", "--model.hidden", "8", "--model.max_epochs", "2"]
    assert main(["train", folder, "--out", model, *short]) == 0
    assert main(["evaluate", model, folder]) == 0
    assert main(["predict", model, folder, "--out", str(tmp_path / "answers.csv")]) == 0
    lines = (tmp_path / "answers.csv").read_text().splitlines()
    assert lines[0] == "sun,rain"
    assert len(lines) == 201
    (tmp_path / "new.csv").write_text("a,b,c,d\n" + "\n".join(",".join(map(str, x[:4])) for x in COUNTS))
    new = str(tmp_path / "new")
    assert main(["data", "convert", str(tmp_path / "new.csv"), new, "--unlabelled", "--labels", "-2"]) == 2
    assert main(["data", "convert", str(tmp_path / "new.csv"), new, "--unlabelled"]) == 0
    assert "200 rows, 4 features, 0 labels" in capsys.readouterr().out
    assert main(["predict", model, new, "--out", str(tmp_path / "of_new.csv")]) == 0
    assert (tmp_path / "of_new.csv").read_text() == (tmp_path / "answers.csv").read_text()
    assert main(["evaluate", model, new]) == 2
    assert "lacks 2 labels of the model" in capsys.readouterr().err
    assert main(["train", new, "--out", str(tmp_path / "joint")]) == 2
    assert "no row has a label: convert the file that they are in without --unlabelled" in capsys.readouterr().err
    assert main(["train", folder, "--out", str(tmp_path / "joint")]) == 2
    assert "takes all rows at once" in capsys.readouterr().err
    assert main(["data", "describe", folder]) == 0


MEMORY = r"""
import re, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from enstruct import EnergyMultiLabelClassifier
from enstruct.data.on_disk import read_on_disk
few, many = (read_on_disk(folder) for folder in sys.argv[2:])
def fit(data):
    X = data.X.read() if sys.argv[1] == "memory" else data.X
    EnergyMultiLabelClassifier("cross-entropy", hidden=8, max_epochs=1, batch_size=512, random_state=0).fit(X, data.Y)
    # Linux hands ru_maxrss on from the process that started this one, which may be larger: the peak of its own is VmHWM
    return int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1024
before = fit(few)
print(fit(many) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory as Linux gives it")
def test_a_fit_takes_a_fraction_of_the_file(tmp_path):
    """Pages of the file that the system keeps count as memory of both: what is beyond them is the fit's own."""
    n, width, entries = 8_000, 2_000, 300
    for name, rows in (("few", 500), ("many", n)):
        columns = np.sort(rng.integers(0, width, (rows, entries)), axis=1)
        X = sparse.csr_matrix(
            (rng.random(rows * entries), columns.ravel(), np.arange(0, rows * entries + 1, entries)), (rows, width)
        )
        X.sum_duplicates()
        labels = sparse.csr_matrix(rng.random((rows, 3)) < 0.4)
        write_on_disk(tmp_path / name, Dataset(X, labels, tuple(f"f{i}" for i in range(width)), tuple("abc")))
    size = sum(file.stat().st_size for file in (tmp_path / "many").iterdir()) / 2**20
    grown = {}
    for where in ("file", "memory"):
        command = [sys.executable, "-c", MEMORY, where, str(tmp_path / "few"), str(tmp_path / "many")]
        grown[where] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(size, grown)
    assert grown["file"] + 2 * size < grown["memory"]
