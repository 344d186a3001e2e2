"""What the automatic classifier could answer with: averages of its members, judged on rows that these were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import Rows, as_indicator
from enstruct.decisions.choose import RULES, Comparison, cross_validate, fit_rule, make_rule
from enstruct.decisions.thresholds import sets_of_size
from enstruct.methods import METHODS
from enstruct.metrics import get_metric

EVERYTHING, NETWORKS = "everything", "networks"
AVERAGEABLE = tuple(name for name in RULES if name != "bayes-risk")
"""Rules that need marginals only: minimum Bayes risk needs the samples of one energy."""


def mean_of_methods(names: Sequence[str], marginals: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Mean of members' marginals, each method with the same weight however many members it has."""
    by_method: dict[str, list[NDArray[np.float64]]] = {}
    for name, p in zip(names, marginals, strict=True):
        by_method.setdefault(name, []).append(p)
    return np.asarray(np.mean([np.mean(same, axis=0) for same in by_method.values()], axis=0))


@dataclass
class HeldOut:
    """Members in the order of their fits: the method and the fold held out of each, its marginals of the rows there.

    ``rows``: fold -> those held out. ``single``: one label a row, decided by argmax and judged by accuracy.
    """

    metric: str
    single: bool = False
    names: list[str] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    marginals: list[NDArray[np.float64]] = field(default_factory=list)
    rows: dict[int, Rows] = field(default_factory=dict)

    def add(self, name: str, fold: int, p: NDArray[np.float64], rows: Rows) -> None:
        self.names.append(name)
        self.folds.append(fold)
        self.marginals.append(p)
        self.rows.setdefault(fold, rows)

    def of(self, method: str) -> list[int]:
        return [i for i, name in enumerate(self.names) if name == method]

    def best_of(self, members: Sequence[int], references: Sequence[str]) -> int:
        """The member that scores best alone. Some folds are easier than others: over the first of the ``references`` that held
        out all of theirs too, and plainly where there is none."""
        folds = {self.folds[i] for i in members}
        level = dict.fromkeys(folds, 0.0)
        common = [name for name in references if folds <= {self.folds[i] for i in self.of(name)}]
        if common and len(folds) > 1:
            level = {fold: self.score(next(i for i in self.of(common[0]) if self.folds[i] == fold)) for fold in folds}
        return max(members, key=lambda i: self.score(i) - level[self.folds[i]])

    def score(self, member: int) -> float:
        """Of one member alone on its fold, by its best rule."""
        rows = self.rows[self.folds[member]]
        comparison = self.compare(self.marginals[member], as_indicator(rows.Y), rows.weight)
        return max(comparison.scores.values())

    @property
    def rules(self) -> tuple[str, ...]:
        """Those that are compared."""
        return ("fixed",) if self.single else AVERAGEABLE

    def compare(self, p: NDArray[np.float64], truth: sparse.csr_matrix, weight: NDArray[Any] | None) -> Comparison:
        """The rules on these marginals."""
        if self.single:
            return Comparison({"fixed": get_metric("subset-accuracy")(truth, sets_of_size(p, 1), weight)}, {})
        return cross_validate(AVERAGEABLE, p, truth, self.metric, weight=weight)

    def common_folds(self, methods: Sequence[str]) -> list[int]:
        """Those that every method has held out: on them alone can all be compared."""
        return sorted(set.intersection(*({self.folds[i] for i in self.of(name)} for name in methods)))

    def mean(self, members: Sequence[int], folds: Sequence[int]) -> NDArray[np.float64]:
        """Mean marginals of the rows of some folds, by those members that were not trained on them."""
        means = []
        for fold in folds:
            blind = [i for i in members if self.folds[i] == fold]
            means.append(mean_of_methods([self.names[i] for i in blind], [self.marginals[i] for i in blind]))
        return np.concatenate(means)


class Candidates:
    """Each method's members, all networks, these with a linear model, with trees, with both, compared on the same rows held out.

    ``groups``: candidate -> its members. ``compared``: candidate -> scores of its rules. ``Y``: the labels of those rows.
    """

    def __init__(self, held_out: HeldOut, methods: Sequence[str]) -> None:
        self._held_out, self._folds = held_out, held_out.common_folds(methods)
        rows = [held_out.rows[fold] for fold in self._folds]
        self.Y = sparse.vstack([as_indicator(part.Y) for part in rows], format="csr")
        weighed = any(part.weight is not None for part in rows)
        weights = (np.ones(len(part)) if part.weight is None else part.weight for part in rows)
        self.weight = np.concatenate([*weights]) if weighed else None
        self.groups: dict[str, list[int]] = {}
        self.compared: dict[str, Comparison] = {}
        for name in methods:
            self._compare(name, held_out.of(name))
        for name, members in self._averages(methods).items():
            self._compare(name, members)

    def _compare(self, name: str, members: list[int]) -> None:
        self.groups[name] = members
        self.compared[name] = self._held_out.compare(self._held_out.mean(members, self._folds), self.Y, self.weight)

    def _averages(self, methods: Sequence[str]) -> dict[str, list[int]]:
        """Models of one solver are so alike that averages have the better one of them alone."""
        solved = [name for name in methods if METHODS[name].solver is not None]
        networks = [i for i, name in enumerate(self._held_out.names) if name not in solved]
        averages = {NETWORKS: networks} if len(methods) - len(solved) > 1 else {}
        kinds: dict[Any, list[str]] = {}
        for name in solved:
            kinds.setdefault(METHODS[name].solver, []).append(name)
        best = [max(alike, key=self.score) for alike in kinds.values()]
        if networks and len(best) > 1:
            averages |= {f"{NETWORKS}+{name}": [*networks, *self.groups[name]] for name in best}
        if best and (networks or len(best) > 1):
            averages[EVERYTHING] = [*networks, *(i for name in best for i in self.groups[name])]
        return averages

    def score(self, name: str) -> float:
        return max(self.compared[name].scores.values())

    def best(self) -> str:
        return max(self.compared, key=self.score)

    def rules(self, candidate: str, names: Sequence[str]) -> dict[str, Any]:
        """Decision rules fitted for a candidate."""
        p = self._held_out.mean(self.groups[candidate], self._folds)
        return {name: fit_rule(make_rule(name), p, self.Y, self._held_out.metric, None, self.weight) for name in names}
