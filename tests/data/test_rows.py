"""Label matrices: what is one, and what is not."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.errors import DataError
from enstruct.metrics import get_metric

Y = np.array([[1, 0, 0], [0, 1, 1]])


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32, np.bool_])
def test_zeros_and_ones_of_any_kind_are_label_matrices(kind):
    for matrix in (Y.astype(kind), sparse.csr_matrix(Y.astype(kind)), sparse.csc_matrix(Y.astype(kind)), Y.astype(kind).tolist()):
        made = as_indicator(matrix)
        assert (made.dtype, made.nnz) == (np.uint8, 3)
        assert np.array_equal(made.toarray(), Y)
    assert as_indicator(made) is made


def test_stored_zeros_are_taken_out():
    stored = sparse.csr_matrix(Y.astype(np.uint8))
    stored.data[0] = 0
    assert as_indicator(stored).nnz == 2


@pytest.mark.parametrize("odd", [np.nan, 0.7, -1, 256, 2])
def test_other_numbers_are_refused(odd):
    wrong = Y.astype(float)
    wrong[0, 2] = odd
    for matrix in (wrong, sparse.csr_matrix(wrong)):
        with pytest.raises(DataError, match=f"has the value {odd:g}, and its cells are 0 or 1"):
            as_indicator(matrix)
    with pytest.raises(DataError, match="by a decision rule"):
        get_metric("example-f1")(Y, wrong)
