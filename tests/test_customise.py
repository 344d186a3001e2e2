"""Columns of a row changed by name."""

import numpy as np
import pytest
import torch

from enstruct.methods.columns import customise, idle_settings
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.hypergradients import Unrolled
from enstruct.methods import METHODS


def test_customise():
    row = customise(METHODS["seal-nce"], n_samples=7, energy_weight=0.3, energy_steps=2, update_first="predictor")
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


OTHER = {
    **{"energy_weight": 0.7, "warmup": 3, "anchor_weight": 0.5, "energy_learning_rate": 0.3, "energy_clip": 0.01, "n_samples": 3},
    **{"energy_steps": 2, "update_first": "predictor", "negatives": "samples", "cost": "squared", "hypergradient": "unrolled"},
    **{"sample_gradient": "concrete", "energy_network": EnergySpec(units=3), "bayes_risk_samples": 2, "hidden": 3},
    **{"supervised_weight": 0.3, "supervised": "ranking", "entropy_weight": 0.1, "predictor_steps": 2, "rounds_per_batch": 2, "layers": 1},
    **{
        "nonlinearity": "relu",
        "encoder": torch.nn.Linear(1, 1),
        "dropout": 0.1,
        "learning_rate": 0.3,
        "weight_decay": 0.1,
        "clip": 0.01,
    },
    **{"batch_size": 7, "optimizer": "sgd", "max_epochs": 1, "n_iter_no_change": 1, "tol": 0.1, "monitor": "fixed"},
    "learn_constant": True,
}
USED = ("energy_weight", "warmup", "energy_learning_rate", "energy_clip", "n_samples", "energy_steps", "update_first", "energy_network")


@pytest.mark.parametrize("method", ["cross-entropy", "binary-relevance", "extra-trees", "dvn", "spen", "mlp", "crf"])
def test_idle_settings_change_nothing(method, blocks):
    few = blocks.X[:80], blocks.Y[:80]

    def answers(**changes):
        model = EnergyMultiLabelClassifier(method, **{"max_epochs": 2, "hidden": 8, "random_state": 0, **changes})
        return model.fit(*few).predict_proba(few[0])

    as_it_is = answers()
    for name in idle_settings(METHODS[method]):
        np.testing.assert_array_equal(answers(**{name: OTHER[name]}), as_it_is, err_msg=name)


def test_what_a_method_sets_itself_is_idle():
    assert {"hidden", "layers", "nonlinearity"} <= idle_settings(METHODS["mlp"])
    assert {"hidden", "layers", "dropout"} <= idle_settings(METHODS["crf"])
    assert "learning_rate" not in idle_settings(METHODS["dvn"])  # its energy's follows it where none is given


def test_what_an_energy_method_uses_is_not_idle(blocks):
    assert not idle_settings(METHODS["seal-nce"])
    few = blocks.X[:80], blocks.Y[:80]

    def answers(**changes):
        model = EnergyMultiLabelClassifier("seal-nce", **{"max_epochs": 3, "hidden": 8, "random_state": 0, **changes})
        return model.fit(*few).predict_proba(few[0])

    as_it_is = answers()
    for name in USED:
        assert (answers(**{name: OTHER[name]}) != as_it_is).any(), name
