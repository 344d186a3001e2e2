"""Rows that stay in a file are what the matrix is, however they are cut and scaled."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import train_test_split

from enstruct.data import mapped
from enstruct.data.mapped import DenseStore, MappedRows, SparseStore

rng = np.random.default_rng(0)
DENSE = rng.normal(size=(40, 7)).astype(np.float32)
SPARSE = sparse.random(40, 7, 0.3, "csr", np.float32, rng=rng)
STORES = {
    "dense": (DENSE, DenseStore(DENSE)),
    "sparse": (SPARSE, SparseStore(SPARSE.data, SPARSE.indices.astype(np.int32), SPARSE.indptr.astype(np.int64), 7)),
}


def whole(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize(
    "index", [slice(5, 20), slice(None, None, -3), np.array([3, 3, 39, 0]), np.arange(40) % 2 == 0, slice(0, 0)]
)
def test_rows_by_any_index(kind, index):
    matrix, store = STORES[kind]
    rows = MappedRows(store)
    assert rows.shape == matrix.shape
    np.testing.assert_array_equal(whole(rows[index].read()), whole(matrix)[index])
    np.testing.assert_array_equal(whole(rows[5:][[1, 2]][::-1].read()), whole(matrix)[[7, 6]])


@pytest.mark.parametrize("index", [3, (slice(None), 1), [40], [-41], ["a"], np.zeros(3, bool)])
def test_what_cuts_no_rows(index):
    with pytest.raises(IndexError):
        MappedRows(STORES["dense"][1])[index]


def test_numbers_from_the_end_and_rows_that_pass_twice_are_pickled():
    rows = MappedRows(STORES["sparse"][1])
    np.testing.assert_array_equal(whole(rows[[-1, -40]].read()), whole(SPARSE)[[-1, 0]])
    twice = rows.passing(np.negative, 7).passing(abs, 7)
    np.testing.assert_array_equal(whole(pickle.loads(pickle.dumps(twice)).read()), abs(whole(SPARSE)))


@pytest.mark.parametrize("kind", STORES)
def test_blocks_are_all_rows_once(kind, monkeypatch):
    matrix, store = STORES[kind]
    monkeypatch.setattr(mapped, "CELLS", 12)
    blocks = [whole(block) for block in MappedRows(store)[::2].blocks()]
    assert len(blocks) > 3
    np.testing.assert_array_equal(np.concatenate(blocks), whole(matrix)[::2])


@pytest.mark.parametrize("kind", STORES)
def test_rows_pass_what_is_told_when_they_are_read(kind):
    matrix, store = STORES[kind]
    rows = MappedRows(store).passing(lambda X: X[:, [1, 2]] * 2, 2)[10:20]
    assert rows.shape == (10, 2)
    np.testing.assert_allclose(whole(rows.read()), 2 * whole(matrix)[10:20, 1:3])
    again = rows.passing(lambda X: X[:, [1]], 1)
    np.testing.assert_allclose(whole(again.read()), 2 * whole(matrix)[10:20, 2:3])


def test_scikit_learn_cuts_them_and_nobody_takes_them_for_an_array():
    rows = MappedRows(DenseStore(np.arange(40, dtype=np.float32).reshape(20, 2)))
    train, _ = train_test_split(rows, random_state=0)
    assert len(train) == 15
    assert train.read().shape == (15, 2)
    assert rows[[3, 1], ...].read().tolist() == [[6, 7], [2, 3]]
    for wrong in (np.asarray, list):
        with pytest.raises(TypeError, match=r"read\(\)"):
            wrong(rows)
