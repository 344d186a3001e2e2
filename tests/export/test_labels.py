"""Label sets: what a file answers is what its model answers, for every kind of model, rule and feature."""

import json
import shutil
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from tests.configured import configured

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier, JointMultiLabelClassifier
from enstruct.errors import ConfigError, EnstructError, ModelFileError
from enstruct.export import export_onnx, write
from enstruct.rules import Excludes, Implies


def answers(path, X, name="model.onnx", **inputs):
    session = onnxruntime.InferenceSession(str(path / name))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"features": np.asarray(X, dtype=np.float32), **inputs}), strict=True))


def fitted(method, blocks, rows=150, **settings):
    model = configured(EnergyMultiLabelClassifier, method, max_epochs=3, hidden=8, random_state=0, **settings)
    return model.fit(blocks.X[:rows], blocks.Y[:rows])


def check(model, path, X):
    """Rows that the check within has not drawn."""
    X = np.asarray(X, dtype=np.float32)
    found = answers(path, X)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(found["label_sets"], np.asarray(sparse.csr_matrix(model.predict(X)).toarray()))


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "binary-relevance", "extra-trees", "boosting", "low-rank"])
@pytest.mark.usefixtures("quick_bases")
def test_methods_that_answer_by_a_predictor(method, blocks, tmp_path):
    model = fitted(method, blocks, decision="expected-f1")
    (file,) = export_onnx(model, tmp_path / "out")
    check(model, tmp_path / "out", blocks.X[150:190])
    assert file.difference < 1e-5
    assert file.size == (tmp_path / "out" / "model.onnx").stat().st_size


def test_another_rule_and_what_the_file_says_of_itself(blocks, tmp_path):
    model, decision = fitted("cross-entropy", blocks), "per-label"
    export_onnx(model, tmp_path / "out", decision=decision)
    found = answers(tmp_path / "out", blocks.X[150:190])["label_sets"]
    X = blocks.X[150:190].astype(np.float32)
    np.testing.assert_array_equal(found, sparse.csr_matrix(model.predict(X, decision=decision)).toarray())
    about = {entry.key: entry.value for entry in onnx.load(tmp_path / "out" / "model.onnx").metadata_props}
    assert about["decision"] == decision
    assert json.loads(about["labels"]) == list(range(16))
    assert about["method"] == "cross-entropy"


@pytest.mark.parametrize("method", ["cross-entropy", "binary-relevance-tfidf", "extra-trees"])
@pytest.mark.usefixtures("quick_bases")
def test_sparse_features_with_columns_that_no_row_has(method, tmp_path):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.3, (120, 30)).astype(float)
    counts[:, 7] = 0
    Y = (counts[:, :4] + rng.random((120, 4)) > 0.8).astype(int)
    X = sparse.csr_matrix(counts)
    model = configured(EnergyMultiLabelClassifier, method, max_epochs=3, hidden=8, random_state=0).fit(X, Y)
    export_onnx(model, tmp_path / "out")
    X = X[:50].astype(np.float32)
    found = answers(tmp_path / "out", X.toarray())
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(found["label_sets"], model.predict(X))


def test_labels_that_never_vary_and_rows_alone(blocks, tmp_path):
    Y = blocks.Y[:150].toarray()
    Y[:, 3], Y[:, 5] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = configured(EnergyMultiLabelClassifier, "cross-entropy", max_epochs=2, hidden=8, random_state=0)
        model.fit(blocks.X[:150], Y)
    export_onnx(model, tmp_path / "out")
    found = answers(tmp_path / "out", blocks.X[:1])
    assert found["probabilities"].shape == (1, 16)
    assert (found["label_sets"][0, 3], found["label_sets"][0, 5]) == (0, 1)


@pytest.mark.parametrize("method", ["cross-entropy", "joint"])
@pytest.mark.usefixtures("quick_joints")
def test_one_label_a_row(method, blocks, tmp_path):
    y = np.array(["red", "green", "blue"])[(blocks.X[:150, 0] > 0).astype(int) + (blocks.X[:150, 1] > 1)]
    base = {"base": "binary-relevance"} if method == "joint" else {"max_epochs": 3, "hidden": 8}
    model = EnergyMultiLabelClassifier(method, random_state=0, **base).fit(blocks.X[:150], y)
    (_,) = export_onnx(model, tmp_path / "out")
    found = answers(tmp_path / "out", blocks.X[:60])
    assert list(found) == ["probabilities", "class"]
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(blocks.X[:60].astype(np.float32)), atol=1e-5)
    np.testing.assert_array_equal(model.classes_[found["class"]], model.predict(blocks.X[:60].astype(np.float32)))


