"""Labels given the others, by sides that stand on no base."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from enstruct_bench.joint import figures
from enstruct_bench.joint.chains import fit_ensemble
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.given_others import FOLDS, HELD, cross_fitted_given_others, given_others
from enstruct_bench.joint.sides import Marginal, TwoFits
from enstruct_bench.joint.table import Table

RNG = np.random.default_rng(0)
SETS = np.array(list(itertools.product([0, 1], repeat=4)), dtype=np.float32)
X = RNG.normal(size=(80, 3)).astype(np.float32)
Y = (X @ RNG.normal(size=(3, 4)) + RNG.normal(size=(80, 1)) > 0).astype(np.float32)


@pytest.mark.parametrize("of", [lambda X: X, sparse.csr_matrix])
def test_chains_answer_as_by_enumeration(of):
    chains = fit_ensemble(of(X), Y, 1.0, chains=3, seed=0)
    rows = slice(0, 6)
    of_sets = np.stack([chains.log_probability(of(X)[rows], np.tile(each, (6, 1))).value for each in SETS], axis=1)
    p = given_others(chains, of(X)[rows], Y[rows])
    for row, label in itertools.product(range(6), range(4)):
        others = np.delete(np.arange(4), label)
        weight = np.exp(of_sets[row]) * (SETS[:, others] == Y[row, others]).all(1)
        assert p[row, label] == pytest.approx((weight * SETS[:, label]).sum() / weight.sum(), abs=1e-5)


class Follows(Marginal):
    """A label is as the next one is told to be; it remembers the rows that it was fitted to."""

    def __init__(self, table):
        self.table = table

    def marginals(self, X, known):
        assert (np.isnan(known).sum(1) == 1).all()
        assert not set(X[:, 0]) & set(self.table.X[:, 0])
        return np.where(np.roll(known, -1, axis=1) == 1, 0.8, 0.3)


def test_sides_that_answer_what_is_told_are_asked_label_by_label_and_never_of_rows_they_saw():
    tables = []

    def fit(table, seed):
        tables.append(table)
        return TwoFits(Follows(table), Follows(table), table.X[table.held])

    numbers = np.arange(80, dtype=np.float32)[:, None]
    p = cross_fitted_given_others(fit, numbers, Y, 0)
    assert (p == np.where(np.roll(Y, -1, axis=1) == 1, 0.8, 0.3)).all()
    assert len(tables) == FOLDS
    for table in tables:
        assert len(table.X) + len(table.X_test) == 80
        assert len(table.held) == round(HELD * len(table.X))
        assert (Y[table.X[:, 0].astype(int)] == table.Y).all()


def test_a_side_of_its_own_finds_cells_that_the_others_contradict(monkeypatch):
    coin = RNG.random((240, 1)) < 0.5
    copies = np.hstack([coin, coin, coin, ~coin, ~coin, ~coin]).astype(np.float32)
    noise = RNG.normal(size=(240, 2)).astype(np.float32)
    table = Table(noise, copies, np.arange(180, 240), noise[:10], copies[:10])
    estimators = Estimators(table, 0)
    cell = figures.measured("chains", estimators, ("wrong",))
    found = cell.record["wrong_cells"]
    assert min(found["flips"], found["drops"]) > 0.9
    assert found["swaps"] > 0.6  # two cells of a row of six
    assert set(cell.rows) == {"found flips", "found swaps", "found drops"}
    assert estimators._fits == {}  # it stands on no base
