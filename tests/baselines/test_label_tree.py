"""The label tree's training: its loss by the formula, marginals that are known in closed form, and the classifier around it."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct import EnergyMultiLabelClassifier
from enstruct.baselines import fit_label_tree, label_tree
from enstruct.baselines.label_tree import Places, pairs_of, tree_loss
from enstruct.data.rows import Rows, as_indicator
from enstruct.data.synthetic import block_exclusive
from enstruct.encoders import LabelTree
from enstruct.errors import DivergenceError
from enstruct.metrics import example_f1, log_loss
from enstruct.randomness import redirected, seeded

CLUSTERS = [np.array([4, 0]), np.array([2]), np.array([1, 3])]


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """Of a few units: what is tested here takes no more."""
    monkeypatch.setattr("enstruct.encoders.label_tree.HIDDEN", 64)


@pytest.fixture
def tree():
    torch.manual_seed(0)
    return LabelTree.of_clusters(CLUSTERS, 3).eval()


@pytest.fixture(scope="module")
def blocks():
    return block_exclusive(500, seed=3)


def fitted(rows, **settings):
    with seeded(0), redirected():
        return fit_label_tree(rows, None, **settings)


def test_the_loss_is_the_sum_of_both_factors(tree):
    Y = np.array([[1, 0, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    x = torch.randn(4, 3)
    h = tree.encoder(x)
    expected = torch.zeros(4)
    for row, y in enumerate(Y):
        for c, cluster in enumerate(CLUSTERS):
            active = torch.sigmoid(tree.clusters(h[row])[c])
            expected[row] -= (active if y[cluster].any() else 1 - active).log()
            weights = tree.labels.weight[c].view(tree.size, -1)
            for place, label in enumerate(cluster):
                p = torch.sigmoid(weights[place, :-1] @ h[row] + weights[place, -1])
                expected[row] -= ((p if y[label] else 1 - p).log()) if y[cluster].any() else 0.0
    loss = tree_loss(tree, x, pairs_of(as_indicator(Y), Places(tree)))
    torch.testing.assert_close(loss, expected)


def test_clusters_that_no_row_has_active_are_left_alone(tree):
    pairs = pairs_of(as_indicator(np.array([[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]])), Places(tree))
    tree_loss(tree, torch.randn(2, 3), pairs).sum().backward()
    touched = tree.labels.weight.grad.coalesce().indices().flatten()
    assert touched.tolist() == [2]
    assert len(pairs_of(as_indicator((2, 5)), Places(tree)).row) == 0


def test_without_features_marginals_are_the_shares_of_rows(monkeypatch):
    """Of 40 labels, which closed forms give; with one cluster looked at, too, as the others' shares are these."""
    rng = np.random.default_rng(0)
    share = rng.uniform(0.02, 0.6, 40)
    Y = as_indicator(rng.random((3000, 40)) < share)
    tree = fitted(Rows(np.ones((3000, 1), dtype=np.float32), Y))
    found = np.asarray(Y.mean(0)).ravel()
    for beam in (32, 1):
        monkeypatch.setattr("enstruct.encoders.label_tree.BEAM", beam)
        with torch.no_grad():
            p = torch.sigmoid(tree(torch.ones(1, 1))).numpy()[0]
        assert np.abs(p - found).max() < 0.06
        assert np.abs(p - found).mean() < 0.02


def test_it_learns_nearly_as_a_network_does():
    more = block_exclusive(1500, seed=3)
    rows, test = more.take(np.arange(1200)), more.take(np.arange(1200, 1500))
    scores = {}
    for method in ("label-tree", "cross-entropy"):
        model = EnergyMultiLabelClassifier(method, random_state=0).fit(rows.X, rows.Y)
        scores[method] = example_f1(test.Y, model.predict(test.X)), log_loss(test.Y, model.predict_proba(test.X))
    of_shares = log_loss(test.Y, np.tile(np.asarray(rows.Y.mean(0)), (300, 1)))
    assert scores["label-tree"][0] > scores["cross-entropy"][0] - 0.05
    assert scores["label-tree"][1] < 0.7 * of_shares


@pytest.mark.parametrize("as_csr", [False, True])
def test_a_saved_model_answers_the_same(blocks, as_csr, tmp_path):
    X = sparse.csr_matrix(blocks.X) if as_csr else blocks.X
    model = EnergyMultiLabelClassifier("label-tree", random_state=0).fit(X, blocks.Y)
    model.save(tmp_path / "m")
    again = EnergyMultiLabelClassifier.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert (again.predict(X) != model.predict(X)).sum() == 0
    twin = EnergyMultiLabelClassifier("label-tree", random_state=0).fit(X, blocks.Y)
    assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


def test_weights_of_rows_and_of_positives(blocks, monkeypatch):
    monkeypatch.setattr(label_tree, "EPOCHS", 1)
    monkeypatch.setattr(label_tree, "LEAST_UPDATES", 1)
    Y = as_indicator(blocks.Y)
    plain = fitted(Rows(blocks.X, Y))
    x = torch.as_tensor(blocks.X[:20], dtype=torch.float32)
    shifted = fitted(Rows(blocks.X, Y), positive_weight=np.full(Y.shape[1], 3.0))
    torch.testing.assert_close(shifted(x), plain(x) + np.log(3.0))
    weight = np.random.default_rng(0).uniform(0, 2, len(blocks.X))
    some = Rows(blocks.X, Y, weight)
    losses = tree_loss(plain, torch.as_tensor(blocks.X, dtype=torch.float32), pairs_of(Y, Places(plain)))
    torch.testing.assert_close(label_tree._loss_of(plain, some, Places(plain)), (losses * torch.as_tensor(weight)).mean().float())
    # an active label's share of its cluster's rows, by weight
    light = fitted(Rows(blocks.X, Y, np.where(Y[:, [0]].toarray().ravel() == 1, 0.01, 1.0)))
    assert light.share[0] < plain.share[0] - 1


def test_it_ends_when_it_is_told_to_and_says_what_diverges(blocks):
    calls = []
    fitted(Rows(blocks.X, as_indicator(blocks.Y)), should_stop=lambda: calls.append(1) or True)
    assert len(calls) == 1
    with pytest.raises(DivergenceError, match="label tree"):
        fitted(Rows(np.full(blocks.X.shape, 1e30, dtype=np.float32), as_indicator(blocks.Y)))
