"""The Gaussian copula against rectangles of the multivariate normal."""

import itertools

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

from enstruct_bench.joint.copula import Copula, correlations, pair_correlation, shrunk

R = np.array([[1, 0.6, -0.3], [0.6, 1, 0.1], [-0.3, 0.1, 1]])
P = np.array([[0.3, 0.6, 0.2], [0.8, 0.5, 0.4]])
SETS = np.array(list(itertools.product([0, 1], repeat=3)))


def probabilities(p):
    """(8,) of all label sets, by scipy's rectangles."""
    u = ndtri(p)
    return np.array([multivariate_normal(cov=R * np.outer(s, s)).cdf(s * u) for s in 2 * SETS - 1])


def test_log_probabilities_are_those_of_rectangles_within_their_errors():
    for p in P:
        exact = probabilities(p)
        value, error = Copula(R).log_probability(np.tile(p, (8, 1)), SETS, draws=4000)
        assert exact.sum() == pytest.approx(1, abs=1e-4)
        assert (np.abs(value - np.log(exact)) < 4 * error).all()
        assert (error < 0.02).all()
        assert (error > 0).all()  # all within four errors, which are themselves small


def test_conditionals_are_those_of_enumeration():
    known = np.array([[1, np.nan, np.nan], [np.nan, 0, 1]])
    answers = Copula(R).conditionals(P, known, sweeps=400, chains=16)
    for p, told, answer in zip(P, known, answers, strict=True):
        weight = probabilities(p) * np.where(np.isnan(told), True, told == SETS).all(1)
        asked = np.isnan(told)
        assert answer[asked] == pytest.approx((weight @ SETS / weight.sum())[asked], abs=0.01)
    nothing = np.full((2, 3), np.nan)
    assert (Copula(R).conditionals(P, nothing) == P).all()


def test_draws_have_the_marginals_and_the_pairs():
    drawn = Copula(R).draw(P[:1], 40_000)[0]
    assert drawn.mean(0) == pytest.approx(P[0], abs=0.01)
    exact = probabilities(P[0])
    assert (drawn[:, 0] & drawn[:, 1]).mean() == pytest.approx(exact[SETS[:, :2].all(1)].sum(), abs=0.01)


@pytest.mark.parametrize("planted", [-0.7, 0.0, 0.5])
def test_planted_correlations_are_recovered(planted):
    rng = np.random.default_rng(1)
    n = 4000
    e = rng.multivariate_normal([0, 0], [[1, planted], [planted, 1]], n)
    u = rng.normal(0, 0.8, (n, 2))
    Y = u + e > 0
    assert pair_correlation(u[:, 0], u[:, 1], Y[:, 0], Y[:, 1]) == pytest.approx(planted, abs=0.06)
    assert correlations(ndtr(u), Y)[0, 1] == pytest.approx(planted, abs=0.06)


def test_many_labels_take_one_step_of_scoring(monkeypatch):
    monkeypatch.setattr("enstruct_bench.joint.copula.MOST_EXACT", 1)
    rng = np.random.default_rng(2)
    e = rng.multivariate_normal([0, 0], [[1, 0.2], [0.2, 1]], 6000)
    u = rng.normal(0, 0.5, (6000, 2))
    assert correlations(ndtr(u), u + e > 0)[0, 1] == pytest.approx(0.2, abs=0.05)


def test_shrunk_correlations_are_correlations():
    impossible = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    for share in (0.0, 0.5):
        made = shrunk(impossible, share)
        assert np.diag(made) == pytest.approx(np.ones(3))
        assert np.linalg.eigvalsh(made).min() > 0
    assert shrunk(impossible, 1.0) == pytest.approx(np.eye(3))
