"""What sides make of holes."""

from dataclasses import replace

import numpy as np
import pytest
from bench.tests.holes.generated import copies

from enstruct.errors import ConfigError
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.holes.figures import count
from enstruct_bench.holes.sides import SIDES, Side, check, fitted
from enstruct_bench.holes.table import half_told, split_at_random, table_with_holes
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.told import nothing_told


@pytest.fixture(scope="module")
def table():
    return table_with_holes(split_at_random(copies(200), 0), 0, 0.5)


@pytest.mark.parametrize("name", SIDES)
def test_who_takes_what_is_told(name, table, fast):
    side = fitted(name, Estimators(table, 0))
    untold = side.answer(table.X_test, nothing_told(*table.Y_test.shape))
    told = side.answer(table.X_test, half_told(table.Y_test, 0))
    assert told.shape == table.Y_test.shape
    assert ((untold >= 0) & (untold <= 1)).all()
    assert (told != untold).any() == (name in ("joint", "masked-network"))
    assert ((untold > 0.5) == table.Y_test).mean() > 0.55  # holes are no absent labels: all have learnt something


@pytest.mark.parametrize("name", ["masked-bce", "masked-network", "linear"])
def test_no_side_looks_at_what_stands_in_test_rows(name, table, fast):
    answers = []
    for Y_test in (table.Y_test, 1 - table.Y_test):
        side = fitted(name, Estimators(replace(table, Y_test=Y_test), 0))
        answers.append(side.answer(table.X_test, nothing_told(*Y_test.shape)))
    assert (answers[0] == answers[1]).all()


def test_told_and_unobserved_cells_are_never_counted(table):
    Y = table.Y_test.copy()
    Y[::3, 1] = np.nan
    told = half_told(Y, 0)

    def counted(wrong):
        """By a side that is sure of the truth, but of the cells that are ``wrong``."""
        p = np.where(wrong, 1 - np.nan_to_num(Y), np.nan_to_num(Y))
        cell = Cell({}, {})
        count(Side(lambda X, known: p, 0.0, {}), replace(table, Y_test=Y), 0, cell)
        return cell.rows

    right, of_told, of_holes = (counted(each) for each in (np.zeros(Y.shape, bool), ~np.isnan(told), np.isnan(Y)))
    for figure in ("loss@0.5", "average_precision@0.5", "roc_auc@0.5"):
        assert np.array_equal(right[figure].above, of_told[figure].above)
    for figure, counts in right.items():
        assert np.array_equal(counts.above, of_holes[figure].above)
        assert np.array_equal(counts.below, of_holes[figure].below)
    assert (right["loss@0"].above != of_told["loss@0"].above).any()
    assert (right["loss@0"].below.ravel() == (~np.isnan(Y)).sum(1)).all()


def test_names_of_sides():
    with pytest.raises(ConfigError, match="masked-bce"):
        check("masked-bec")
