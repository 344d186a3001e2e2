"""A tree of labels learns each label from its cluster's rows, answers like one-vs-rest, and at a fraction of its time."""

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from tests.generated import grouped_labels

from enstruct import EnergyMultiLabelClassifier
from enstruct.baselines import fit_label_tree, label_tree
from enstruct.baselines.label_tree import C_GRID, LEAF, having_any
from enstruct.data.rows import Rows
from enstruct.errors import ConfigError, ModelFileError
from enstruct.export import export_onnx
from enstruct.metrics import log_loss


def table(rows=80, features=6, labels=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    Y = (X @ rng.normal(size=(features, labels)) + rng.normal(size=(rows, labels)) > 0).astype(np.uint8)
    return X, Y


def rows_of(X, Y, weight=None):
    return Rows(X, sparse.csr_matrix(Y), weight)


def marginals(tree, X):
    return torch.sigmoid(tree(torch.as_tensor(X, dtype=torch.float32)).double()).numpy()


def test_few_labels_are_one_regression_each(monkeypatch):
    monkeypatch.setattr(label_tree, "PRUNED", 0.0)
    X, Y = table()
    tree = fit_label_tree(rows_of(X, Y), None, C=3.0)
    assert tree.n_levels == 1
    for label in range(5):
        model = LogisticRegression(C=3.0, solver="liblinear", tol=1e-3, intercept_scaling=10.0).fit(X, Y[:, label])
        np.testing.assert_allclose(marginals(tree, X)[:, label], model.predict_proba(X)[:, 1], atol=1e-5)


def test_labels_learn_from_the_rows_of_their_cluster(monkeypatch):
    monkeypatch.setattr(label_tree, "LEAF", 6)
    X, Y = grouped_labels()
    X, Y = sparse.vstack([X, X[:50]]).tocsr(), sparse.vstack([Y, sparse.csr_matrix((50, 24), dtype=np.uint8)]).tocsr()
    seen = {}

    def node(self, node, C, rows=None):
        seen[tuple(sorted(label for child in node.children for label in child))] = (len(node.rows), len(node.children))
        return own(self, node, C, rows)

    own = label_tree._Fit.node
    monkeypatch.setattr(label_tree._Fit, "node", node)
    tree = fit_label_tree(Rows(X, Y), None)
    assert tree.n_levels == 2
    of_group = np.asarray(Y.sum(1)).ravel()[:, None] * (Y @ (np.arange(24)[:, None] % 4 == np.arange(4)) > 0)
    expected = {tuple(range(g, 24, 4)): (int(np.sum(of_group[:, g] > 0)), 6) for g in range(4)}
    assert seen == {tuple(range(24)): (450, 4), **expected}


@pytest.mark.parametrize("arity", [1, 2, 5])
def test_levels_are_as_many_as_the_halvings_ask_for(monkeypatch, arity):
    monkeypatch.setattr(label_tree, "LEAF", 3)
    monkeypatch.setattr(label_tree, "ARITY", arity)
    X, Y = grouped_labels()
    tree = fit_label_tree(Rows(X, Y), None)
    assert tree.n_levels == {1: 4, 2: 3, 5: 2}[arity]
    assert len(tree.level(tree.n_levels - 1).bias) == 24
    np.testing.assert_array_equal(np.sort(tree.labels), np.arange(24))
    p, group = marginals(tree, X.toarray()), np.asarray(Y.argmax(1)).ravel() % 4
    of_own_group = np.arange(24)[None] % 4 == group[:, None]
    np.testing.assert_allclose(p[of_own_group].mean(), 1 / 3, atol=0.03)  # two of a group's six are drawn by chance
    assert p[~of_own_group].mean() < 0.01


def test_many_labels_answer_like_one_vs_rest():
    X, Y = grouped_labels(groups=26, each=4, rows=900)
    assert Y.shape[1] > LEAF
    train, test = np.arange(600), np.arange(600, 900)
    answers = {
        method: EnergyMultiLabelClassifier(method, random_state=0).fit(X[train], Y[train]).predict_proba(X[test])
        for method in ("label-tree", "binary-relevance")
    }
    losses = {method: log_loss(Y[test], p) for method, p in answers.items()}
    assert losses["label-tree"] < losses["binary-relevance"] + 0.002


def test_weights_are_copies_and_positive_ones_are_the_means_of_their_labels(monkeypatch):
    X, Y = table()
    weight = np.where(np.arange(80) < 20, 2.0, 1.0)
    twice = fit_label_tree(rows_of(np.concatenate([X, X[:20]]), np.concatenate([Y, Y[:20]])), None, C=1.0)
    np.testing.assert_allclose(marginals(fit_label_tree(rows_of(X, Y, weight), None, C=1.0), X), marginals(twice, X), atol=2e-3)

    monkeypatch.setattr(label_tree, "LEAF", 2)
    given = []

    def logistic(self, X, y, weight, C):
        given.append((y, weight))
        return np.ones(X.shape[1]), 0.0

    monkeypatch.setattr(label_tree._Fit, "_logistic", logistic)
    X, Y = grouped_labels(groups=2, each=2, rows=30)
    positive = np.array([1.0, 2.0, 3.0, 4.0])
    fit_label_tree(Rows(X, Y, np.full(30, 2.0)), None, positive)
    have = having_any(Y, [np.array([0, 2]), np.array([1, 3])]).toarray()
    times = having_any(Y.multiply(positive), [np.array([0, 2]), np.array([1, 3])]).toarray()
    for y, of_rows in given[:2]:
        k = 0 if (y == (have[:, 0] > 0)).all() else 1
        np.testing.assert_array_equal(y, have[:, k] > 0)
        np.testing.assert_allclose(of_rows, 2 * np.where(y, times[:, k] / np.maximum(have[:, k], 1), 1.0))


def test_the_c_is_the_one_under_which_held_out_rows_are_likeliest():
    X, Y = table(rows=400, labels=3)
    train, held = rows_of(X[:60], Y[:60]), rows_of(X[60:], Y[60:])
    tree = fit_label_tree(train, held)
    losses = {C: log_loss(held.Y, marginals(fit_label_tree(train, None, C=C), held.X)) for C in C_GRID}
    place = C_GRID.index(tree.chosen["C"])
    assert all(losses[C] >= losses[C_GRID[place]] - 1e-4 for C in C_GRID[max(0, place - 1) : place + 2])
    assert fit_label_tree(train, held, should_stop=lambda: True).chosen == {"C": 1.0}
    assert fit_label_tree(Rows(sparse.csr_matrix(X), sparse.csr_matrix(Y)), None).chosen == {"C": 10.0}


def test_labels_that_never_vary_are_sure():
    X, Y = table()
    Y[:, 0], Y[:, 1] = 1, 0
    p = marginals(fit_label_tree(rows_of(X, Y), None), X)
    assert (p[:, 0] > 0.999).all()
    assert (p[:, 1] < 1e-5).all()


def test_rows_without_features_have_the_labels_frequencies():
    Y = (np.arange(40)[:, None] % np.array([2, 4]) == 0).astype(np.uint8)
    p = marginals(
        fit_label_tree(Rows(sparse.csr_matrix((40, 6)), sparse.csr_matrix(Y), np.full(40, 2.0)), None), np.zeros((1, 6))
    )
    np.testing.assert_allclose(p[0], [40.5 / 81, 20.5 / 81], rtol=1e-6)


def test_small_weights_are_dropped_and_their_mean_is_kept(monkeypatch):
    X, Y = table(features=40)
    X[:, 0], X[:, 1] = 100 * X[:, 0], X[:, 1] + 5
    levels = {}
    for share in (0.0, 0.2, 0.5):
        monkeypatch.setattr(label_tree, "PRUNED", share)
        levels[share] = fit_label_tree(rows_of(X, Y), None).level(0)
    assert levels[0.0].weights.nnz == 200 > levels[0.2].weights.nnz > levels[0.5].weights.nnz
    reach = np.abs(levels[0.0].weights.toarray()) * np.abs(X).max(0)
    np.testing.assert_array_equal(levels[0.5].weights.toarray() != 0, reach >= 0.5 * reach.max(1, keepdims=True))
    margins = {share: (X @ level.weights.toarray().T + level.bias).mean(0) for share, level in levels.items()}
    np.testing.assert_allclose(margins[0.5], margins[0.0], rtol=1e-4)


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_a_positive_weight_of_0_takes_no_other_labels_place(sparse_rows):
    X, Y = table()
    X = sparse.csr_matrix(X) if sparse_rows else X
    plain = fit_label_tree(Rows(X, sparse.csr_matrix(Y)), None, C=1.0)
    weighed = fit_label_tree(Rows(X, sparse.csr_matrix(Y)), None, np.array([1.0, 0.0, 1.0, 1.0, 1.0]), C=1.0)
    x = X.toarray() if sparse_rows else X
    others = [0, 2, 3, 4]
    np.testing.assert_allclose(marginals(weighed, x)[:, others], marginals(plain, x)[:, others], atol=1e-6)
    assert marginals(weighed, x)[:, 1].max() < 1e-5  # it has no positive row left


def test_rows_of_weight_0_are_not_there():
    X, Y = table(labels=1)
    weight = 1.0 - Y[:, 0]
    assert marginals(fit_label_tree(rows_of(X, Y, weight), None), X).max() < 1e-5
    assert marginals(fit_label_tree(rows_of(X, Y, 1 - weight), None), X).min() > 0.999


def test_threads_do_not_change_it():
    X, Y = grouped_labels(groups=30, each=5, rows=300)
    before = torch.get_num_threads()
    trees = []
    try:
        for threads in (1, 2, 2):
            torch.set_num_threads(threads)
            trees.append(fit_label_tree(Rows(X, Y), None, seed=0).state_dict())
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(trees[0][name], tree[name]) for tree in trees for name in trees[0])


