"""Sides that stand on the marginals of a base: these alone, the energy on them, the copula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.data.rows import as_indicator
from enstruct.decisions.risk import least_risk
from enstruct.energies.residual import ResidualEnergy
from enstruct.estimators.bases import logits_of
from enstruct.joint import Joint
from enstruct.joint.asking import drop_in_entropy
from enstruct_bench.joint.copula import Copula, correlations, shrunk
from enstruct_bench.joint.cross_fitted import joint_of
from enstruct_bench.joint.fitted_estimators import Fit
from enstruct_bench.joint.sides import LogProbability, Marginal
from enstruct_bench.joint.table import Array, Table
from enstruct_bench.joint.told import asked_loss, random_told

SAMPLES = 200
SHARES = (0.0, 0.15, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Of the identity in a copula's correlations, among which the held-out rows choose."""
CELLS_JUDGED = 2**19
"""Of these rows at most: so many cells of delicious take minutes a share."""


@dataclass(frozen=True)
class BaseModel(Marginal):
    fit: Fit

    def marginals(self, X: Any, known: Array) -> NDArray[np.float64]:
        return self.fit.base(X)


@dataclass(frozen=True)
class BaseSide:
    """What is told is ignored."""

    model: BaseModel
    held: NDArray[np.intp]

    def held_marginals(self, known: Array) -> NDArray[np.float64]:
        return self.model.fit.cross_fitted[self.held]

    def held_likely_sets(self, rows: NDArray[np.intp]) -> Array | None:
        return None

    def own_answer(self, X: Any) -> NDArray[np.uint8]:
        estimator = self.model.fit.estimator
        return _dense(estimator.rules_[estimator.decision_].predict(self.model.fit.base(X)))


@dataclass(frozen=True)
class JointModel:
    fit: Fit

    def marginals(self, X: Any, known: Array) -> NDArray[np.float64]:
        return self.fit.estimator.predict_proba(X, known=known)

    def log_probability(self, X: Any, Y: Array) -> LogProbability:
        return LogProbability(*self.fit.estimator.log_prob(X, Y.astype(np.int64), return_error=True))

    def likely_sets(self, X: Any) -> NDArray[np.uint8]:
        return _dense(self.fit.estimator.predict(X, decision="subset-accuracy"))

    def worth_asking(self, X: Any, known: Array) -> NDArray[np.float64]:
        """What ``ask`` takes the largest of."""
        estimator = self.fit.estimator
        joint = joint_of(estimator.energy_, logits_of(self.fit.base(X)), estimator.seed_)
        return np.asarray(drop_in_entropy(joint, torch.as_tensor(known)).numpy())


@dataclass(frozen=True)
class JointSide:
    """``judge`` is of the training rows alone."""

    model: JointModel
    judge: ResidualEnergy
    held: NDArray[np.intp]

    def held_marginals(self, known: Array) -> NDArray[np.float64]:
        fit = self.model.fit
        p = fit.cross_fitted[self.held].copy()
        rows = np.flatnonzero((fit.estimator.marginals_of_ == "joint") | (~np.isnan(known)).any(1))
        if len(rows):
            p[rows] = self._joint(rows).marginals(torch.as_tensor(known[rows])).numpy()
        return p

    def held_likely_sets(self, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        joint = self._joint(rows)
        samples = joint.sample(SAMPLES)
        with torch.no_grad():
            density = -joint.energy(joint.state, samples)
        return _dense(least_risk(samples.numpy().astype(np.uint8), "subset", density.numpy()))

    def own_answer(self, X: Any) -> NDArray[np.uint8]:
        return _dense(self.model.fit.estimator.predict(X))

    def _joint(self, rows: NDArray[np.intp]) -> Joint:
        return joint_of(self.judge, self.model.fit.logits[self.held[rows]], self.model.fit.estimator.seed_)


@dataclass(frozen=True)
class CopulaModel:
    fit: Fit
    copula: Copula

    def marginals(self, X: Any, known: Array) -> NDArray[np.float64]:
        return self.copula.conditionals(self.fit.base(X), known)

    def log_probability(self, X: Any, Y: Array) -> LogProbability:
        return self.copula.log_probability(self.fit.base(X), Y)

    def likely_sets(self, X: Any) -> NDArray[np.uint8]:
        return most_frequent(self.copula, self.fit.base(X))

    def worth_asking(self, X: Any, known: Array) -> Array | None:
        return None


@dataclass(frozen=True)
class CopulaSide:
    """``judge`` has its correlations from the training rows alone."""

    model: CopulaModel
    judge: Copula
    p_held: NDArray[np.float64]

    def held_marginals(self, known: Array) -> NDArray[np.float64]:
        return self.judge.conditionals(self.p_held, known)

    def held_likely_sets(self, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        return most_frequent(self.judge, self.p_held[rows])

    def own_answer(self, X: Any) -> Array | None:
        return None


def fit_copula(fit: Fit, table: Table, seed: int) -> CopulaSide:
    p, held = fit.cross_fitted, table.held
    known = random_told(table.Y[held], np.random.default_rng([seed, 1]))
    R = correlations(p[table.training], table.Y[table.training])
    few = np.unique(np.linspace(0, len(held) - 1, min(len(held), max(1, CELLS_JUDGED // p.shape[1]))).astype(int))

    def loss(share: float) -> float:
        judged = Copula(shrunk(R, share)).conditionals(p[held][few], known[few], sweeps=10)
        return asked_loss(judged, table.Y[held][few], known[few])

    share = min(SHARES, key=loss)
    model = CopulaModel(fit, Copula(shrunk(correlations(p, table.Y), share)))
    return CopulaSide(model, Copula(shrunk(R, share)), p[held])


def most_frequent(copula: Copula, p: Array) -> NDArray[np.uint8]:
    """(rows, labels) the set drawn most often."""
    size = max(1, 2**24 // (SAMPLES * p.shape[1]))
    drawn = [least_risk(copula.draw(p[k : k + size], SAMPLES), "subset") for k in range(0, len(p), size)]
    return np.concatenate([_dense(each) for each in drawn])


def base_side(fit: Fit, table: Table) -> BaseSide:
    return BaseSide(BaseModel(fit), table.held)


def _dense(sets: Any) -> NDArray[np.uint8]:
    return np.asarray(as_indicator(sets).toarray())
