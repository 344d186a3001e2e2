"""A forest's answer is the mean of its leaves' means, by hand and by scikit-learn's own trees."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct.encoders import forest as forest_module
from enstruct.encoders.forest import CERTAIN, Forest, Tree, rounded_down
from enstruct.encoders.sparse_mlp import csr_batch


def stump(threshold, leaf_of):
    """x[0] <= threshold goes to node 1, else to node 2."""
    return Tree(*(np.array(a) for a in ([0, -2, -2], [threshold, -2.0, -2.0], [1, -1, -1], [2, -1, -1], leaf_of)))


Y = sparse.csr_matrix([[1, 0], [1, 1], [0, 1]])
TREES = [stump(0.5, [1, 1, 2]), stump(1.5, [1, 2, 2])]


def test_means_of_leaves_by_hand():
    marginals = torch.sigmoid(Forest.of_trees(TREES, Y)(torch.tensor([[0.0], [1.0], [2.0]])))
    first, second = [1.0, 0.5], [1.0, 0.0]  # means of rows 0 and 1 in the first tree, of row 0 in the second
    expected = torch.from_numpy(np.mean([[first, second], [[0, 1], second], [[0, 1], [0.5, 1]]], axis=1))
    torch.testing.assert_close(marginals.double(), expected.clamp(CERTAIN, 1 - CERTAIN), atol=1e-6, rtol=0)


def test_rows_have_weights_and_labels_a_shift():
    forest = Forest.of_trees(TREES[:1], Y, np.array([3.0, 1.0, 1.0]), np.log([1.0, 5.0]))
    p = torch.sigmoid(forest(torch.tensor([[0.0]])))[0]
    odds = 5 * (1 / 4) / (3 / 4)  # label 1 is on in row 1 alone, of weight 1 beside 3
    assert p[0] == pytest.approx(1 - CERTAIN)
    assert p[1] == pytest.approx(odds / (1 + odds))


def test_rows_that_weigh_little_or_nothing():
    nothing = Forest.of_trees(TREES[:1], Y, np.array([1.0, 1.0, 0.0]))
    assert torch.sigmoid(nothing(torch.tensor([[2.0]]))).max() <= 2 * CERTAIN
    little = Forest.of_trees(TREES[:1], Y, np.array([1.0, 1.0, 1e-9]))
    assert torch.sigmoid(little(torch.tensor([[2.0]])))[0, 1] == pytest.approx(1 - CERTAIN)


def test_a_tree_of_one_leaf():
    lone = Tree(*(np.array(a) for a in ([-2], [-2.0], [-1], [-1], [0, 0, 0])))
    torch.testing.assert_close(torch.sigmoid(Forest.of_trees([lone], Y)(torch.zeros(1, 1))), torch.full((1, 2), 2 / 3))


def test_sparse_rows_and_blocks_change_nothing(monkeypatch):
    forest = Forest.of_trees(TREES, Y)
    x = sparse.csr_matrix([[0.0], [1.0], [2.0], [0.0]])
    whole = forest(torch.from_numpy(x.toarray()).float())
    torch.testing.assert_close(forest(csr_batch(x)), whole)
    monkeypatch.setattr(forest_module, "MOST_CELLS", 1)  # a row at a time
    torch.testing.assert_close(forest(csr_batch(x)), whole)


def test_it_stays_as_it_is():
    """Trees are walked on the CPU; a precision of 64 bits would have to be found in training."""
    forest = Forest.of_trees(TREES, Y)
    assert forest.double().threshold.dtype == torch.float32
    assert forest.to("meta").threshold.device.type == "cpu"
    x = torch.tensor([[0.3], [1.2]], dtype=torch.float64)
    assert forest(x).dtype == torch.float64
    torch.testing.assert_close(forest(x).float(), forest(x.float()))
    assert forest(x[:0]).shape == (0, 2)


def test_its_tensors_are_all_of_it():
    forest = Forest.of_trees(TREES, Y)
    again = Forest.restored(forest.state_dict(), 1, Y.shape[1])
    x = torch.tensor([[0.3], [1.2]])
    assert torch.equal(again(x), forest(x))
    assert not list(forest.parameters())


def test_rounding_never_moves_a_row_to_the_other_side():
    rng = np.random.default_rng(0)
    threshold = rng.normal(size=1000)
    x = np.concatenate([threshold.astype(np.float32), np.nextafter(threshold.astype(np.float32), np.float32(np.inf))])
    both = np.tile(threshold, 2)
    assert np.array_equal(x <= np.tile(rounded_down(threshold), 2), x.astype(np.float64) <= both)
