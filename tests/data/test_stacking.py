"""Blocks of rows put together, and lines put into blocks."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from enstruct.data import stacking
from enstruct.data.stacking import Stack, blocks


@pytest.mark.parametrize("sizes", [(3,), (2, 1, 4), (1, 1, 1, 1)])
def test_dense_and_sparse_blocks_are_what_numpy_and_scipy_stack(sizes):
    parts = [np.random.default_rng(k).integers(0, 3, (n, 4)).astype(float) for k, n in enumerate(sizes)]
    dense, few = Stack(), Stack()
    for part in parts:
        dense.add(part)
        few.add(sparse.csr_matrix(part))
    whole, compressed = dense.whole(), few.whole()
    assert np.array_equal(whole, np.vstack(parts))
    assert np.array_equal(compressed.toarray(), np.vstack(parts))
    compressed.check_format(full_check=True)
    assert dense.rows == len(whole)
    with pytest.raises(ValueError, match="no rows"):
        dense.whole()  # they were taken out


def test_putting_together_takes_no_second_copy():
    stack = Stack()
    for k in range(40):
        stack.add(np.full((1000, 100), float(k)))  # 0.8 MB each
    tracemalloc.start()
    try:
        stack.whole()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 34e6  # the whole, 32 MB: blocks that were made before do not count here


def test_lines_come_in_blocks_of_some_characters(monkeypatch):
    monkeypatch.setattr(stacking, "CHARACTERS", 6)
    lines = [(1, "abc"), (2, "de"), (3, ""), (4, "a line that is longer than a block"), (5, "z")]
    assert [*blocks(lines)] == [lines[:2], lines[2:4], lines[4:]]
    assert [*blocks([])] == []
