"""Columns of a row changed by name."""

import numpy as np
import pytest
from tests.configured import configured

from enstruct.errors import ConfigError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.hypergradients import Implicit, Unrolled
from enstruct.inference import Inference
from enstruct.methods import MASK_METHODS, METHODS, TAG_METHODS
from enstruct.methods.columns import COLUMNS
from enstruct.negatives import ConditionalSamples, LabelFlips
from enstruct.objectives import NCE


def test_a_row_with_other_columns():
    row = METHODS["seal-nce"].with_(n_samples=7, energy_weight=0.3, energy_steps=2, update_first="predictor", energy_rate=0.5)
    assert (row.negatives.n, row.predictor_loss.energy_weight, row.energy_rate) == (7, 0.3, 0.5)
    assert (row.coupling.energy_steps, row.coupling.update_first) == (2, "predictor")
    assert METHODS["seal-nce"].with_() == METHODS["seal-nce"]
    assert METHODS["seal-nce"].predictor_loss.energy_weight == 3.0  # a row is a value: the table keeps its own
    assert METHODS["cross-entropy"].with_(n_samples=3, energy_weight=9.0) == METHODS["cross-entropy"]


def test_whole_fields_are_columns_too():
    row = METHODS["seal-margin"].with_(negatives="samples", objective=NCE, coupling=Implicit(), name="mine")
    assert (row.name, row.objective, row.negatives.gradient) == ("mine", NCE, "straight-through")
    assert METHODS["nce"].with_(inference=Inference(steps=3)).inference.steps == 3
    assert METHODS["pl"].with_(n_samples=7).negatives == LabelFlips(7)
    assert METHODS["conditional-nce"].with_(negatives="conditional", n_samples=7).negatives == ConditionalSamples(7)


@pytest.mark.parametrize("table", [METHODS, TAG_METHODS, MASK_METHODS])
def test_columns_put_back_as_they_are_change_nothing(table):
    for row in table.values():
        columns = {name: value for name, value in row.columns.items() if value is not None}
        assert list(row.columns) == list(COLUMNS)
        assert row.with_(**{name: value for name, value in columns.items() if name != "sample_gradient"}) == row


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"negatives": "smaples"}, "Did you mean 'samples'"),
        ({"negatives": "point", "n_samples": 3}, "one candidate"),
        ({"energy_weight": -1.0}, "energy_weight must be at least 0"),
        ({"energy_weight": 0.0, "supervised_weight": 0.0}, "not both zero"),
        ({"supervised": "rank"}, "ranking"),
        ({"no_such": 1}, "no column of a method|Unknown column of a method"),
        ({"energy_wieght": 2.0}, "Did you mean 'energy_weight'"),
        ({"energy_clip": -1.0}, "energy_clip must be positive"),
        ({"validation_epochs": 1.5}, "validation_epochs must be a whole number"),
        ({"inference": Inference()}, "answers by its predictor"),
        ({"cost": "hamming"}, "cost"),
        ({"energy_units": 0}, "energy_units must be a whole number from 1"),
        ({"energy_nonlinearity": "rleu"}, "Did you mean 'relu'"),
    ],
)
def test_bad_changes(changes, message):
    with pytest.raises(ConfigError, match=message):
        METHODS["seal-margin"].with_(**changes)


def test_a_named_coupling_keeps_the_rows_numbers_of_steps():
    row = METHODS["implicit-cd"].with_(predictor_steps=4).with_(coupling="unrolled")
    assert row.coupling == Unrolled(predictor_steps=4)


OTHER = {
    **{"energy_weight": 0.7, "warmup": 3, "anchor_weight": 0.5, "energy_rate": 0.3, "energy_clip": 0.01, "n_samples": 3},
    **{"energy_steps": 2, "update_first": "predictor", "negatives": "samples", "cost": "squared", "coupling": "unrolled"},
    **{"sample_gradient": "concrete", "supervised_weight": 0.3, "supervised": "ranking", "entropy_weight": 0.1},
    **{"predictor_steps": 2, "rounds_per_batch": 2, "energy_as": "marginals"},
    **{"energy_units": 3, "energy_nonlinearity": "relu", "rule_weight": 0.5},
}
USED = (
    *("energy_weight", "warmup", "energy_rate", "energy_clip", "n_samples", "energy_steps", "update_first"),
    *("energy_units", "energy_nonlinearity"),
)


def answers(method, blocks, **changes):
    few = blocks.X[:80], blocks.Y[:80]
    model = configured(EnergyMultiLabelClassifier, method, max_epochs=3, hidden=8, decision="fixed", random_state=0, **changes)
    return model.fit(*few).predict_proba(few[0])


@pytest.mark.parametrize("method", ["cross-entropy", "binary-relevance", "extra-trees", "dvn", "spen", "mlp", "crf"])
@pytest.mark.usefixtures("quick_bases")
def test_idle_columns_change_nothing(method, blocks):
    as_it_is = answers(method, blocks)
    for name in METHODS[method].idle_columns():
        np.testing.assert_array_equal(answers(method, blocks, **{name: OTHER[name]}), as_it_is, err_msg=name)


def test_an_energy_measures_by_what_its_columns_say():
    row = METHODS["spen"].with_(energy_units=4, energy_nonlinearity="relu")
    assert row.energy == {"features": "copied", "units": 4, "nonlinearity": "relu"}
    assert (row.columns["energy_units"], row.columns["energy_nonlinearity"]) == (4, "relu")
    assert METHODS["gspen"].with_(energy_units=4) == METHODS["gspen"]  # its beliefs measure nothing


def test_what_an_energy_method_uses_is_not_idle(blocks):
    assert not METHODS["seal-nce"].idle_columns()
    as_it_is = answers("seal-nce", blocks)
    for name in USED:
        assert (answers("seal-nce", blocks, **{name: OTHER[name]}) != as_it_is).any(), name
