"""The rows of one seed."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.data.splits import Splits
from enstruct.errors import DataError
from enstruct_bench.joint.table import table_of

Y = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 1]])


def splits(form):
    def part(rows):
        X = form(np.arange(5.0)[rows, None])
        return Dataset(X, sparse.csr_matrix(Y[rows]), ("x",), ("a", "b", "c"))

    return Splits(part(slice(0, 3)), part(slice(3, 4)), part(slice(4, 5)))


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_validation_rows_come_after_training_rows_and_labels_that_do_not_vary_go(form):
    table = table_of(splits(form))
    assert table.Y.tolist() == [[1, 0], [0, 0], [1, 1], [0, 1]]
    assert table.held.tolist() == [3]
    assert table.training.tolist() == [0, 1, 2]
    X = table.X.toarray() if sparse.issparse(table.X) else table.X
    assert X.ravel().tolist() == [0, 1, 2, 3]
    assert table.Y_test.tolist() == [[1, 0]]


def test_one_label_that_varies_is_too_few():
    one = splits(np.array)
    part = Dataset(one.train.X[:2], one.train.Y[:2], ("x",), ("a", "b", "c"))
    with pytest.raises(DataError, match="1 labels vary"):
        table_of(Splits(part, one.validation, one.test))
