"""Bases cross-fitted: the marginals of a row that is left out come from models that have not seen its labels.

    p_oof(x_n) = model without row n's fold (x_n)    what an energy is trained on
    p(x)       = mean of those models                a method of enstruct's: each was stopped on the fold that it left out
                 a model of all rows                 a classifier of scikit-learn's

Several are averaged where that scores better on the folds left out (:func:`choose`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct.data.rows import as_indicator
from enstruct.decisions.choose import cross_validate
from enstruct.errors import ConfigError
from enstruct.estimators.bases import Base
from enstruct.estimators.side_by_side import done_by_workers, side_by_side
from enstruct.estimators.training_table import Table

log = logging.getLogger("enstruct")

MANY_ROWS, TRIED = 20_000, 16
"""From so many rows on a base that heeds no deadline is tried on one in so many of them, before it is fitted to all."""
COMPARED = ("threshold", "expected-f1")
"""Rules by which averages of bases are compared."""
Score = Callable[[NDArray[np.float64]], float]
"""Of the marginals of all rows (rows, labels), the higher the better."""


@dataclass(frozen=True)
class CrossFitted:
    """``marginals`` (rows, labels) by models that have not seen the row, NaN of rows in no fold; ``models`` that answer;
    ``seconds`` for all of it."""

    base: Base
    marginals: NDArray[np.float64]
    models: Sequence[Any]
    seconds: float

    def answer(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(np.mean([self.base.marginals(model, X) for model in self.models], axis=0))


def cross_fit(base: Base, table: Table, folds: Sequence[NDArray[np.intp]], seed: int, deadline: float, last: bool) -> Any:
    """:class:`CrossFitted`; None where its folds show that there is no time for the others, unless it is the ``last``.

    What a base chooses is chosen on the first fold, which a third of the time is for, and the second shows what a fold takes; of
    other bases the first does. What is begun then is finished: a deadline that a later fold overruns would leave labels unlearnt
    in silence. The other folds, and a model of all rows, are fitted side by side where :func:`joblib.parallel_config` has several
    jobs: the same ones, where workers have as many threads.
    """
    begin = time.monotonic()
    fits, telling = len(folds) + base.refits, min(1 if base.chooses else 0, len(folds) - 1)
    share = 3 if base.chooses and fits > 1 else fits
    fitted: list[Fitted] = []
    if not (last or base.heeds) and len(table) >= MANY_ROWS and not _in_time(base, table, folds[0], seed, deadline, fits):
        return None
    for number, fold in enumerate(folds[: telling + 1]):
        began = time.monotonic()
        # of a first fold that takes more than its share nothing is kept, but the settings of one that chooses
        ends = max(begin + (deadline - begin) / share, begin + 1) if number == 0 and (base.chooses or not last) else np.inf
        fitted.append(_fit(base, table, fold, seed + number, ends, fitted[0].model if fitted else None))
        now = time.monotonic()
        if number == telling and not last and now + (now - began) * (fits - number - 1) / min(side_by_side(), fits) > deadline:
            log.info("base %s: %.0f s a fold are too many", base.name, now - began)
            return None
    others: list[tuple[NDArray[np.intp] | None, int]] = [(fold, seed + k) for k, fold in enumerate(folds) if k > telling]
    others += [(None, seed)] if base.refits else []
    like = fitted[0].model
    fitted += done_by_workers(_fit, [(base, table, fold, one, np.inf, None if fold is None else like) for fold, one in others])
    marginals = np.full(table.Y.shape, np.nan)
    for fold, one in zip(folds, fitted, strict=False):
        marginals[fold] = one.marginals
    models = [fitted[-1].model] if base.refits else [one.model for one in fitted]
    log.info("base %s: %.1f s", base.name, time.monotonic() - begin)
    return CrossFitted(base, marginals, models, time.monotonic() - begin)


def _in_time(base: Base, table: Table, fold: NDArray[np.intp], seed: int, deadline: float, fits: int) -> bool:
    """Whether as many fits would end before the deadline, of which one to a part of the rows says what they take at least."""
    begin = time.monotonic()
    few = table.take(np.setdiff1d(np.arange(len(table)), fold)[::TRIED])
    allowed = (deadline - begin) * min(side_by_side(), fits) / (fits * TRIED)
    base.fit(few, table.take(fold[::TRIED]), seed, begin + allowed)
    took = time.monotonic() - begin
    log.info("base %s: %.1f s on %d rows", base.name, took, len(few))
    return took <= allowed


class Fitted(NamedTuple):
    """A model, and its marginals of the fold that it has not seen; of a model of all rows None."""

    model: Any
    marginals: NDArray[np.float64] | None


def _fit(base: Base, table: Table, fold: NDArray[np.intp] | None, seed: int, deadline: float, like: Any) -> Fitted:
    """Without the fold, or with all rows; ``deadline`` by this process's clock: infinite where another may do it."""
    if fold is None:
        return Fitted(base.fit(table, None, seed, deadline), None)
    rest = np.setdiff1d(np.arange(len(table)), fold)
    model = base.fit(table.take(rest), table.take(fold), seed, deadline, like)
    marginals = base.marginals(model, table.X[fold])
    if marginals.shape[1] != table.Y.shape[1]:
        raise ConfigError(
            f"base=: {base.name} gives probabilities of {marginals.shape[1]} labels, and {table.Y.shape[1]} were to be learnt."
        )
    return Fitted(model, marginals)


def choose(fitted: Sequence[CrossFitted], score: Score) -> tuple[list[int], dict[str, float]]:
    """Which to average, and what each average on the way scored: the best one alone, and others as long as one of them raises
    the score of the mean."""
    scores: dict[str, float] = {}

    def scored(members: list[int]) -> float:
        value = score(np.mean([fitted[i].marginals for i in members], axis=0))
        scores["+".join(fitted[i].base.name for i in members)] = value
        return value

    alone = [scored([i]) for i in range(len(fitted))]
    chosen = [int(np.argmax(alone))]
    best = alone[chosen[0]]
    while len(chosen) < len(fitted):
        further = {i: scored([*chosen, i]) for i in range(len(fitted)) if i not in chosen}
        i = max(further, key=lambda j: further[j])
        if further[i] <= best:
            break
        chosen, best = [*chosen, i], further[i]
    return chosen, scores


def best_score(p: NDArray[np.float64], table: Table, metric: str) -> float:
    """Of the best rule, rules fitted on one half of the rows and applied to the other; unobserved cells count for nothing."""
    unobserved = np.isnan(table.Y)
    comparison = cross_validate(
        COMPARED, np.where(unobserved, 0.0, p), as_indicator(np.nan_to_num(table.Y)), metric, weight=table.weight
    )
    return max(comparison.scores.values())
