"""Splits, missing cells, descriptions, the generator, the catalogue."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.data.dataset import Dataset, drop_empty_rows, same_columns
from enstruct.data.describe import describe, near_duplicates
from enstruct.data.impute import fill_missing, training_means
from enstruct.data.load import load_splits
from enstruct.data.npz import write_npz
from enstruct.data.splits import Splits, holdout, split_60_20_20, stratified_folds
from enstruct.data.synthetic import block_exclusive
from enstruct.errors import ConfigError, DataError


def test_split_is_60_20_20_stratified_disjoint_and_repeatable(blocks):
    splits = split_60_20_20(blocks, seed=3)
    sizes = [len(part) for part in splits.parts().values()]
    assert sum(sizes) == 300
    np.testing.assert_allclose(np.array(sizes) / 300, [0.6, 0.2, 0.2], atol=0.03)
    keys = [{row.tobytes() for row in part.X} for part in splits.parts().values()]
    assert not keys[0] & keys[1]
    assert not keys[0] & keys[2]
    rates = [np.asarray(part.Y.mean(0)).ravel() for part in splits.parts().values()]
    rng, y = np.random.default_rng(0), blocks.Y.toarray()
    orders = [rng.permutation(300) for _ in range(50)]
    by_chance = np.mean([np.abs(y[o[:180]].mean(0) - y[o[240:]].mean(0)).mean() for o in orders])
    assert np.abs(rates[0] - rates[2]).mean() < 0.7 * by_chance
    again = split_60_20_20(blocks, seed=3)
    assert np.array_equal(again.test.X, splits.test.X)
    assert not np.array_equal(split_60_20_20(blocks, seed=4).test.X, splits.test.X)
    with pytest.raises(DataError, match="at least 10"):
        split_60_20_20(blocks.take(np.arange(5)))


def test_holdout_with_few_and_with_many_labels(blocks):
    for Y in (blocks.Y, sparse.csr_matrix((300, 1500), dtype=np.uint8)):
        train, validation = holdout(Y, 0.2, seed=0)
        assert sorted([*train, *validation]) == list(range(300))
        assert 50 <= len(validation) <= 70


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_missing_cells_get_training_means(form, caplog):
    X = np.array([[1.0, np.nan, 0.0], [3.0, 4.0, np.nan], [0.0, np.nan, np.nan]])
    means = training_means(form(X))
    np.testing.assert_allclose(means, [4 / 3, 4.0, 0.0])
    filled = fill_missing(form(X), means)
    filled = filled.toarray() if sparse.issparse(filled) else filled
    np.testing.assert_allclose(filled, np.where(np.isnan(X), means, X))
    assert np.isnan(X).sum() == 4  # the input is not changed
    assert not caplog.records
    np.testing.assert_array_equal(training_means(form(np.full((2, 3), [1.0, np.nan, 1.0]))), [1.0, 0.0, 1.0])
    assert "features without a value in any training row are 0: 1 of 3, first [1]" in caplog.text
    with pytest.raises(DataError, match="stored means"):
        fill_missing(form(X), means[:2])


def test_describe_counts_what_the_field_counts():
    Y = sparse.csr_matrix(np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0]]))
    data = Dataset(np.array([[1.0, 0], [np.nan, 0], [1, 1], [1, 1]]), Y, ("a", "b"), tuple("vwxyz"))
    figures = describe(data)
    expected = {
        "rows": 4,
        "features": 2,
        "labels": 5,
        "missing cells": 1,
        "cardinality": 1.25,
        "density": 0.25,
        "distinct label sets": 3,
        "unused labels": 2,
        "labels seen once": 1,
        "singleton-only labels": 1,
    }
    assert {key: figures[key] for key in expected} == expected


def test_near_duplicates_across_parts_are_found():
    a, b, c = (block_exclusive(30, seed=s) for s in (1, 2, 3))
    c.X[4] = a.X[7] + 1e-4
    pairs = near_duplicates(Splits(a, b, c))
    assert [row["near-duplicates"] for row in pairs] == [0, 1, 0]
    assert pairs[1]["first (row, train row)"] == [(4, 7)]


def test_blocks_are_exclusive_and_share_one_task():
    data = block_exclusive(50, seed=1)
    assert (data.Y.toarray().reshape(50, 4, 4).sum(2) == 1).all()
    assert not np.array_equal(data.X, block_exclusive(50, seed=2).X)
    assert np.array_equal(data.X, block_exclusive(50, seed=1).X)
    with pytest.raises(ConfigError):
        block_exclusive(0)


def test_same_columns_names_the_first_difference(blocks):
    other = Dataset(blocks.X, blocks.Y, blocks.feature_names, ("other", *blocks.label_names[1:]), name="b.arff")
    with pytest.raises(DataError, match=r"label 0 is 'other' in 'b.arff'"):
        same_columns(blocks, other)


def test_a_users_file_is_split_and_empty_rows_leave(tmp_path, blocks):
    Y = blocks.Y.toarray()
    Y[:30] = 0
    data = Dataset(blocks.X, sparse.csr_matrix(Y), blocks.feature_names, blocks.label_names)
    write_npz(tmp_path / "mine.npz", data)
    splits = load_splits(tmp_path / "mine.npz")
    assert sum(len(part) for part in splits.parts().values()) == 270 == len(drop_empty_rows(data))


def test_a_single_label_is_dealt_out_to_all_folds():
    Y = sparse.csr_matrix((np.arange(50) < 7).astype(int)[:, None])
    folds = stratified_folds(Y, 5, 0)
    assert sorted(np.concatenate(folds)) == list(range(50))
    assert sorted(int(Y[fold].sum()) for fold in folds) == [1, 1, 1, 2, 2]
    assert {len(fold) for fold in folds} == {10}
    assert any(not np.array_equal(a, b) for a, b in zip(folds, stratified_folds(Y, 5, 1), strict=True))


@pytest.fixture
def holed(blocks):
    """Rows 0 to 4 are holes alone, rows 5 and 6 have no label, and of the rest every seventh cell is one."""
    Y = blocks.Y.toarray()
    Y[5:7] = 0
    unknown = np.zeros(Y.shape, dtype=bool)
    unknown.ravel()[::7] = True
    unknown[:5], unknown[5] = True, False
    return Dataset(blocks.X, sparse.csr_matrix(Y * ~unknown), blocks.feature_names, blocks.label_names, unknown=unknown)


def test_splits_keep_what_is_unknown(tmp_path, holed):
    write_npz(tmp_path / "holes.npz", holed)
    splits = load_splits(tmp_path / "holes.npz", unknown_labels=True)
    told = {row.tobytes(): told for row, told in zip(holed.X, holed.told(), strict=True)}
    rows = [row for part in splits.parts().values() for row in zip(part.X, part.told(), strict=True)]
    assert len(rows) == len(holed) - 5  # rows whose known labels are all absent may have others, and stay
    for x, y in rows:
        np.testing.assert_array_equal(y, told[x.tobytes()])
    cells = np.isnan(holed.told()).sum()
    with pytest.raises(
        DataError, match=rf"'holes.npz': {cells} cells of labels are unknown \(first 'b0.0' of row 0.*--base auto"
    ):
        load_splits(tmp_path / "holes.npz")


def test_describe_counts_unknown_cells(blocks, holed):
    assert describe(holed)["unknown cells of labels"] == np.isnan(holed.told()).sum() > 700
    assert describe(blocks)["unknown cells of labels"] == 0


def test_tables_without_features_have_no_near_duplicates(blocks):
    bare = Dataset(blocks.X[:, :0], blocks.Y, (), blocks.label_names)
    assert near_duplicates(split_60_20_20(bare)) == []
