"""Closing label sets upwards."""

import time

import numpy as np
import pytest
from scipy import sparse

from enstruct.data.hierarchy import Hierarchy
from enstruct.errors import DataError
from enstruct.rules import RuleSystem
from enstruct.rules.closest import nearest
from enstruct.rules.follow import follow
from enstruct.rules.marginals import legal_marginals


def reachable(n, edges):
    """(labels, labels): whether the second is the first or an ancestor, by repeated products."""
    step = np.eye(n, dtype=int)
    for parent, child in edges:
        step[child, parent] = 1
    for _ in range(n):
        step = (step @ step > 0).astype(int)
    return step > 0


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_are_closed_as_by_products(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    number = rng.permutation(n)  # edges lead from any number to any
    pairs = [sorted(rng.integers(0, n, 2)) for _ in range(3 * n)]
    edges = tuple(dict.fromkeys((int(number[a]), int(number[b])) for a, b in pairs if a < b))
    hierarchy, above = Hierarchy(n, edges), reachable(n, edges)
    Y, p = (rng.random((6, n)) < 0.2).astype(int), rng.random((6, n))
    closed = hierarchy.close(Y)
    np.testing.assert_array_equal(closed.toarray(), Y @ above > 0)
    assert (closed.dtype, closed.has_sorted_indices) == (np.uint8, True)
    np.testing.assert_array_equal(hierarchy.close(sparse.csr_matrix(Y)).toarray(), closed.toarray())
    np.testing.assert_array_equal(hierarchy.raise_parents(p), np.where(above, p[:, :, None], 0).max(1))
    system = RuleSystem.of(hierarchy, range(n))
    np.testing.assert_array_equal(nearest(system, Y, p), closed.toarray())
    np.testing.assert_array_equal(legal_marginals(system, p), hierarchy.raise_parents(p))
    known = np.where(rng.random((6, n)) < 0.3, closed.toarray(), np.nan)  # of closed sets, so that nothing contradicts
    told = follow(system, known)
    there, absent = (np.nan_to_num(known) @ above > 0), ((known == 0) @ above.T > 0)
    np.testing.assert_array_equal(told, np.where(there, 1, np.where(absent, 0, known)))


def test_many_rows_are_closed_block_by_block(monkeypatch):
    tree = Hierarchy(3, ((0, 1), (1, 2)))
    Y = np.random.default_rng(0).integers(0, 2, (7, 3))
    whole = tree.close(Y)
    monkeypatch.setattr("enstruct.data.hierarchy.MOST_CELLS", 6)
    assert (tree.close(Y) != whole).nnz == 0
    assert tree.close(Y[:0]).shape == (0, 3)


def test_a_long_chain_is_closed_at_once():
    n = 20_000
    chain = Hierarchy(n, tuple((i, i + 1) for i in range(n - 1)))
    Y = sparse.csr_matrix((np.ones(2, np.uint8), ([0, 2], [n - 1, 9])), shape=(3, n))
    start = time.perf_counter()
    assert np.diff(chain.close(Y).indptr).tolist() == [n, 0, 10]
    assert chain.raise_parents(np.eye(1, n, n - 1)).sum() == n
    assert time.perf_counter() - start < 5


def test_a_label_beside_itself_and_no_edges():
    np.testing.assert_array_equal(Hierarchy(2, ((0, 0), (0, 1))).close([[0, 1], [0, 0]]).toarray(), [[1, 1], [0, 0]])
    np.testing.assert_array_equal(Hierarchy(2, ()).close([[0, 1]]).toarray(), [[0, 1]])
    assert Hierarchy(0, ()).close(np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        (Hierarchy(3, ((0, 1), (1, 2), (2, 1))), "contains a cycle: [12] above [12] above [12]"),
        (
            Hierarchy(3, (("sky", "beach"),)),
            r"goes by label numbers, and has the edge \('sky', 'beach'\): for names give Implies",
        ),
        (Hierarchy(3, ((0, 3),)), r"the edge \(0, 3\), and labels 0 to 2"),
        (Hierarchy(2, ((0, 1),)), "Y has 3 labels, the hierarchy 2"),
    ],
)
def test_what_cannot_be_closed(hierarchy, message):
    with pytest.raises(DataError, match=message):
        hierarchy.close(np.eye(3, dtype=int))
