"""Small tables are what they are said to be."""

import numpy as np
import pytest

from enstruct_bench.joint.small_tables import STROKES, TABLES, digits, table_of


@pytest.mark.parametrize("name", TABLES)
def test_parts_share_no_row_and_labels_vary(name):
    X, Y = TABLES[name]()
    assert X.shape[0] == Y.shape[0] >= 170
    table = table_of(name, 0)
    assert len(table.Y) + len(table.Y_test) == len(X)
    assert len(np.unique(np.vstack([table.X, table.X_test]), axis=0)) == len(np.unique(np.asarray(X, dtype=np.float32), axis=0))
    share = table.Y[table.training].mean(0)
    assert ((share > 0) & (share < 1)).all()
    assert (table_of(name, 1).X_test != table.X_test).any()


def test_many_rows_have_no_label():
    for name in ("breast", "diabetes"):
        assert (TABLES[name]()[1].sum(1) == 0).mean() > 0.15


def test_a_digit_lights_its_strokes():
    _, Y = digits()
    assert [len(lit) for lit in STROKES] == [6, 2, 5, 5, 4, 5, 6, 3, 7, 6]
    assert len(np.unique(Y, axis=0)) == 10
    assert Y[0].tolist() == [True] * 6 + [False, True, False, False]  # a nought