@pytest.mark.parametrize("rules", [[Implies("b0.1", "b1.0"), Implies("b1.0", "b2.2")], [Excludes("b0.0", "b1.1", "b2.2")]])
@pytest.mark.usefixtures("quick_joints")
def test_rules(rules, blocks, tmp_path):
    import pandas as pd

    X, Y = blocks.X[:200], pd.DataFrame(blocks.Y[:200].toarray(), columns=blocks.label_names)
    Y.loc[Y["b0.1"] == 1, "b1.0"] = 1
    Y.loc[Y["b1.0"] == 1, "b2.2"] = 1
    if isinstance(rules[0], Excludes):
        Y.loc[Y["b0.0"] == 1, ["b1.1", "b2.2"]] = 0
        Y.loc[Y["b1.1"] == 1, "b2.2"] = 0
    model = configured(EnergyMultiLabelClassifier, "cross-entropy", max_epochs=3, hidden=8, random_state=0, rules=rules)
    model.fit(X, Y)
    joint = JointMultiLabelClassifier("binary-relevance", rules=rules, random_state=0).fit(X, Y)
    for name, fitted_model in (("network", model), ("joint", joint))[len(rules) == 1 :]:
        (_,) = export_onnx(fitted_model, tmp_path / name)  # nothing conditional: what is told is followed up
        found = answers(tmp_path / name, blocks.X[200:260])
        np.testing.assert_array_equal(found["label_sets"], np.asarray(fitted_model.predict(blocks.X[200:260].astype(np.float32))))
        assert found["label_sets"].any()


def test_a_hierarchy(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 6))
    parents = [None, 0, 0, 1, 1, 2]
    leaf = np.eye(6, dtype=int)[3 + (X[:, 0] > 0) + ((X[:, 1] > 0) & (X[:, 0] > 0))]
    Y = leaf.copy()
    for child, parent in reversed(list(enumerate(parents))):
        if parent is not None:
            Y[:, parent] |= Y[:, child]
    edges = [(child, parent) for child, parent in enumerate(parents) if parent is not None]
    rules = [Implies(child, parent) for child, parent in edges]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = configured(EnergyMultiLabelClassifier, "cross-entropy", max_epochs=3, hidden=8, random_state=0, rules=rules)
        model.fit(X, Y)
    export_onnx(model, tmp_path / "out")
    found = answers(tmp_path / "out", X)
    np.testing.assert_array_equal(found["label_sets"], model.predict(X.astype(np.float32)))
    assert all((found["label_sets"][:, child] <= found["label_sets"][:, parent]).all() for child, parent in edges)


@pytest.mark.usefixtures("quick_bases")
def test_automatic(blocks, tmp_path):
    model = AutoMultiLabelClassifier(
        ["binary-relevance", "extra-trees", "cross-entropy"],
        members=1,
        folds=2,
        settings={"max_epochs": 2, "hidden": 8},
        random_state=0,
    ).fit(blocks.X[:150], blocks.Y[:150])
    export_onnx(model, tmp_path / "out")
    check(model, tmp_path / "out", blocks.X[150:190])


