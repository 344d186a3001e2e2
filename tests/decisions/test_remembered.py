"""Rows are decoded once under each setting, and answers are those of decoding what is asked at once."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.decisions import remembered
from enstruct.decisions.choose import Trial, fit_rule, make_rule
from enstruct.decisions.remembered import Remembered

RNG = np.random.default_rng(0)
P = RNG.random((60, 7)) ** 2
TRUTH = sparse.csr_matrix((RNG.random((60, 7)) < P).astype(np.uint8))


class Drawn:
    """Sets drawn by the marginals in X, weighed by the numbers of their labels; two rows a chunk."""

    def __init__(self):
        self.rows = 0

    def weigh(self, X):
        uniforms = np.random.default_rng(3).random((40, X.shape[1]))
        for start in range(0, len(X), 2):
            chunk = X[start : start + 2]
            self.rows += len(chunk)
            y = (uniforms[None] < chunk[:, None]).astype(np.uint8)
            yield sparse.csr_matrix(y.reshape(-1, X.shape[1])), 0.3 * y.sum(2).astype(float)


@pytest.mark.parametrize("few", [0, 60])
def test_rows_are_decoded_once_and_in_the_order_asked(few, monkeypatch):
    """Those that are wanted, or, of a small table, all at once."""
    monkeypatch.setattr(remembered, "FEW", few)
    asked = []

    def decode(settings, rows):
        asked.append((list(settings), rows.tolist()))
        return [sparse.csr_matrix((P[rows] > setting).astype(np.uint8)) for setting in settings]

    sets = Remembered(decode, P.shape)
    for settings, rows in (((0.2, 0.6), [5, 1, 3]), ((0.2,), [1, 2]), ((0.6, 0.9), [2, 5]), ((0.2, 0.6, 0.9), [2, 5])):
        for setting, found in zip(settings, sets.under(settings, np.array(rows)), strict=True):
            np.testing.assert_array_equal(found.toarray(), P[rows] > setting)
    every = list(range(60))
    whole, part = [([0.2, 0.6], every), ([0.9], every)], [([0.2, 0.6], [1, 3, 5]), ([0.2], [2]), ([0.6, 0.9], [2, 5])]
    assert asked == (whole if few else part)


@pytest.mark.parametrize("name", ["expected-f1", "bayes-risk", "threshold", "per-label"])
@pytest.mark.parametrize("metric", ["example-f1", "hamming"])
def test_a_trial_is_fits_and_answers_by_hand(name, metric):
    posterior = Drawn() if name == "bayes-risk" else None
    trial = Trial(name, P, TRUTH, metric, P, posterior, None)
    even, odd = np.arange(0, 60, 2), np.arange(1, 60, 2)
    by_hand = np.zeros(P.shape)
    for fit, test in ((odd, even), (even, odd)):
        rule = fit_rule(make_rule(name, Drawn()), P[fit], TRUTH[fit], metric, P[fit])
        by_hand[test] = rule.predict(P[test], P[test]).toarray()
    np.testing.assert_array_equal(trial.two_fold().toarray(), by_hand)
    whole, alone = trial.fitted(), fit_rule(make_rule(name, posterior), P, TRUTH, metric, P)
    for attribute, value in vars(alone).items():
        if attribute != "posterior":
            np.testing.assert_array_equal(getattr(whole, attribute), value)


def test_samples_are_drawn_once():
    posterior = Drawn()
    trial = Trial("bayes-risk", P, TRUTH, "example-f1", P, posterior, None)
    trial.two_fold()
    trial.fitted()
    assert posterior.rows == 60
