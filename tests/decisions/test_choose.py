"""Choosing a rule inside the validation rows."""

import numpy as np
import pytest

from enstruct.decisions.choose import RULES, Comparison, cross_validate, make_rule
from enstruct.errors import ConfigError


def test_cross_validation_scores_every_rule_on_rows_it_was_not_fitted_on():
    rng = np.random.default_rng(0)
    p = rng.random((200, 6)) ** 2
    y = (rng.random((200, 6)) < p).astype(int)
    names = [name for name in RULES if name != "bayes-risk"]
    compared = cross_validate(names, p, y)
    assert set(compared.scores) == set(names)
    for name in names:
        assert compared.scores[name] == pytest.approx(compared.f1[name].mean())
    assert compared.scores["expected-f1"] > compared.scores["fixed"]


def test_a_small_lead_over_expected_f1_does_not_count():
    rng = np.random.default_rng(0)
    base = rng.random(100)
    noise = rng.normal(size=100)
    noise -= noise.mean()
    close = Comparison(
        {"threshold": base.mean() + 0.001, "expected-f1": base.mean()}, {"threshold": base + 0.001 + noise, "expected-f1": base}
    )
    assert close.best() == "expected-f1"
    clear = Comparison(
        {"threshold": base.mean() + 0.5, "expected-f1": base.mean()}, {"threshold": base + 0.5, "expected-f1": base}
    )
    assert clear.best() == "threshold"


def test_other_metrics_take_the_best_and_break_ties_towards_the_simpler():
    assert Comparison({"per-label": 0.7, "threshold": 0.7, "top-k": 0.6}, {}).best() == "threshold"


def test_unknown_rule():
    with pytest.raises(ConfigError, match="Did you mean 'threshold'"):
        make_rule("treshold")