def test_missing_features_get_their_means(blocks, tmp_path):
    """As `enstruct train` notes them."""
    model = fitted("cross-entropy", blocks)
    n = blocks.X.shape[1]
    model.notes_ = {
        "means": np.linspace(-1, 1, n).tolist(),
        "feature_names": [f"x{i}" for i in range(n)],
        "label_names": list(blocks.label_names),
    }
    export_onnx(model, tmp_path / "out")
    X = blocks.X[:20].astype(np.float32)
    X[::2, 3] = np.nan
    filled = np.where(np.isnan(X), np.linspace(-1, 1, n).astype(np.float32), X)
    np.testing.assert_allclose(answers(tmp_path / "out", X)["probabilities"], model.predict_proba(filled), atol=1e-5)
    about = {entry.key: entry.value for entry in onnx.load(tmp_path / "out" / "model.onnx").metadata_props}
    assert json.loads(about["labels"]) == list(blocks.label_names)
    assert json.loads(about["features"])[:2] == ["x0", "x1"]


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("spen", {}, "'spen' answers by inference"),
        ("nce", {}, "'nce' answers by inference"),
        ("seal-nce", {"decision": "bayes-risk"}, "draws samples"),
    ],
)
def test_what_is_no_fixed_graph(method, settings, message, blocks, tmp_path):
    with pytest.raises(ConfigError, match=message) as caught:
        export_onnx(fitted(method, blocks, **settings), tmp_path / "out")
    assert len(str(caught.value)) <= 300
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("quick_joints")
def test_decisions_that_draw_from_the_joint(blocks, tmp_path):
    model = JointMultiLabelClassifier("binary-relevance", folds=2, decision="subset-accuracy", random_state=0)
    model.fit(blocks.X[:60], blocks.Y[:60])
    with pytest.raises(ConfigError, match="in force, 'subset-accuracy', draws samples") as caught:
        export_onnx(model, tmp_path / "out")
    assert len(str(caught.value)) <= 300
    export_onnx(model, tmp_path / "out", decision="expected-f1")
    assert (tmp_path / "out" / "model.onnx").is_file()


@pytest.mark.usefixtures("quick_joints")
def test_bases_of_scikit_learns(blocks, tmp_path):
    model = JointMultiLabelClassifier(LogisticRegression(), folds=2, random_state=0).fit(blocks.X[:60], blocks.Y[:60])
    with pytest.raises(ConfigError, match="skl2onnx"):
        export_onnx(model, tmp_path / "out")


def test_unknown_rules_models_and_places(network, tmp_path, monkeypatch):
    model, traced = network
    monkeypatch.setattr(write, "_trace", lambda graph, file, model: shutil.copy(traced, file))
    with pytest.raises(ConfigError, match="Did you mean 'threshold'"):
        export_onnx(model, tmp_path / "out", decision="treshold")
    with pytest.raises(NotFittedError):
        export_onnx(EnergyMultiLabelClassifier("cross-entropy"), tmp_path / "out")
    with pytest.raises(ConfigError, match="not LogisticRegression"):
        export_onnx(LogisticRegression(), tmp_path / "out")
    with pytest.raises(ConfigError, match="rows"):
        export_onnx(model, tmp_path / "out", rows=0)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(ModelFileError, match="no export of enstruct's"):
        export_onnx(model, tmp_path / "mine", overwrite=True)
    export_onnx(model, tmp_path / "out")
    with pytest.raises(ModelFileError, match="--overwrite"):
        export_onnx(model, tmp_path / "out")
    (file,) = export_onnx(model, tmp_path / "out", decision=model.decision_, rows=3, overwrite=True)
    assert file.rows == 3


@pytest.fixture(scope="module")
def network(blocks, tmp_path_factory):
    """Fitted, and its file."""
    model, folder = fitted("cross-entropy", blocks), tmp_path_factory.mktemp("traced") / "out"
    export_onnx(model, folder)
    return model, folder / "model.onnx"


@pytest.mark.parametrize(("tampered", "by"), [("probabilities", 1e-4), ("probabilities", np.nan), ("label_sets", 1)])
def test_a_file_that_answers_otherwise_is_not_left(tampered, by, network, tmp_path, monkeypatch):
    model, traced = network
    monkeypatch.setattr(write, "_trace", lambda graph, file, model: shutil.copy(traced, file))
    graphs_of = write.graphs_of

    def otherwise(*arguments):
        (graph,), beside = graphs_of(*arguments)
        answer = graph.answer

        def changed(inputs):
            said = dict(answer(inputs))
            said[tampered] = said[tampered] + by
            return said

        return [write.Graph(**{**vars(graph), "answer": changed})], beside

    monkeypatch.setattr(write, "graphs_of", otherwise)
    with pytest.raises(EnstructError, match="not written"):
        export_onnx(model, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
