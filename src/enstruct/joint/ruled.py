"""Energies under rules: label sets that break what binds have no probability, soft rules cost their weight.

    log p(y) = -E(y) - sum over inequalities that y breaks of their weights,     HARD for those that bind

Chains change a label at a time among legal sets, and begin at one. That does not reach every legal set from every other (of
"exactly one" no label can change alone): where a group's legal sets are listed, all its labels are drawn anew at once between
sweeps, as if they were independent, and taken by Metropolis and Hastings' rule; of groups too large for that a few labels change
with what follows from them (:mod:`enstruct.joint.moves`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.joint.clamped import BURN_IN, Clamped, Labels, ResidualChains
from enstruct.joint.moves import Move, Moves
from enstruct.joint.together import Block, blocks_of
from enstruct.rules import RuleSystem
from enstruct.rules.closest import best
from enstruct.rules.follow import agreeing
from enstruct.rules.system import Group

HARD = 1e3
"""Nats of an inequality that binds: exp(-HARD) is 0 in single precision, and sums of a few of them keep three decimals."""
ANNEALED = 30.0
"""Nats of it in annealed importance sampling, whose chains begin among all label sets."""
ALIKE = 40
"""Sweeps before what is drawn counts, where many chains of a row begin alike and move by taking or refusing."""
CELLS = 2**22
"""Numbers of whole label sets that are judged at a time."""


class Compiled:
    """A system as tensors: which inequalities each label is in, and with which sign."""

    def __init__(self, system: RuleSystem, hard: float = HARD) -> None:
        self.system = system
        A = system.matrix.tocsc()
        self.of = [torch.from_numpy(A.indices[a:b].astype(np.int64)) for a, b in zip(A.indptr, A.indptr[1:], strict=False)]
        signs = [torch.from_numpy(A.data[a:b].astype(np.float32)) for a, b in zip(A.indptr, A.indptr[1:], strict=False)]
        self.sign = [sign[:, None, None] for sign in signs]
        entries = system.matrix.tocoo()
        places = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
        self._matrix = torch.sparse_coo_tensor(places, torch.from_numpy(entries.data.astype(np.float32)), entries.shape)
        self.least = torch.from_numpy(system.least.astype(np.float32))
        self.weight = torch.from_numpy(np.where(system.binds, hard, system.weight).astype(np.float32))
        # where the other labels leave an inequality at this, the label decides whether it holds: what having it gains then
        self.decisive = [torch.where(s > 0, self.least[at, None, None] - 1, self.least[at, None, None]) for at, s in self._places]
        self.gain = [s * self.weight[at, None, None] for at, s in self._places]
        apart = [group for group in system.groups if not _connected(system, group)]
        self.jumping = [group for group in apart if group.listed]
        self._apart = [group for group in apart if not group.listed]
        self.large = [group for group in system.groups if not group.listed and not group.is_hierarchy]

    @property
    def _places(self) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(self.of, self.sign, strict=True)

    @cached_property
    def blocks(self) -> list[Block]:
        """Of labels that share no inequality, for energies without couplings."""
        return blocks_of(self.system, self.sign, self.decisive, self.gain)

    @cached_property
    def moving(self) -> list[Moves]:
        """Of the groups too large to list."""
        return [Moves(self.system, group) for group in self._apart]

    def reached(self, y: Tensor) -> Tensor:
        """(inequalities, ...) A y of whole label sets (labels, ...)."""
        return torch.sparse.mm(self._matrix, y.flatten(1).contiguous()).unflatten(1, y.shape[1:])

    def penalty(self, y: Tensor) -> Tensor:
        """(...) of whole label sets (..., labels)."""
        lacking = self.reached(y.movedim(-1, 0)) < self.least.view(-1, *[1] * (y.dim() - 1))
        return (self.weight @ lacking.flatten(1).to(y.dtype)).view(y.shape[:-1])

    def broken(self, group: Group, y: Tensor) -> NDArray[np.bool_]:
        """(rows, chains) whether chains (rows, labels, chains) break what binds the group."""
        rows = group.rows[self.system.binds[group.rows]]
        A, least = self.system.matrix[rows][:, group.labels], self.system.least[rows]
        few = y[:, torch.from_numpy(group.labels)].numpy()
        lacking = A @ few.transpose(1, 0, 2).reshape(len(group.labels), -1) < least[:, None]
        return np.asarray(lacking.any(0).reshape(len(y), -1))


def _connected(system: RuleSystem, group: Group) -> bool:
    """Whether changing a label at a time reaches every legal set, whatever is told: by leaving all labels out, by taking all, or,
    of a hierarchy, by taking what is above first."""
    bind = [system.inequalities[k] for k in group.rows if system.binds[k]]
    return group.is_hierarchy or all(not one.plus for one in bind) or all(not one.minus for one in bind)


@dataclass(frozen=True)
class Ruled:
    """A :class:`~enstruct.joint.clamped.Clamped` problem under rules. ``numbers`` (rows,): of the rows, for errors; ``known``
    (rows, labels): what is told, with what follows; ``mean`` (rows, labels): marginals of independent labels, that chains begin
    at; ``generator``: of moves of several labels, which share no numbers with the sweeps. ``shared``: whether rows have the same
    ones, so that what a row is answered does not depend on others; rows that teach have their own."""

    numbers: Tensor
    problem: Clamped
    rules: Compiled
    known: Tensor
    mean: Tensor
    generator: torch.Generator
    shared: bool = True

    @property
    def n_drawn(self) -> int:
        """Rows that random numbers are drawn for."""
        return 1 if self.shared else len(self.mean)

    @property
    def burn_in(self) -> int:
        return ALIKE if self.rules.moving else BURN_IN

    @property
    def free(self) -> Tensor:
        return self.problem.free

    @property
    def real(self) -> Tensor:
        return self.problem.real

    def log_density(self, y: Tensor) -> Tensor:
        told, out = torch.nan_to_num(self.known), self.problem.log_density(y)
        for states in torch.arange(y.shape[1]).split(max(1, CELLS // max(1, self.known.numel()))):
            some = y[:, states].expand(len(told), -1, -1)
            # labels that do not change, padded or told, are as told
            some = torch.where(self.real.unsqueeze(1), some, told.gather(1, self.free).unsqueeze(1))
            whole = told.unsqueeze(1).repeat(1, some.shape[1], 1).scatter(2, self.free.unsqueeze(1).expand_as(some), some)
            out[:, states] -= self.rules.penalty(whole)
        return out

    def chains(self, y: Tensor) -> RuledChains:
        """Labels are all among the free ones."""
        inner = self.problem.chains(y)
        apart = isinstance(inner, ResidualChains) and not inner.coupled
        # by the whole system, not by what moves in these rows: a row's answers do not depend on the rows beside it
        few = apart and len(self.rules.blocks) < self.rules.system.n_labels
        return RuledChains(self, inner, self.rules.blocks if few else [])

    def take(self, rows: Tensor) -> Self:
        return replace(
            self, numbers=self.numbers[rows], problem=self.problem.take(rows), known=self.known[rows], mean=self.mean[rows]
        )

    def odds(self, group: Group) -> Tensor:
        """(rows, states) log of the group's legal sets that agree with what is told, as independent labels; not normalised."""
        labels = torch.from_numpy(group.labels)
        fits = torch.from_numpy(agreeing(group, self.known[:, labels].numpy()))
        logits = torch.logit(self.mean[:, labels].clamp(1e-4, 1 - 1e-4))
        return (logits @ torch.from_numpy(group.states).to(logits.dtype).T).masked_fill(~fits, -torch.inf)

    def drawn(self, group: Group, n: int) -> Tensor:
        """(rows, n, labels of the group) legal sets of it, as of independent labels."""
        cumulative = torch.softmax(self.odds(group), 1).double().cumsum(1)
        uniform = torch.rand(self.n_drawn, n, generator=self.generator, dtype=torch.float64) * cumulative[:, -1:]
        index = torch.searchsorted(cumulative, uniform.contiguous()).clamp(max=cumulative.shape[1] - 1)
        return torch.from_numpy(group.states)[index].to(self.mean.dtype)

    def legal(self, y: Tensor) -> Tensor:
        """Group by group: of implications what y implies is added, of listed groups sets are drawn; chains that break one
        too large for that begin at its best set. All labels are among the free ones."""
        system, y = self.rules.system, torch.where(self.known.isnan().unsqueeze(2), y, torch.nan_to_num(self.known).unsqueeze(2))
        for below, above in system.upwards:
            y[:, above] = torch.maximum(y[:, above], y[:, below])
        for group in system.groups:
            if group.listed and not group.is_hierarchy:
                y[:, torch.from_numpy(group.labels)] = self.drawn(group, y.shape[2]).transpose(1, 2)
        for group in self.rules.large:
            broken = torch.from_numpy(self.rules.broken(group, y))
            rows = torch.nonzero(broken.any(1)).squeeze(1)
            if len(rows):
                logits = torch.logit(self.mean[rows].clamp(1e-4, 1 - 1e-4)).numpy()
                chosen = best(system.binding, logits, self.known[rows].numpy(), self.numbers[rows].numpy())
                labels = torch.from_numpy(group.labels)
                legal = torch.from_numpy(chosen)[:, labels].to(y.dtype).unsqueeze(2)
                y[rows.unsqueeze(1), labels] = torch.where(broken[rows].unsqueeze(1), legal, y[rows.unsqueeze(1), labels])
        return y