def test_a_saved_one_answers_as_before_and_a_broken_one_is_refused(tmp_path):
    X, Y = grouped_labels(groups=30, each=5)
    model = EnergyMultiLabelClassifier("label-tree-tfidf", random_state=0).fit(X, Y)
    model.save(tmp_path / "model")
    again = EnergyMultiLabelClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert (again.predict(X) != model.predict(X)).nnz == 0
    weights, header = next((tmp_path / "model").glob("*.safetensors")), tmp_path / "model" / "model.json"
    content = json.loads(header.read_text())
    del content["weights"]  # their digest, which would be the first to tell
    header.write_text(json.dumps(content))
    tensors = load_file(weights)
    save_file(tensors, weights)
    EnergyMultiLabelClassifier.load(tmp_path / "model")
    save_file(tensors | {"predictor/0_indices": tensors["predictor/0_indices"] + 10**6}, weights)
    with pytest.raises(ModelFileError, match="outside of its tables"):
        EnergyMultiLabelClassifier.load(tmp_path / "model")


def test_it_is_no_fixed_graph(tmp_path):
    X, Y = table()
    model = EnergyMultiLabelClassifier("label-tree", random_state=0).fit(X, Y)
    with pytest.raises(ConfigError, match="binary-relevance"):
        export_onnx(model, tmp_path / "out")
    assert not list(tmp_path.iterdir())
