"""Rules compiled for the labels of one data set: a table of inequalities, and the groups of labels that rules tie together.

    A y >= least     A (inequalities, labels) of -1, 0, 1;  y (labels,) of 0 and 1

An inequality binds (weight infinity) or costs its weight in nats where it is broken. Labels that share an inequality, directly or
through others, are a group: groups can be decided one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from graphlib import CycleError, TopologicalSorter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from enstruct.data.hierarchy import Hierarchy
from enstruct.errors import ConfigError, DataError, shortened, shown, unknown_name
from enstruct.rules.inequality import Inequality
from enstruct.rules.labels import inequalities_of, is_over_labels, words_of
from enstruct.rules.often import Count, check_seldom
from enstruct.rules.soft import Soft, bare
from enstruct.rules.states import legal_states
from enstruct.validation import is_whole

CELLS = 2**22
"""Numbers (rows, inequalities) at a time."""


@dataclass(frozen=True)
class Group:
    """Labels tied together by the inequalities numbered ``rows``. Where they are ``listed``, ``states`` (states, labels of the
    group) are all sets of them that no binding inequality forbids, and ``penalty`` (states,) what soft ones cost, in nats; where
    these are too many, both are empty. Where the inequalities of such a group only count its labels, ``cost`` (labels + 1,) is
    what sets of each size cost, infinity of those that are forbidden; else it is empty."""

    labels: NDArray[np.intp]
    rows: NDArray[np.intp]
    listed: bool
    states: NDArray[np.uint8]
    penalty: NDArray[np.float64]
    cost: NDArray[np.float64]
    is_hierarchy: bool
    """Whether what binds it is that labels imply others, and never one another."""


def label_number(numbers: Mapping[Any, int], rule: Any, name: Any) -> int:
    """Of a label that the rule names; ConfigError for none."""
    try:
        return numbers[name]
    except (KeyError, TypeError):
        raise unknown_name(f"label in the rule {shown(words_of(rule))}:", str(name), map(str, numbers)) from None


@dataclass(frozen=True)
class RuleSystem:
    """``owner`` (inequalities,): the rule, by number, that each is of. ``weight``: infinity of those that bind."""

    rules: tuple[Any, ...]
    names: tuple[Any, ...]
    inequalities: tuple[Inequality, ...]
    owner: NDArray[np.intp]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, rules: Any, names: Sequence[Any]) -> Self:
        """Rules, one or several, over labels of these names. ConfigError for a rule that is none, of other labels, or not to be
        met by any label set alone (:func:`enstruct.rules.contradictions.check` finds those that contradict one another)."""
        several = tuple(rules) if isinstance(rules, (list, tuple)) else (rules,)
        numbers = {name: i for i, name in enumerate(names)}
        found: list[tuple[Inequality, int, float]] = []

        for k, rule in enumerate(several):
            if not is_over_labels(rule):
                line = " A rule in words is read by enstruct.rules.parse_rule." if isinstance(rule, str) else ""
                raise ConfigError(f"rules= takes rules of enstruct.rules over labels, not {rule!r:.80}.{line}")
            tree = bare(rule)
            if isinstance(tree, Hierarchy):
                if not is_whole(tree.n_labels) or tree.n_labels != len(names):
                    raise ConfigError(
                        f"rules= has a hierarchy of {shown(tree.n_labels)} labels, and there are {len(names)}: make it "
                        f"Hierarchy({len(names)}, edges), by the numbers of their columns."
                    )
                tree.check()
            weight = rule.weight if isinstance(rule, Soft) else np.inf
            number = partial(label_number, numbers, rule)
            found += [(one, k, weight) for one in inequalities_of(rule, number) if not one.always]
        inequalities, owner, weights = zip(*found, strict=True) if found else ((), (), ())
        return cls(
            several, tuple(names), tuple(inequalities), np.array(owner, dtype=np.intp), np.array(weights, dtype=np.float64)
        )

    @property
    def binds(self) -> NDArray[np.bool_]:
        return np.isinf(self.weight)

    @property
    def n_labels(self) -> int:
        return len(self.names)

    @cached_property
    def matrix(self) -> sparse.csr_matrix:
        """A, of float64."""
        rows = [k for k, one in enumerate(self.inequalities) for _ in one.labels]
        columns = [i for one in self.inequalities for i in one.labels]
        values = [v for one in self.inequalities for v in (*[1.0] * len(one.plus), *[-1.0] * len(one.minus))]
        return sparse.csr_matrix((values, (rows, columns)), shape=(len(self.inequalities), self.n_labels))

    @cached_property
    def least(self) -> NDArray[np.float64]:
        return np.array([one.least for one in self.inequalities], dtype=np.float64)

    @cached_property
    def groups(self) -> list[Group]:
        """Those of two labels or more, or of one that an inequality fixes."""
        touched = np.flatnonzero(np.diff(self.matrix.tocsc().indptr))
        if not len(touched):
            return []
        _, part = connected_components(abs(self.matrix.T) @ abs(self.matrix), directed=False)
        first = np.array([one.labels[0] for one in self.inequalities if one.labels], dtype=np.intp)
        at = np.flatnonzero([bool(one.labels) for one in self.inequalities])
        order = np.argsort(part[touched], kind="stable")
        of_labels = np.split(touched[order], np.flatnonzero(np.diff(part[touched][order])) + 1)
        by_part: dict[int, list[int]] = {}
        for k, label in zip(at, first, strict=True):
            by_part.setdefault(int(part[label]), []).append(int(k))
        return [self._group(labels, np.array(by_part[int(part[labels[0]])], dtype=np.intp)) for labels in of_labels]

    def _group(self, labels: NDArray[np.intp], rows: NDArray[np.intp]) -> Group:
        A, least, binds = self.matrix[rows][:, labels], self.least[rows], self.binds[rows]
        found = legal_states(A[binds], least[binds])
        states = np.zeros((0, len(labels)), dtype=np.uint8) if found is None else found
        penalty = ((states @ A[~binds].T < least[~binds]) * self.weight[rows][~binds]).sum(1)
        is_hierarchy = _is_hierarchy([self.inequalities[k] for k in rows[binds]])
        cost = _of_sizes([self.inequalities[k] for k in rows], self.weight[rows], len(labels)) if found is None else np.zeros(0)
        return Group(labels, rows, found is not None, states, penalty, cost, is_hierarchy)

    @cached_property
    def tied(self) -> NDArray[np.bool_]:
        """(labels,) whether an inequality is about it."""
        out = np.zeros(self.n_labels, dtype=bool)
        for one in self.inequalities:
            out[list(one.labels)] = True
        return out

    @cached_property
    def upwards(self) -> list[tuple[int, int]]:
        """(below, above) of hierarchies, what is lower first: one pass carries everything up."""
        pairs = list(zip(*(side.tolist() for side in self.implied.nonzero()), strict=True))
        sorter: TopologicalSorter[int] = TopologicalSorter()
        for below, above in pairs:
            sorter.add(above, below)
        place = {label: k for k, label in enumerate(sorter.static_order())}
        return sorted(pairs, key=lambda pair: place[pair[0]])

    @cached_property
    def in_hierarchy(self) -> NDArray[np.bool_]:
        """(labels,) whether nothing binds it but a hierarchy."""
        out = np.zeros(self.n_labels, dtype=bool)
        for group in self.groups:
            out[group.labels] = group.is_hierarchy and bool(self.binds[group.rows].all())
        return out

    @cached_property
    def binding(self) -> Self:
        """What binds of it."""
        return self._some(np.flatnonzero(self.binds))

    @cached_property
    def implied(self) -> sparse.csr_matrix:
        """(labels, labels) 1 where the first implies the second, of groups that are hierarchies."""
        rows = [k for group in self.groups if group.is_hierarchy for k in group.rows if self.binds[k]]
        pairs = [(self.inequalities[k].minus[0], self.inequalities[k].plus[0]) for k in rows]
        below, above = zip(*pairs, strict=True) if pairs else ((), ())
        return sparse.csr_matrix((np.ones(len(pairs), dtype=np.int32), (below, above)), shape=(self.n_labels, self.n_labels))

    @cached_property
    def closure(self) -> sparse.csr_matrix:
        """(labels, labels) 1 where the first implies the second, at once or through others, or is it; of groups that are
        hierarchies."""
        out = sparse.identity(self.n_labels, dtype=np.int32, format="csr") + self.implied
        while (further := (out @ out).sign()).nnz > out.nnz:
            out = further
        return out.sign().tocsr()

    @cached_property
    def only_hierarchies(self) -> bool:
        """Whether nothing binds but that labels imply others, never one another."""
        return all(group.is_hierarchy or not self.binds[group.rows].any() for group in self.groups)

    @property
    def approximations(self) -> str | None:
        """What answers are sampled and not exact, in a sentence; None where all legal sets are listed."""
        sizes = [len(group.labels) for group in self.groups if not group.listed and not len(group.cost)]
        if not sizes:
            return None
        return (
            f"Rules tie {max(sizes):,} labels with more legal sets than can be listed: decided sets are exact. A joint that is "
            "told something samples, approximately; other probabilities heed implications alone."
        )

    # -- what label sets break ------------------------------------------------------------------------

    def blocks(self, n_rows: int) -> Iterator[slice]:
        """Rows whose inequalities are judged at a time."""
        step = max(1, CELLS // max(1, len(self.inequalities), self.n_labels))
        return (slice(first, first + step) for first in range(0, n_rows, step))

    def broken(self, Y: Any) -> NDArray[np.bool_]:
        """(rows, inequalities) of label sets (rows, labels); with holes (NaN): those that are broken whatever fills them."""
        return self.most(Y) < self.least

    def most(self, Y: Any) -> NDArray[np.float64]:
        """(rows, inequalities) A y, at its most where y has holes (NaN)."""
        if sparse.issparse(Y):
            return np.asarray((self.matrix @ Y.T.astype(np.float64)).T.toarray())
        Y = np.asarray(Y, dtype=np.float64)
        hole = np.isnan(Y)
        filled = np.where(hole, 0.0, Y)
        out = np.asarray((self.matrix @ filled.T).T)
        return out + np.asarray((self.matrix.maximum(0) @ hole.T.astype(np.float64)).T) if hole.any() else out

    def are_kept(self, Y: Any) -> NDArray[np.bool_]:
        """(rows,) whether label sets break nothing that binds."""
        parts = [~self.broken(Y[block])[:, self.binds].any(1) for block in self.blocks(Y.shape[0])]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)

    def counts(self, Y: Any) -> list[Count]:
        """Of every rule; it is about the rows with one of its labels, and those that break it."""
        own = [np.flatnonzero(self.owner == k) for k in range(len(self.rules))]
        labels = [sorted({i for j in some for i in self.inequalities[j].labels}) for some in own]
        counts = np.zeros((len(own), 2), dtype=np.int64)
        for block in self.blocks(Y.shape[0]):
            few = Y[block].toarray() if sparse.issparse(Y) else np.asarray(Y[block])
            broken, has = self.broken(few), few == 1
            for k in range(len(own)):
                breaks = broken[:, own[k]].any(1)
                counts[k] += breaks.sum(), (breaks | has[:, labels[k]].any(1)).sum()
        return [Count(words_of(rule), int(broken), int(about)) for rule, (broken, about) in zip(self.rules, counts, strict=True)]

    def check_rows(self, Y: Any) -> None:
        """DataError for a rule that binds and that rows Y (rows, labels), which may have holes, break often."""
        binding = (each for rule, each in zip(self.rules, self.counts(Y), strict=True) if not isinstance(rule, Soft))
        check_seldom(binding, "training rows", "mend them, or give it as a preference, Soft(rule, weight)")

    def words(self, k: int) -> str:
        """Of inequality k: its rule's, of a hierarchy those of the edge."""
        rule = self.rules[self.owner[k]]
        return self.inequalities[k].words(self.names) if isinstance(rule, Hierarchy) else words_of(rule)

    # -- fewer labels ---------------------------------------------------------------------------------

    def among(self, varying: NDArray[np.intp], constants: NDArray[np.float64]) -> Self:
        """The system over the labels ``varying`` alone, others being as in ``constants`` (labels,).

        DataError where these break a rule that binds, whatever the varying ones are.
        """
        place = {int(i): k for k, i in enumerate(varying)}
        kept: list[Inequality] = []
        numbers: list[int] = []
        for k, one in enumerate(self.inequalities):
            fixed = sum(constants[i] for i in one.plus if i not in place) - sum(constants[i] for i in one.minus if i not in place)
            plus, minus = (tuple(place[i] for i in side if i in place) for side in (one.plus, one.minus))
            rest = Inequality(plus, minus, int(one.least - fixed))
            if rest.never and self.binds[k]:
                name = next(self.names[i] for i in one.labels if i not in place)
                raise DataError(
                    f"The rule {shortened(self.words(k), 120)} cannot be met: all training rows say the same of {shown(name)}. "
                    "Leave the rule out, or fit rows that show otherwise."
                )
            if not (rest.always or rest.never):
                kept.append(rest)
                numbers.append(k)
        at = np.array(numbers, dtype=np.intp)
        names = tuple(self.names[i] for i in varying)
        return replace(self, names=names, inequalities=tuple(kept), owner=self.owner[at], weight=self.weight[at])

    def _some(self, at: NDArray[np.intp]) -> Self:
        inequalities = tuple(self.inequalities[k] for k in at)
        return replace(self, inequalities=inequalities, owner=self.owner[at], weight=self.weight[at])


def _of_sizes(inequalities: Sequence[Inequality], weight: NDArray[np.float64], n_labels: int) -> NDArray[np.float64]:
    """(labels + 1,) what sets of each size cost in nats; empty where more is said of them than how many labels they have."""
    size, cost = np.arange(n_labels + 1), np.zeros(n_labels + 1)
    for one, nats in zip(inequalities, weight, strict=True):
        if len(one.labels) < n_labels or (one.plus and one.minus):
            return np.zeros(0)
        cost[(size if one.plus else -size) < one.least] += nats
    return cost


def _is_hierarchy(bind: Sequence[Inequality]) -> bool:
    if not bind or not all(len(one.plus) == len(one.minus) == 1 and one.least == 0 for one in bind):
        return False
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for one in bind:
        sorter.add(one.plus[0], one.minus[0])
    try:
        sorter.prepare()
    except CycleError:
        return False
    return True
