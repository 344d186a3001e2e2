"""The method table as data."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from enstruct.errors import ConfigError
from enstruct.methods import METHODS, TOGETHER, Method, get_method
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


def test_nearest_method_is_named():
    with pytest.raises(ConfigError, match="Did you mean 'seal-ranking'"):
        get_method("seal-rankin")
