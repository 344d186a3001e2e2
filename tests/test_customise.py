"""Columns of a row changed by name."""

import pytest

from enstruct.customise import customise
from enstruct.errors import ConfigError
from enstruct.hypergradients import Unrolled
from enstruct.methods import METHODS


def test_customise():
    row = customise(METHODS["seal-nce"], n_samples=7, energy_weight=0.3, energy_steps=2, first="predictor")
    assert (row.negatives.n, row.predictor_loss.energy_weight) == (7, 0.3)
    assert (row.coupling.energy_steps, row.coupling.first) == (2, "predictor")
    assert customise(METHODS["seal-nce"]) == METHODS["seal-nce"]
    assert customise(METHODS["cross-entropy"], n_samples=3, energy_weight=9.0) == METHODS["cross-entropy"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"negatives": "smaples"}, "Did you mean 'samples'"),
        ({"negatives": "point", "n_samples": 3}, "one candidate"),
        ({"energy_weight": -1.0}, "non-negative"),
        ({"supervised": "rank"}, "ranking"),
        ({"no_such": 1}, "Unknown method setting"),
        ({"energy_wieght": 2.0}, "Did you mean 'energy_weight'"),
    ],
)
def test_bad_changes(changes, message):
    with pytest.raises(ConfigError, match=message):
        customise(METHODS["seal-margin"], **changes)


def test_a_named_coupling_keeps_the_rows_numbers_of_steps():
    row = customise(customise(METHODS["implicit-cd"], predictor_steps=4), hypergradient="unrolled")
    assert row.coupling == Unrolled(predictor_steps=4)
