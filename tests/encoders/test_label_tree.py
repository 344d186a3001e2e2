"""A tree of labels multiplies along its branches, goes into the likeliest of them, and is what was saved."""

import copy

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.special import expit

from enstruct.encoders import LabelTree, label_tree
from enstruct.encoders.label_tree import LEAST, Level
from enstruct.encoders.sparse_mlp import csr_batch

LABELS = np.array([3, 0, 4, 1, 2])


def levels(seed=0):
    """Two clusters of three and two labels, on four features."""
    rng = np.random.default_rng(seed)

    def level(first, n):
        weights = sparse.csr_matrix(rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.7))
        return Level(np.array(first), weights, rng.normal(size=n).astype(np.float32))

    return [level([0, 2], 2), level([0, 3, 5], 5)]


def rows(n=20):
    return np.random.default_rng(1).normal(size=(n, 4)).astype(np.float32)


def by_hand(X):
    """(rows, labels) p of each label, and (rows, 2) of each cluster."""
    top, bottom = ((X @ level.weights.toarray().T + level.bias) for level in levels())
    clusters, p = expit(top), np.zeros((len(X), 5))
    for node, label in enumerate(LABELS):
        p[:, label] = clusters[:, int(node >= 3)] * expit(bottom[:, node])
    return p, clusters


def test_a_labels_marginal_is_the_product_of_its_way():
    tree, X = LabelTree.of_levels(levels(), LABELS), rows()
    expected, _ = by_hand(X)
    np.testing.assert_allclose(torch.sigmoid(tree(torch.from_numpy(X))).numpy(), expected, rtol=1e-4)
    np.testing.assert_allclose(tree(csr_batch(sparse.csr_matrix(X))).numpy(), tree(torch.from_numpy(X)).numpy(), rtol=1e-6)
    assert tree(torch.zeros(0, 4)).shape == (0, 5)


def test_only_the_likeliest_branches_are_gone_into(monkeypatch):
    monkeypatch.setattr(label_tree, "BEAM", 1)
    tree, X = LabelTree.of_levels(levels(), LABELS), rows()
    logits = tree(torch.from_numpy(X)).numpy()
    expected, clusters = by_hand(X)
    gone_into = np.zeros((len(X), 5), dtype=bool)
    for node, label in enumerate(LABELS):
        gone_into[:, label] = clusters.argmax(1) == int(node >= 3)
    np.testing.assert_allclose(expit(logits[gone_into]), expected[gone_into], rtol=1e-4)
    assert (logits[~gone_into] == LEAST).all()
    assert 20 < gone_into.sum() < 80


def test_logits_are_finite_however_sure_the_tree_is():
    level = Level(np.array([0, 2]), sparse.csr_matrix((2, 4)), np.array([200.0, -200.0], dtype=np.float32))
    logits = LabelTree.of_levels([level], np.array([0, 1]))(torch.from_numpy(rows(1)))
    assert logits[0, 0] > 15
    assert logits[0, 1] == LEAST
    assert bool(torch.isfinite(logits).all())
    level = Level(np.array([0, 2]), sparse.csr_matrix(np.full((2, 4), 3e38, dtype=np.float32)), np.zeros(2, dtype=np.float32))
    logits = LabelTree.of_levels([level], np.array([0, 1]))(torch.tensor([[1e5, -1e5, 0.0, 0.0]]))
    assert bool(torch.isfinite(logits).all())


def test_it_is_restored_as_it_was_and_stays_on_the_cpu():
    tree, X = LabelTree.of_levels(levels(), LABELS), torch.from_numpy(rows())
    again = LabelTree.restored(tree.state_dict(), 4, 5)
    assert torch.equal(again(X), tree(X))
    assert torch.equal(copy.deepcopy(tree).double()(X), tree(X))


def broken(name, change):
    tensors = {key: tensor.clone() for key, tensor in LabelTree.of_levels(levels(), LABELS).state_dict().items()}
    tensors[name] = change(tensors[name])
    return tensors


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("labels", lambda t: t - 1),
        ("labels", lambda t: t[:4]),
        ("0_first", lambda t: t + 1),
        ("1_first", lambda t: torch.tensor([0, 6, 5])),
        ("1_first", lambda t: t[:2]),
        ("1_indptr", lambda t: t.flip(0)),
        ("1_indptr", lambda t: torch.tensor([0, 2**63 - 1, -2, 0, 0, int(t[-1])])),
        ("1_indices", lambda t: t + 4),
        ("1_indices", lambda t: t - 4),
        ("0_values", lambda t: t[:-1]),
        ("0_values", lambda t: t * torch.inf),
        ("1_bias", lambda t: t * torch.nan),
        ("labels", lambda t: t.float()),
        ("0_first", lambda t: t.double()),
        ("1_indptr", lambda t: t[None]),
        ("0_values", lambda t: t.to(torch.bfloat16)),
        ("1_bias", lambda t: t[:, None]),
        ("1_bias", lambda t: t[0]),
    ],
)
def test_tables_that_lead_outside_of_themselves_are_refused(name, change):
    with pytest.raises(ValueError, match="outside of its tables"):
        LabelTree.restored(broken(name, change), 4, 5)


def test_another_number_of_features_or_labels_is_refused():
    tensors = LabelTree.of_levels(levels(), LABELS).state_dict()
    for n_features, n_labels in ((3, 5), (4, 6)):
        with pytest.raises(ValueError, match="outside of its tables"):
            LabelTree.restored(tensors, n_features, n_labels)
    others = tensors | {"2_first": torch.tensor([0, 1])}, tensors | {"n_levels": torch.tensor([2])}
    for tables in (*({k: t for k, t in tensors.items() if k != name} for name in ("1_bias", "labels", "0_first")), *others):
        with pytest.raises(ValueError, match="outside of its tables"):
            LabelTree.restored(tables, 4, 5)
