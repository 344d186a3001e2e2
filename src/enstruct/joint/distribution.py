"""The one primitive: what an energy says of some labels while others are told.

Rows with few free labels are enumerated, the others sampled by chains that start at mean field (of other energies than the
residual one: at the base's marginals). Where labels are many, those that mean field holds to be all but impossible are not
sampled: they stay at their means, which the chains of the others see.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.energies.base import State
from enstruct.energies.residual import ResidualEnergy
from enstruct.joint import annealing, enumeration, gibbs, one_row
from enstruct.joint.clamped import Clamped, ClampedEnergy, ClampedResidual
from enstruct.joint.mean_field import mean_field
from enstruct.joint.ruled import ANNEALED, Compiled, Ruled
from enstruct.rules import RuleSystem
from enstruct.rules.follow import are_possible, follow
from enstruct.rules.marginals import raised

MANY = 64
"""Free labels from which on the all but impossible are left out of the chains, and told labels, where fewer, left among them."""
IMPOSSIBLE = 2e-3
SWEEPS = 40
"""Of a chain before its state is a sample."""
CELLS = 2**22
"""Numbers that a block of rows may take: couplings among free labels, and chains."""


class LogProbability(NamedTuple):
    """log p(y | x) in nats (rows,), with its standard error where log Z was estimated (0 where it was enumerated)."""

    value: NDArray[np.float64]
    error: NDArray[np.float64]


class Joint:
    """exp(-E)/Z over label sets. ``start`` (rows, labels) are marginals that chains of other energies start at.

    ``known`` arguments (rows, labels) hold told values and NaN where nothing is told; None tells nothing. Under ``rules`` what
    binds has no exceptions: told labels that break it are a DataError. Rules are of residual energies.
    """

    def __init__(self, energy: Any, state: State, start: Tensor, seed: int = 0, rules: RuleSystem | None = None) -> None:
        self.energy, self.state, self.start, self.seed = energy, state, start, seed
        self.rules = rules if rules is not None and len(rules.inequalities) else None
        self._compiled = None if self.rules is None else Compiled(self.rules)
        self._path = None if self.rules is None else Compiled(self.rules, ANNEALED)
        self._sampler: Any = gibbs
        self._own: tuple[torch.Generator, torch.Generator] | None = None

    def take(self, rows: Tensor) -> Joint:
        out = copy(self)
        out.state, out.start = self.state.rows(rows), self.start[rows]
        return out

    def hurried(self) -> Joint:
        """That answers one row at a time as fast as it can (:mod:`enstruct.joint.one_row`)."""
        out = copy(self)
        out._sampler = one_row
        return out

    def apart(self) -> Joint:
        """Whose samples are independent from row to row. A row's then depend on the rows that it is asked with, where
        otherwise all rows have the same random numbers: least noise in what is held against one another."""
        out = copy(self)
        out._own = self._generator(), self._generator(of_moves=True)
        return out

    @torch.no_grad()
    def marginals(self, known: Tensor | None = None, tolerance: float = gibbs.TOLERANCE, chains: int = gibbs.CHAINS) -> Tensor:
        """(rows, labels) p(y_i = 1 | x, told); told labels as they were told. ``chains``: of a row, where it is sampled: of few
        rows more of them take hardly longer a sweep, and fewer sweeps."""
        known = self._told(known)
        out, start = self._start(known)
        if isinstance(self.energy, ResidualEnergy) and not self.energy.coupled and self.rules is None:
            return out  # mean field is exact
        for rows, problem, few in self.problems(known, start):
            T = problem.free.shape[1]
            if T <= enumeration.MOST_FREE:
                p = enumeration.marginals(problem)
            else:
                p = self._sampler.marginals(problem, few, self._generator(), known.shape[1], tolerance, chains).marginals
            out[rows] = _scattered(out[rows], problem, p)
        return out

    @torch.no_grad()
    def log_density(self, y: Tensor) -> Tensor:
        """(rows, n) of whole label sets (rows, n, labels): -E less what the rules that they break weigh; not normalised."""
        value = cast(Tensor, -self.energy(self.state, y))
        return value if self._compiled is None else value - self._compiled.penalty(y)

    @torch.no_grad()
    def sample(self, n: int, known: Tensor | None = None, sweeps: int = SWEEPS) -> Tensor:
        """(rows, n, labels) label sets: exact where states are enumerated, else the ends of n chains. See :meth:`apart`."""
        known, shared = self._told(known), self._own is None
        start = self._start(known)[1]
        sampled = self._possible(known, start)  # what is all but impossible is drawn by itself
        uniform = torch.rand(1 if shared else len(known), n, known.shape[1], generator=self._generator())
        out = (uniform < torch.nan_to_num(sampled).unsqueeze(1)).to(known.dtype)
        for rows, problem, few in self._blocks(sampled, start, n):
            if problem.free.shape[1] <= enumeration.MOST_FREE:
                y = enumeration.draw(problem, n, self._generator(), shared)
            else:
                y = self._sampler.draw(problem, few, n, sweeps, self._generator(), known.shape[1], shared)
            free = problem.free.unsqueeze(1).expand(-1, n, -1)
            out[rows] = out[rows].scatter(2, free, torch.where(problem.real.unsqueeze(1), y, out[rows].gather(2, free)))
        return out

    @torch.no_grad()
    def log_probability(self, y: Tensor, known: Tensor | None = None) -> LogProbability:
        """log p(y | x), or with holes (NaN) in y of the labels that it tells; given ``known``: -inf of y against it."""
        known = self._told(known)
        whole = torch.where(known.isnan(), y, known)
        (above, above_error), (below, below_error) = self.log_partition(whole), self.log_partition(known)
        against = (~known.isnan() & ~y.isnan() & (y != known)).any(1).numpy()
        if self.rules is not None:  # y may leave nothing that keeps the rules
            against |= ~are_possible(self.rules, whole.numpy())
        return LogProbability(np.where(against, -np.inf, above - below), np.hypot(above_error, below_error))

    @torch.no_grad()
    def log_partition(self, known: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log of the sum of exp(-E) over the free labels (rows,), and its standard error."""
        start = self._start(known)[1]
        value, error = np.zeros(len(known)), np.zeros(len(known))
        for rows, problem, few in self._blocks(known, start, annealing.CHAINS, enumeration.MOST_COUNTED):
            if problem.free.shape[1] <= enumeration.MOST_COUNTED:
                value[rows.numpy()] = enumeration.log_partition(problem).numpy()  # a tensor of one number would index as a number
            else:
                estimate = self._annealed(problem, few, known.shape[1])
                value[rows.numpy()], error[rows.numpy()] = estimate.log_z.numpy(), estimate.error.numpy()
        return value, error

    def _annealed(self, problem: Clamped, start: Tensor, n_labels: int) -> annealing.Partition:
        """Under rules the path ends where breaking one costs ANNEALED nats, so that chains leave the sets that do."""
        if self._path is None:
            return annealing.log_partition(problem, start, self._generator(), n_labels)
        path = cast(Clamped, replace(cast(Ruled, problem), rules=self._path))
        return annealing.log_partition(path, start, self._generator(), n_labels, asked=problem)

    def problems(self, known: Tensor, start: Tensor) -> Iterator[tuple[Tensor, Clamped, Tensor]]:
        """What :meth:`marginals` solves, in blocks: row numbers, problem, the means that chains of its free labels start at."""
        return self._blocks(self._possible(known, start), start)

    def _told(self, known: Tensor | None) -> Tensor:
        """(rows, labels), with what follows from it."""
        known = torch.full_like(self.start, torch.nan) if known is None else known
        return known if self.rules is None else torch.from_numpy(follow(self.rules, known.numpy()))

    def _generator(self, of_moves: bool = False) -> torch.Generator:
        """A new one each time, unless rows are apart; moves under rules share no numbers with sweeps."""
        if self._own is not None:
            return self._own[of_moves]
        return torch.Generator().manual_seed(self.seed + of_moves)

    def _start(self, known: Tensor) -> tuple[Tensor, Tensor]:
        """(means with told labels as told, means)."""
        if isinstance(self.energy, ResidualEnergy):
            mean = mean_field(self.energy, self.state, known)
        else:
            mean = torch.where(known.isnan(), self.start, known)
        return mean.clone(), mean

    def _possible(self, known: Tensor, mean: Tensor) -> Tensor:
        """``known`` with the all but impossible labels of rows with many free ones told to be at their means."""
        if not isinstance(self.energy, ResidualEnergy):
            return known
        many = known.isnan().sum(1, keepdim=True) > MANY
        if self.rules is None:
            return torch.where(many & known.isnan() & (mean < IMPOSSIBLE), mean, known)
        # a label that a likely one implies is likely
        unlikely = many & known.isnan() & torch.from_numpy(raised(self.rules, mean.numpy()) < IMPOSSIBLE)
        tied, below = (torch.from_numpy(side) for side in (self.rules.tied, self.rules.in_hierarchy))
        possible = torch.where(unlikely & ~tied, mean, torch.where(unlikely & below, 0.0, known))
        return torch.where(possible.isnan() & tied, torch.from_numpy(follow(self.rules, possible.numpy())), possible)

    def _problem(self, rows: Tensor, known: Tensor, among_all: bool, mean: Tensor) -> Clamped:
        state, known, mean = self.state.rows(rows), known[rows], mean[rows]
        if not isinstance(self.energy, ResidualEnergy):
            return cast(Clamped, ClampedEnergy.of(self.energy, state, known))
        problem = cast(Clamped, (ClampedResidual.among_all if among_all else ClampedResidual.of)(self.energy, state, known))
        if self._compiled is None:
            return problem
        moves = self._generator(of_moves=True)
        return cast(Clamped, Ruled(rows, problem, self._compiled, known, mean, moves, shared=self._own is None))

    def _blocks(
        self,
        known: Tensor,
        start: Tensor,
        chains: int = gibbs.CHAINS,
        enumerated: int | None = None,
    ) -> Iterator[tuple[Tensor, Clamped, Tensor]]:
        """(row numbers, problem, start of its free labels), rows with about as many free labels together.

        Rows of up to ``enumerated`` free labels (None: MOST_FREE) share a block with no others: which of the two ways answers a
        row must not depend on the rows beside it.
        """
        enumerated = enumeration.MOST_FREE if enumerated is None else enumerated
        free = known.isnan().sum(1)
        order = torch.argsort(free, stable=True)
        first = 0
        while first < len(order):
            T = int(free[order[first]])
            ruled = self._compiled is not None and enumerated < T  # chains under rules ask for labels by number
            among_all = isinstance(self.energy, ResidualEnergy) and (ruled or (T > MANY and known.shape[1] < 2 * T))
            each = known.shape[1] * chains if among_all else T * T + T * chains
            rows = order[first : first + max(1, CELLS // max(1, each))]
            if enumerated >= T:  # one number of free labels at a time: states double with each
                rows = rows[free[rows] == T]
            elif not among_all:
                rows = rows[free[rows] <= max(T + 16, T * 3 // 2)]
            problem = self._problem(rows, known, among_all, start)
            yield rows, problem, start[rows].gather(1, problem.free)
            first += len(rows)


def independent(logits: Tensor, seed: int = 0, rules: RuleSystem | None = None) -> Joint:
    """Labels of these logits (rows, labels) that nothing ties together, unless rules do."""
    energy = ResidualEnergy(logits.shape[1], pairs=False).eval()
    with torch.no_grad():
        return Joint(energy, energy.prepare(logits.float()), torch.sigmoid(logits.float()), seed, rules)


def _scattered(out: Tensor, problem: Clamped, p: Tensor) -> Tensor:
    """``out`` (rows, labels) with the free labels' p (rows, T) put in their places."""
    return out.scatter(1, problem.free, torch.where(problem.real, p, out.gather(1, problem.free)))
