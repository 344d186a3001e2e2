"""Joint probabilities label after label, of a model whose answers are those of a planted joint."""

import itertools

import numpy as np
import pytest

from enstruct_bench.joint.in_order import log_probability_in_order
from enstruct_bench.joint.sides import Marginal

SETS = np.array(list(itertools.product([0, 1], repeat=5)))
P = np.random.default_rng(0).dirichlet(np.ones(32))


class Exact(Marginal):
    def marginals(self, X, known):
        weight = P * np.where(np.isnan(known)[:, None], True, known[:, None] == SETS).all(2)
        return weight @ SETS / weight.sum(1, keepdims=True)


def test_every_order_gives_the_joint():
    for seed in (0, 1):
        value, _ = log_probability_in_order(Exact(), None, SETS, seed)
        likely = P > 2e-3  # cells are kept 1e-4 from certainty
        assert value[likely] == pytest.approx(np.log(P[likely]), abs=0.02)


def test_some_places_stand_for_all():
    truth = SETS[np.random.default_rng(1).choice(32, 4000, p=P)]
    estimates = [log_probability_in_order(Exact(), None, truth, seed, places=2).value.mean() for seed in range(12)]
    assert np.mean(estimates) == pytest.approx(P @ np.log(P), abs=0.12)
