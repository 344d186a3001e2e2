"""The method table as data."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from enstruct.errors import ConfigError
from enstruct.methods import METHODS, TOGETHER, Method, customise, get_method
from enstruct.negatives import PredictorPoint, PredictorSamples
from enstruct.objectives import NCE, Density


def test_the_readme_names_every_row():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    paragraph = text[text.index("\nMethods: ") : text.index("Each is a row of the table")]
    assert set(re.findall(r"`([^`]+)`", paragraph)) == set(METHODS)


def test_densities_for_decoding():
    dense = {name for name, method in METHODS.items() if method.density is not Density.NONE}
    assert dense == {"nce", "seal-nce", "seal-ranking", "seal-static-nce"}


def test_a_row_nobody_published_works_and_an_impossible_one_is_refused():
    assert replace(METHODS["seal-margin"], negatives=PredictorSamples(5)).has_energy
    with pytest.raises(ConfigError, match="log-probabilities"):
        replace(METHODS["seal-nce"], negatives=PredictorPoint())
    with pytest.raises(ConfigError, match="needs an objective"):
        Method("mine", objective=NCE, stages=TOGETHER)


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
    ],
)
def test_bad_changes(changes, message):
    with pytest.raises(ConfigError, match=message):
        customise(METHODS["seal-margin"], **changes)


def test_nearest_method_is_named():
    with pytest.raises(ConfigError, match="Did you mean 'seal-ranking'"):
        get_method("seal-rankin")