class RuledChains:
    """Keeps A y of all inequalities in place, (inequalities, rows, chains). ``blocks``: of labels that are drawn at once."""

    def __init__(self, problem: Ruled, inner: Any, blocks: list[Block]) -> None:
        self._problem, self._rules, self._inner = problem, problem.rules, inner
        self._reached = self._rules.reached(inner.y.transpose(0, 1))
        moves = problem.real.any(0)
        some = [block.among(moves) for block in blocks]
        self._blocks = {int(block.labels[0]): block for block in some if len(block.labels)}
        self.moving: Sequence[Labels] = [block.labels for block in self._blocks.values()] if blocks else inner.moving

    @property
    def y(self) -> Tensor:
        return self._inner.y

    def log_odds(self, t: Labels) -> Tensor:
        if not isinstance(t, int):
            return self._inner.log_odds(t) + self._blocks[int(t[0])].odds(self._reached, self._inner.at(t))
        odds, at = self._inner.log_odds(t), self._rules.of[t]
        if not len(at):
            return odds
        without = torch.addcmul(self._reached[at], self._rules.sign[t], self._inner.y[:, t], value=-1)
        return odds + ((without == self._rules.decisive[t]) * self._rules.gain[t]).sum(0)

    def put(self, t: Labels, value: Tensor) -> None:
        if not isinstance(t, int):
            before = self._inner.at(t)
            self._inner.put(t, value)
            self._blocks[int(t[0])].carry(self._reached, self._inner.at(t) - before)
            return
        at = self._rules.of[t]
        if not len(at):
            self._inner.put(t, value)
            return
        before = self._inner.y[:, t].clone()
        self._inner.put(t, value)
        self._reached.index_add_(0, at, self._rules.sign[t] * (self._inner.y[:, t] - before))

    def jump(self) -> None:
        """Moves of several labels, between sweeps."""
        for group in self._rules.jumping:
            labels = group.labels.tolist()
            self._redraw(group, Move(labels, [], torch.zeros(2, len(labels), 0)))
        for moves in self._rules.moving:
            for table in moves.tables:
                self._redraw(table, moves.of(table.labels.tolist()))
            for move in moves.drawn(self._problem.generator):
                self._propose(move, 1 - self.y[:, move.changed].transpose(1, 2), torch.zeros(()))

    def _redraw(self, group: Group, move: Move) -> None:
        """All labels of a listed group anew, as if they were independent."""
        new = self._problem.drawn(group, self.y.shape[2])  # (rows, chains, labels)
        logits = torch.logit(self._problem.mean[:, move.changed].clamp(1e-4, 1 - 1e-4))
        old = self.y[:, move.changed].transpose(1, 2)
        self._propose(move, new, ((old - new) * logits.unsqueeze(1)).sum(2))

    def _propose(self, move: Move, values: Tensor, log_ratio: Tensor) -> None:
        """Take ``values`` (rows, chains, changed labels) in place of what is, or not; ``log_ratio``: log q(old) - log q(new)."""
        labels = move.labels
        old = self.y[:, labels].transpose(1, 2).clone()
        new, back = move.carried(old, values, self._problem.real[:, labels])  # told labels stay
        drawn = torch.rand(self._problem.n_drawn, self.y.shape[2], generator=self._problem.generator)
        if not bool((back & (new != old).any(2)).any()):
            return
        gain = torch.where(back, log_ratio, -torch.inf)
        for k, t in enumerate(labels):
            gain = gain + (new[..., k] - old[..., k]) * self.log_odds(t)
            self.put(t, new[..., k])
        refused = torch.log(drawn) >= gain
        if not bool(refused.any()):
            return
        for k, t in enumerate(labels):
            self.log_odds(t)
            self.put(t, torch.where(refused, old[..., k], new[..., k]))
