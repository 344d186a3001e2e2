"""Choosing a rule inside the validation rows."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.decisions.choose import FAVOURITE, RULES, Comparison, cross_validate, fit_rule, make_rule
from enstruct.errors import ConfigError
from enstruct.metrics import rowwise_f1


def test_cross_validation_scores_every_rule_on_rows_it_was_not_fitted_on():
    rng = np.random.default_rng(0)
    p = rng.random((200, 6)) ** 2
    y = (rng.random((200, 6)) < p).astype(int)
    names = [name for name in RULES if name != "bayes-risk"]
    compared = cross_validate(names, p, y)
    assert set(compared.scores) == set(names)
    for name in names:
        other_half = {
            half: fit_rule(make_rule(name), p[1 - half :: 2], sparse.csr_matrix(y[1 - half :: 2]), "example-f1", None)
            for half in (0, 1)
        }
        expected = np.empty(200)
        for half, rule in other_half.items():
            expected[half::2] = rowwise_f1(y[half::2], rule.predict(p[half::2]))
        assert compared.f1[name] == pytest.approx(expected)
        assert compared.scores[name] == pytest.approx(expected.mean())
    on_its_own_rows = fit_rule(make_rule("per-label"), p, sparse.csr_matrix(y), "example-f1", None)
    assert rowwise_f1(y, on_its_own_rows.predict(p)).mean() > compared.scores["per-label"]  # which is what folds are for


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


@pytest.mark.parametrize("name", [name for name in RULES if name != "bayes-risk"])
@pytest.mark.parametrize("metric", ["example-f1", "macro-f1"])
def test_a_rule_fitted_to_weighted_rows_is_that_of_repeated_rows(name, metric):
    rng = np.random.default_rng(3)
    p, weight = rng.random((60, 6)), rng.integers(0, 4, 60)
    y = sparse.csr_matrix((rng.random((60, 6)) < p).astype(np.uint8))
    again = np.repeat(np.arange(60), weight)
    weighted = fit_rule(make_rule(name), p, y, metric, None, weight.astype(float))
    repeated = fit_rule(make_rule(name), p[again], y[again], metric, None)
    assert (weighted.predict(p) != repeated.predict(p)).nnz == 0


def test_weights_count_in_the_choice():
    """Thresholds serve the many rows, one label serves the eight that weigh the most."""
    rng = np.random.default_rng(0)
    p = rng.random((40, 5))
    y = (p > 0.3).astype(np.uint8)
    y[:8] = np.eye(5, dtype=np.uint8)[p[:8].argmax(1)]
    weight = np.where(np.arange(40) < 8, 1e4, 1.0)
    plain, heavy = (cross_validate(("threshold", "top-k"), p, sparse.csr_matrix(y), weight=w) for w in (None, weight))
    assert (plain.best(), heavy.best()) == ("threshold", "top-k")
    assert heavy.scores["top-k"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("errors", "chosen"), [(0.95, FAVOURITE), (1.05, "threshold")])
def test_the_favourite_gives_way_to_a_lead_of_more_than_one_standard_error(errors, chosen):
    spread = np.tile([-0.2, 0.2], 25)
    error = np.std(spread, ddof=1) / np.sqrt(len(spread))
    lead = spread + errors * error
    assert Comparison({FAVOURITE: 0.5, "threshold": 0.6}, {FAVOURITE: np.zeros(50), "threshold": lead}).best() == chosen
    # weights are proportions
    heavy = Comparison({FAVOURITE: 0.5, "threshold": 0.6}, {FAVOURITE: np.zeros(50), "threshold": lead}, np.full(50, 2.0))
    assert heavy.best() == chosen
