"""The method table as data."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from enstruct.errors import ConfigError
from enstruct.methods import METHODS, TOGETHER, Method, get_method
from enstruct.negatives import CostAugmentedNet, PerturbedSamples, PredictorPoint, PredictorSamples, UnrolledIterates
from enstruct.objectives import NCE, Density


def test_the_guide_names_every_row():
    text = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    paragraph = text[text.index("\nMethods: ") : text.index("Each is a row of a table")]
    assert set(re.findall(r"`([^`]+)`", paragraph)) == set(METHODS)


def test_densities_for_decoding():
    dense = {name for name, method in METHODS.items() if method.density is not Density.NONE}
    assert dense == {"nce", "conditional-nce", "pl", "seal-nce", "seal-ranking", "seal-pl", "seal-static-nce", "gspen"}


@pytest.mark.parametrize(
    "negatives", [PredictorPoint(), PerturbedSamples(), PredictorSamples(5, spread=3.0), PredictorSamples(5, "concrete")]
)
def test_ranking_other_candidates_than_the_predictors_own_estimates_no_density_to_decode_by(negatives):
    """What exp(-E) is relative to is what the candidates are drawn from."""
    assert replace(METHODS["seal-ranking"], negatives=negatives).density is Density.NONE
    assert replace(METHODS["seal-ranking"], negatives=PredictorSamples(5, "straight-through")).relative


@pytest.mark.parametrize(
    ("method", "negatives"),
    [
        ("infnet+", PredictorPoint()),
        ("infnet+", PredictorSamples()),
        ("infnet+", CostAugmentedNet("shared")),
        ("spen-e2e", PredictorSamples()),
        ("spen-e2e", UnrolledIterates(detached=True)),
        ("pl", PredictorSamples()),
        ("conditional-nce", PredictorSamples()),
    ],
)
def test_objectives_about_answers_refuse_other_candidates(method, negatives):
    with pytest.raises(
        ConfigError, match=r"it needs (CostAugmentedNet\(with_predictor=True\)|UnrolledIterates|LabelFlips|ConditionalSamples)"
    ):
        replace(METHODS[method], negatives=negatives)


def test_entropy_without_an_energy_is_refused():
    with pytest.raises(ConfigError, match="entropy_weight belongs to the game"):
        replace(METHODS["seal-nce"].predictor_loss, energy_weight=0.0, entropy_weight=0.1)


def test_a_row_nobody_published_works_and_an_impossible_one_is_refused():
    assert replace(METHODS["seal-margin"], negatives=PredictorSamples(5)).has_energy
    with pytest.raises(ConfigError, match="log-probabilities"):
        replace(METHODS["seal-nce"], negatives=PredictorPoint())
    with pytest.raises(ConfigError, match="needs an objective"):
        Method("mine", objective=NCE, stages=TOGETHER)


def test_nearest_method_is_named():
    with pytest.raises(ConfigError, match="Did you mean 'seal-ranking'"):
        get_method("seal-rankin")


def test_gspen_answers_as_it_learns():
    """Its free energy and its answers at one temperature, from unaries that were trained before."""
    row = METHODS["gspen"]
    assert row.inference.temperature == row.negatives.inference.temperature == 1.0
    assert row.inference.rule == row.negatives.inference.rule
    assert row.stages[-1].transplant
    assert not row.stages[-1].predictor


@pytest.mark.parametrize(
    ("column", "value"),
    [("objective", True), ("objective", "nce"), ("stages", "1"), ("stages", ()), ("stages", [1]), ("inference", 3)],
)
def test_columns_of_another_kind_are_refused(column, value):
    with pytest.raises(ConfigError, match=f"{column} must be"):
        METHODS["spen"].with_(**{column: value})
