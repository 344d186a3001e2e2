"""``JointMultiLabelClassifier`` on each base, fitted once a seed for all rows of a comparison that stand on it."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.energies.residual import ResidualEnergy
from enstruct.estimators.bases import logits_of
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.training.residual import refit
from enstruct.training.residual_candidates import INDEPENDENT, Candidate, Examples
from enstruct_bench.joint.cross_fitted import Folds, cross_fitted_energies
from enstruct_bench.joint.table import Array, Table
from enstruct_bench.joint.wrong_cells import made_wrong


class Fit(NamedTuple):
    """``cross_fitted`` (rows, labels): the base's marginals of the rows it was fitted to; ``seconds`` of base and of the rest."""

    estimator: JointMultiLabelClassifier
    Y: NDArray[np.float32]
    cross_fitted: NDArray[np.float64]
    base_seconds: float
    seconds: float

    @property
    def logits(self) -> NDArray[np.float32]:
        return logits_of(self.cross_fitted)

    def base(self, X: Any) -> NDArray[np.float64]:
        """(rows, labels) the base's marginals, as the energy sees them."""
        return np.clip(np.mean([one.answer(X) for one in self.estimator.base_], axis=0), 1e-4, 1 - 1e-4)

    def folds(self) -> Folds:
        """Rows of ``Y``, fold by fold: the estimator's own are of distinct rows."""
        fitted_on = self.estimator.fitted_on_
        return [np.flatnonzero(np.isin(fitted_on.group, fold)) for fold in fitted_on.folds]

    def energies(self) -> list[ResidualEnergy]:
        """Cross-fitted over :meth:`folds`, of the terms that the estimator chose."""
        return cross_fitted_energies(self._examples, self.folds(), *self._trained)

    def energy_of(self, rows: NDArray[np.intp]) -> ResidualEnergy:
        """Of these rows alone, of the same terms and as many epochs."""
        candidate, epochs, seed = self._trained
        return refit(candidate, self._examples.take(rows), epochs, seed)

    @property
    def _examples(self) -> Examples:
        logits, Y = (torch.as_tensor(side, dtype=torch.float32) for side in (self.logits, self.Y))
        return Examples(logits, Y, torch.ones(len(Y)))

    @property
    def _trained(self) -> tuple[Candidate, int, int]:
        """The terms that the estimator chose, their epochs, and its seed."""
        fitted_on = self.estimator.fitted_on_
        return fitted_on.candidate, fitted_on.epochs, self.estimator.seed_


class BaseAlone(JointMultiLabelClassifier):
    """The estimator whose energy has no couplings, for sides that ask the base alone: they need not wait for those that have."""

    _candidates = (INDEPENDENT,)


class Estimators:
    """Of one seed. ``base`` is a name, empty for the estimator's default; ``settings``: its other parameters."""

    def __init__(self, table: Table, seed: int, **settings: Any) -> None:
        self.table, self.seed, self.settings = table, seed, settings
        self._fits: dict[tuple[str, str], Fit] = {}

    def fit(self, base: str) -> Fit:
        return self._fit(base, "", self.table.Y)

    def base_alone(self, base: str) -> Fit:
        """:meth:`fit` where that has been, else without the energy."""
        return self._fits[base, ""] if (base, "") in self._fits else self._fitted(BaseAlone, base, self.table.Y)

    def noisy(self, base: str, noise: str) -> tuple[Fit, NDArray[np.bool_]]:
        """Fitted to the rows with wrong cells, and which these are."""
        Y, wrong = self.made_wrong(noise)
        return self._fit(base, noise, Y), wrong

    def made_wrong(self, noise: str) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The table's label sets with wrong cells, and which these are."""
        return made_wrong(self.table.Y, noise, self.seed, self.table.hierarchy)

    def _fit(self, base: str, noise: str, Y: Array) -> Fit:
        if (base, noise) not in self._fits:
            self._fits[base, noise] = self._fitted(JointMultiLabelClassifier, base, Y)
        return self._fits[base, noise]

    def _fitted(self, kind: type[JointMultiLabelClassifier], base: str, Y: Array) -> Fit:
        estimator = kind(base or "auto", **self.settings, random_state=self.seed)
        begin = time.perf_counter()
        estimator.fit(self.table.X, Y if np.isnan(Y).any() else Y.astype(np.int64))
        seconds = time.perf_counter() - begin
        # the estimator keeps distinct rows, in an order of their own
        marginals = np.mean([one.marginals for one in estimator.base_], axis=0)[estimator.fitted_on_.group]
        return Fit(estimator, Y, marginals, float(sum(one.seconds for one in estimator.base_)), seconds)
