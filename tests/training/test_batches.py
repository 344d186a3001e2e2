"""Batches of label sets hold what their rows do, however the table of labels is kept."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct.data.rows import Rows
from enstruct.training import batches as module
from enstruct.training.batches import batches, shuffled


@pytest.mark.parametrize("dense", [0, 2**24])
def test_labels_cut_from_an_array_are_those_cut_from_csr_rows(dense, blocks, monkeypatch):
    monkeypatch.setattr(module, "DENSE", dense)
    rows = Rows(blocks.X, blocks.Y, np.arange(len(blocks.X), dtype=float))
    order = shuffled(rows.X, 32)
    cut = []
    monkeypatch.setattr(Rows, "take", lambda self, index, take=Rows.take: cut.append(take(self, index)) or cut[-1])
    made = list(batches(rows, 32, order))
    assert {sparse.issparse(part.Y) for part in cut} == {dense == 0}
    for batch, index in zip(made, order, strict=True):
        assert batch.y.dtype == torch.float32
        np.testing.assert_array_equal(batch.y.numpy(), blocks.Y[index].toarray())
        np.testing.assert_array_equal(batch.weight.numpy(), index)
    assert sparse.issparse(rows.Y)  # the caller's table stays as it is
