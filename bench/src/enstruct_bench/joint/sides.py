"""What is asked of every side: marginals given what is told, for new rows and for rows held out of its own training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from enstruct_bench.joint.table import Array


class LogProbability(NamedTuple):
    """log p(y | x) in nats and the standard error of its estimate, (rows,) each."""

    value: NDArray[np.float64]
    error: NDArray[np.float64]


class Model(Protocol):
    """Fitted. ``known`` (rows, labels) holds what is told and NaN elsewhere; what a model says of told cells is not read."""

    def marginals(self, X: Any, known: Array) -> NDArray[np.float64]:
        """(rows, labels) p(y_i = 1 | x, told)."""

    def log_probability(self, X: Any, Y: Array) -> LogProbability | None:
        """None of a model without a joint: the product of its marginals stands for it."""

    def likely_sets(self, X: Any) -> Array | None:
        """(rows, labels) the most probable sets; None of a model without a joint."""

    def worth_asking(self, X: Any, known: Array) -> Array | None:
        """(rows, labels) how much an answer would say, the higher the more; None: by the uncertainty of the marginals."""


class Marginal:
    """What a :class:`Model` without a joint says."""

    def log_probability(self, X: Any, Y: Array) -> LogProbability | None:
        return None

    def likely_sets(self, X: Any) -> Array | None:
        return None

    def worth_asking(self, X: Any, known: Array) -> Array | None:
        return None


class Fitted(Protocol):
    """A side: its model of all rows, and its answers for the held-out rows by models that have not seen their labels."""

    @property
    def model(self) -> Model: ...

    def held_marginals(self, known: Array) -> NDArray[np.float64]: ...

    def held_likely_sets(self, rows: NDArray[np.intp]) -> Array | None:
        """Of ``rows`` among the held-out ones, by number."""

    def own_answer(self, X: Any) -> Array | None:
        """(rows, labels) by the side's own rule for example-F1; None: by one fitted to its answers for the held-out rows."""


@dataclass(frozen=True)
class TwoFits:
    """``judge`` is of the training rows alone, with settings chosen on the held-out rows; ``model`` of all, with these."""

    judge: Model
    model: Model
    X_held: Any

    def held_marginals(self, known: Array) -> NDArray[np.float64]:
        return self.judge.marginals(self.X_held, known)

    def held_likely_sets(self, rows: NDArray[np.intp]) -> Array | None:
        return self.judge.likely_sets(self.X_held[rows])

    def own_answer(self, X: Any) -> Array | None:
        return None
