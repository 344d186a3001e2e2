"""Small tables are what they are said to be."""

import numpy as np
import pytest
from bench.tests.either import main

from enstruct_bench.joint.small_tables import STROKES, TABLES, digits, splits


@pytest.mark.parametrize("name", TABLES)
def test_each_row_is_in_one_part(name):
    X, Y = TABLES[name]()
    assert X.shape[0] == Y.shape[0] >= 170
    parts = splits(name, 0).parts().values()
    rows = np.vstack([np.hstack([part.X, part.Y.toarray()]) for part in parts])
    whole = np.hstack([X, Y])
    assert np.array_equal(rows[np.lexsort(rows.T)], whole[np.lexsort(whole.T)])
    assert (splits(name, 1).test.X != splits(name, 0).test.X).any()


def test_many_rows_have_no_label():
    for name in ("breast", "diabetes"):
        assert (splits(name, 0).train.Y.sum(1) == 0).mean() > 0.15


def test_a_digit_lights_its_strokes():
    _, Y = digits()
    assert [len(lit) for lit in STROKES] == [6, 2, 5, 5, 4, 5, 6, 3, 7, 6]
    assert len(np.unique(Y, axis=0)) == 10
    assert Y[0].tolist() == [True] * 6 + [False, True, False, False]  # a nought


def test_they_are_data_of_the_command(capsys):
    quick = ["--seeds", "1", "--parts", "told", "--methods", "base:binary-relevance"]
    assert main(["joint", "wine", *quick]) == 0
    assert "36 test rows" in capsys.readouterr().out
    assert main(["joint", "wine", "--labels", "3", *quick]) == 2
    assert "leave out --labels and --drop" in capsys.readouterr().err
