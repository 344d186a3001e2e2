"""What a side is measured by, on sides whose answers are known."""

import numpy as np
import pytest

from enstruct.metrics.base import ratio
from enstruct_bench.joint import figures
from enstruct_bench.joint.sides import LogProbability, TwoFits
from enstruct_bench.joint.table import Table

RNG = np.random.default_rng(0)
Y = (RNG.random((90, 8)) < 0.4).astype(np.float32)
TABLE = Table(Y[:60], Y[:60], np.arange(40, 60), Y[60:], Y[60:])
"""Its features are its labels."""


class Right:
    """It reads the labels off x, ``p`` sure of them."""

    p = 0.9

    def marginals(self, X, known):
        return np.where(X > 0.5, self.p, 1 - self.p)

    def log_probability(self, X, Y):
        return LogProbability(np.full(len(Y), -0.5), np.full(len(Y), 0.1))

    def likely_sets(self, X):
        return 1 - X

    def worth_asking(self, X, known):
        return None


class Estimators:
    table, seed = TABLE, 0


def test_a_side_that_is_right(monkeypatch):
    monkeypatch.setattr(figures, "fitted", lambda name, estimators: (TwoFits(Right(), Right(), TABLE.X[40:]), 1.5))
    cell = figures.measured("chains", Estimators(), ("told", "questions"))
    scores = cell.record["score"]
    assert [scores[f"f1@{share}"] for share in ("0", "0.25", "0.5", "0.75")] == [1, 1, 1, 1]
    assert [scores[f"loss@{share}"] for share in ("0", "0.5")] == pytest.approx([-np.log(0.9)] * 2)
    assert scores["nll"] == 0.5
    assert cell.record["nll_of_marginals"] == pytest.approx(-8 * np.log(0.9))
    assert cell.record["nll_error"] == pytest.approx(0.1)  # rows have the same random numbers
    assert (scores["f1"], scores["exact"]) == (1, 1)  # by its marginals: its most probable sets are wrong on held-out rows
    assert cell.record["exact_by"] != "most-probable"
    assert (scores["questions"], scores["questions_random"]) == (0, 0)
    assert cell.record["average_precision"]["0.5"] == 1
    assert cell.record["fit_seconds"] == 1.5
    assert all(ratio(counts) == scores[key] for key, counts in cell.rows.items())


def test_thresholds_are_those_of_held_out_answers(monkeypatch):
    class Judge(Right):
        p = 0.8

        def marginals(self, X, known):
            return np.where(X > 0.5, 0.3, 0.1)

    monkeypatch.setattr(figures, "fitted", lambda name, estimators: (TwoFits(Judge(), Right(), TABLE.X[40:]), 0.0))
    cell = figures.measured("chains", Estimators(), ("told",))
    assert all(0.1 < threshold <= 0.3 for threshold in cell.record["thresholds"].values())


def test_which_sides_have_which_figures():
    assert figures.has_figures("chains", ("told",))
    assert figures.has_figures("chains", ("wrong",))
    assert not figures.has_figures("copula", ("wrong",))
    assert figures.has_figures("cleanlab:mlp", ("told", "wrong"))
    assert not figures.has_figures("cleanlab", ("told",))
    assert figures.has_figures("joint", ("wrong",))
