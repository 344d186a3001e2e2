"""Moves of several labels at once, for rules under which label sets are not all reached by changing one label after another.

Of a group too large to list, two labels change, or one, or all those of one predicate, and with them what follows: with v' for
the labels that change, F(y, v') is y with v' and with all that their being there or absent fixes. A move is taken by Metropolis
and Hastings' rule where it can be taken back, F(F(y, v'), v) = y, and stays otherwise: detailed balance holds either way.
What ties labels in other ways can still leave legal sets unreached; :mod:`enstruct.joint.ruled` says which groups this is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from enstruct.rules import Forbids, RuleSystem
from enstruct.rules.follow import consequences
from enstruct.rules.states import legal_states
from enstruct.rules.system import Group

TOUCHED = 8
"""Labels a sweep's moves touch in all, times those of the group: long chains of consequences have moves left out at random."""


@dataclass(frozen=True)
class Move:
    """``changed`` labels and the ``others`` that may follow; ``fixes`` (2, changed, others) of each changed label, absent or
    there, what it fixes the others to: 1, -1 for absent, 0 for nothing."""

    changed: list[int]
    others: list[int]
    fixes: Tensor

    @property
    def labels(self) -> list[int]:
        return [*self.changed, *self.others]

    def follow(self, values: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        """(``rest`` with what follows, whether that contradicts itself (rows, chains)) of values (rows, chains, changed) and rest
        (rows, chains, others)."""
        there, absent = ((self.fixes == side).to(values.dtype) for side in (1, -1))
        on, off = (values @ side[1] + (1 - values) @ side[0] > 0 for side in (there, absent))
        return torch.where(on, 1.0, torch.where(off, 0.0, rest)), (on & off).any(2)

    def carried(self, y: Tensor, values: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """(the labels of the move after it (rows, chains, labels), whether it can be taken back (rows, chains)) from y of them,
        where labels that are not ``real`` (rows, labels) are told."""
        before, rest = y.split([len(self.changed), len(self.others)], 2)
        values = torch.where(real[:, : len(self.changed)].unsqueeze(1), values, before)
        new, contradicts = self.follow(values, rest)
        back, contradicted = self.follow(before, new)
        told = ((new != rest) & ~real[:, len(self.changed) :].unsqueeze(1)).any(2)
        return torch.cat([values, new], 2), ~(contradicts | contradicted | told | (back != rest).any(2))


class Moves:
    """Those of one large group."""

    def __init__(self, system: RuleSystem, group: Group) -> None:
        self._fixed = consequences(system.binding, group.labels)
        self._at = {int(label): k for k, label in enumerate(group.labels)}
        self._chosen = _one_of_each(self._fixed, group.labels)
        both = np.diff(self._fixed.indptr).reshape(2, -1).all(0)
        self._alone = [label for label in self._chosen.tolist() if both[self._at[label]]]
        self._most = TOUCHED * len(group.labels)
        self.tables = list(_tables(system, group))

    def of(self, changed: list[int]) -> Move:
        n = len(self._at)
        rows = self._fixed[[side * n + self._at[label] for side in (0, 1) for label in changed]]
        others = sorted(set(rows.indices.tolist()) - set(changed))
        fixes = torch.from_numpy(rows[:, others].toarray()).view(2, len(changed), len(others))
        return Move(changed, others, fixes)

    def drawn(self, generator: torch.Generator) -> Iterator[Move]:
        """Pairs of neighbours in a random order, and the labels that cannot change without others, alone."""
        order = self._chosen[torch.randperm(len(self._chosen), generator=generator).numpy()]
        pairs = [[int(i), int(j)] for i, j in zip(order, np.roll(order, -1), strict=True) if i != j]
        several, touched = [*pairs, *([label] for label in self._alone)], 0
        for k in torch.randperm(len(several), generator=generator).tolist():
            move = self.of(several[k])
            touched += len(move.labels)
            if touched > self._most and touched > len(move.labels):
                return
            yield move


def _one_of_each(fixed: sparse.csr_matrix, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The first of labels that are always alike, or always unlike one another."""
    n = len(labels)
    own = fixed[:, labels]
    alike = (own[n:] > 0).multiply(own[:n] < 0)
    unlike = (own[n:] < 0).multiply(own[:n] > 0)
    tied = (alike + unlike).tocoo()
    later = {int(j) for i, j in zip(tied.row, tied.col, strict=True) if i < j}
    return np.array([label for k, label in enumerate(labels) if k not in later], dtype=np.intp)


def _tables(system: RuleSystem, group: Group) -> Iterator[Group]:
    """The labels of each predicate within the group, as a group of their own whose legal sets are listed."""
    for owner in np.unique(system.owner[group.rows]):
        rows = group.rows[(system.owner[group.rows] == owner) & system.binds[group.rows]]
        labels = np.unique([i for k in rows for i in system.inequalities[k].labels]).astype(np.intp)
        if not isinstance(system.rules[owner], Forbids) or len(labels) < 3:
            continue
        states = legal_states(system.matrix[rows][:, labels], system.least[rows])
        if states is not None:
            yield Group(labels, rows, True, states, np.zeros(len(states)), np.zeros(0), False)
