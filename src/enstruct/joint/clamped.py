"""An energy with some labels told: what is left is a smaller problem in the free labels alone.

The free labels of a row are numbered t = 0..T-1, T the most that any row of a block has; rows with fewer are padded with labels
that stay absent. What the told labels add is folded into fields and offsets once, so that neither chains nor enumeration touch
them again:

    -E(y_free) = constant + sum_t y_t F_t + 1/2 y' W y + v . g(A + C y)           :class:`ClampedResidual`

Where most labels are free, told ones are left among them and stay as they are (``among_all``): rows then share W and C, which
they would otherwise each have a copy of. Told values may be relaxed. Energies of other forms are evaluated as they are
(:class:`ClampedEnergy`), at two evaluations a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, cast

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.energies.residual import ResidualEnergy, root, squareplus

BURN_IN = 4
"""Sweeps before what is drawn counts."""
BLOCK = 16
"""Labels whose pushes are found by one product."""
NEVER = -1e4
"""Field of a padded label, in nats: exp(NEVER) is 0 in single precision, so that no chain ever takes it."""


Labels = int | Tensor
"""One free label, or several (k,) that say nothing of one another while all others are as they are."""


class Chains(Protocol):
    """Label sets that change a label at a time, or some labels."""

    @property
    def y(self) -> Tensor:
        """(rows, T, chains)."""

    @property
    def moving(self) -> Sequence[Labels]:
        """The free labels that may change in some row, in order: a sweep passes over all others."""

    def log_odds(self, t: Any) -> Tensor:
        """(rows, chains) of the free label t, given the chain's others; of several (k, rows, chains)."""

    def put(self, t: Any, value: Tensor) -> None:
        """The free label t becomes ``value`` (rows, chains), 0 or 1, where it may change; a padded one is never drawn to be 1.
        Several become ``value`` (k, rows, chains)."""

    def jump(self) -> None:
        """Moves of several labels at once between sweeps, where single ones do not reach everything."""


class Clamped(Protocol):
    """The free labels of some rows. ``free`` (rows, T): their numbers; ``real`` (rows, T): False where they do not change, padded
    or told."""

    free: Tensor
    real: Tensor

    @property
    def burn_in(self) -> int:
        """Sweeps before what is drawn counts."""

    def log_density(self, y: Tensor) -> Tensor:
        """-E (rows, states) of y (rows, states, T) or (1, states, T)."""

    def chains(self, y: Tensor) -> Chains: ...

    def legal(self, y: Tensor) -> Tensor:
        """States (rows, T, chains) that chains can begin at: y, or others where rules forbid these."""

    def take(self, rows: Tensor) -> Self: ...


def free_labels(known: Tensor) -> tuple[Tensor, Tensor]:
    """(free, real), both (rows, T), of told values (rows, labels) with NaN where nothing is told."""
    unknown = known.isnan()
    T = int(unknown.sum(1).max()) if len(known) else 0
    order = torch.argsort(unknown.logical_not().to(torch.uint8), dim=1, stable=True)[:, :T]
    return order, unknown.gather(1, order)


def moving_labels(real: Tensor) -> list[int]:
    """Of (rows, T): those that may change in some row."""
    return cast(list[int], torch.nonzero(real.any(0)).squeeze(1).tolist())


@dataclass(frozen=True)
class ClampedResidual:
    """``pairs`` (rows or 1, T, T), ``matrix`` (rows or 1, T, units), ``offset`` (rows, units): None where the energy has none.
    ``rest`` (rows, T): what stays where ``real`` is False; None where only padded labels stay, which are absent."""

    free: Tensor
    real: Tensor
    rest: Tensor | None
    constant: Tensor
    field: Tensor
    pairs: Tensor | None
    matrix: Tensor | None
    offset: Tensor | None
    weights: Tensor | None
    burn_in: ClassVar[int] = BURN_IN

    @classmethod
    def of(cls, energy: ResidualEnergy, state: State, known: Tensor) -> Self:
        """``known`` (rows, labels): told values in [0, 1], NaN where nothing is told."""
        free, real = free_labels(known)
        fields, mean, offsets = (cast(Tensor, term) for term in state.terms)
        told = torch.nan_to_num(known)
        residual = told - mean  # that of free labels while they are absent
        constant, field = (told * fields).sum(1), fields
        alike = bool((free == free[:1]).all()) and bool(real.all())
        pairs = matrix = offset = None
        couplings = energy.couplings()
        if couplings is not None:
            pushed = residual @ couplings
            constant, field = constant + 0.5 * (pushed * residual).sum(1), field + pushed
            few = free[:1] if alike else free
            pairs = couplings[few.unsqueeze(2), few.unsqueeze(1)]
            pairs = pairs if alike else pairs * (real.unsqueeze(2) & real.unsqueeze(1))
        if energy.matrix is not None:
            offset = offsets + residual @ energy.matrix
            matrix = energy.matrix[free[:1]] if alike else energy.matrix[free] * real.unsqueeze(2)
        field = field.gather(1, free).masked_fill(~real, NEVER)
        return cls(free, real, None, constant, field, pairs, matrix, offset, energy.weights)

    @classmethod
    def among_all(cls, energy: ResidualEnergy, state: State, known: Tensor) -> Self:
        """As :meth:`of`, told labels being among the free ones."""
        whole = cls.of(energy, state, torch.full_like(known, torch.nan))
        return replace(whole, real=known.isnan(), rest=torch.nan_to_num(known))

    def take(self, rows: Tensor) -> Self:
        def some(tensor: Tensor | None) -> Tensor | None:
            return tensor if tensor is None or len(tensor) == 1 < len(self.free) else tensor[rows]

        return replace(
            self,
            free=self.free[rows],
            real=self.real[rows],
            rest=some(self.rest),
            constant=self.constant[rows],
            field=self.field[rows],
            pairs=some(self.pairs),
            matrix=some(self.matrix),
            offset=None if self.offset is None else self.offset[rows],
        )

    def log_density(self, y: Tensor) -> Tensor:
        value = self.constant.unsqueeze(1) + (y @ self.field.unsqueeze(2)).squeeze(2)
        if self.pairs is not None:
            value = value + 0.5 * ((y @ self.pairs) * y).sum(2)
        if self.matrix is not None and self.offset is not None and self.weights is not None:
            value = value + squareplus(y @ self.matrix + self.offset.unsqueeze(1)) @ self.weights
        return value

    def legal(self, y: Tensor) -> Tensor:
        return y

    def chains(self, y: Tensor) -> ResidualChains:
        return ResidualChains(self, self.begun(y))

    def begun(self, y: Tensor) -> Tensor:
        """y (rows, T, chains) with what stays in its place."""
        return torch.where(self.real.unsqueeze(2), y, 0.0 if self.rest is None else self.rest.unsqueeze(2))


class ResidualChains:
    """Keeps what the units see, A + C y, in place; a step costs O(BLOCK + units) a chain, and what labels push others by, W y,
    comes in blocks of labels, one product of matrices each: within a block a label that changes pushes those after it.

    What belongs to a label is cut out once, since a step takes hardly longer than the cutting. Labels and units come first, (T,
    rows, chains) and (units, rows, chains). Of 2 [g(u + c) - g(u)] the linear part, c, is in the fields.
    """

    def __init__(self, problem: ClampedResidual, y: Tensor) -> None:
        self._all, field = y.transpose(0, 1).contiguous(), problem.field
        self.moving = moving_labels(problem.real)
        self._labels = self._all.unbind(0)
        self._moves = None if problem.rest is None else problem.real.T.unsqueeze(2)
        self._absent: Tensor | None = None
        self._seen: Tensor | None = None
        if problem.matrix is not None and problem.offset is not None and problem.weights is not None:
            seen = problem.matrix.transpose(1, 2) @ y + problem.offset.unsqueeze(2)
            self._seen = seen.transpose(0, 1).contiguous()
            self._columns = problem.matrix.permute(1, 2, 0).contiguous().unsqueeze(3).unbind(0)  # (units, rows or 1, 1) each
            self._half = 0.5 * problem.weights
            field = field + problem.matrix @ self._half
        self._fields = field.T.contiguous().unsqueeze(2)  # (T, rows, 1)
        self._pairs = problem.pairs
        self._first = self._from = self._end = 0
        """The block that is open: its first label, the first of which it has log-odds still, and where it ends."""
        if self._pairs is not None:
            after = self._pairs.permute(2, 0, 1).contiguous().unsqueeze(3)  # (pushed, rows or 1, pushing, 1)
            ends = [min(t - t % BLOCK + BLOCK, len(self._labels)) for t in range(len(self._labels))]
            self._pushes = [after[t + 1 : end, :, t] for t, end in enumerate(ends)]

    @property
    def y(self) -> Tensor:
        return self._all.transpose(0, 1)

    @property
    def coupled(self) -> bool:
        """Whether a label's log-odds depend on others."""
        return self._pairs is not None or self._seen is not None

    def at(self, t: Labels) -> Tensor:
        """The labels as they are: (rows, chains) of one, (k, rows, chains) of several."""
        return self._labels[t] if isinstance(t, int) else self._all[t]

    def log_odds(self, t: Labels) -> Tensor:
        """Of several labels where the energy has no couplings."""
        if not self.coupled:
            return self._fields[t].expand(*self._fields[t].shape[:-1], self._all.shape[2])
        t = cast(int, t)
        y = self._labels[t]
        if self._pairs is None:
            logits = self._fields[t]
        else:
            if not self._from <= t < self._end:
                self._open(t, self._pairs)
            logits = self._block[t - self._first]
        if self._seen is not None:
            self._absent = torch.addcmul(self._seen, self._columns[t], y, value=-1)
            rise = root(self._absent + self._columns[t]).sub_(root(self._absent))
            logits = logits + (self._half @ rise.flatten(1)).view_as(y)
        return logits.expand_as(y)

    def _open(self, t: int, pairs: Tensor) -> None:
        """The block's labels from t on."""
        end = min(t - t % BLOCK + BLOCK, len(self._labels))
        self._first, self._from, self._end = t, t, end
        if len(pairs) == 1:  # one product for all rows
            pushed = (pairs[0, t:end] @ self._all.flatten(1)).view(end - t, *self._all.shape[1:])
        else:
            pushed = (pairs[:, t:end] @ self._all.transpose(0, 1)).transpose(0, 1)
        self._block = self._fields[t:end] + pushed

    def put(self, t: Labels, value: Tensor) -> None:
        """After ``log_odds(t)``."""
        if self._moves is not None:
            value = torch.where(self._moves[t], value, self.at(t))
        if not self.coupled:
            self._all[t] = value
            return
        t = cast(int, t)
        if self._absent is not None:
            self._seen = self._absent.addcmul_(self._columns[t], value)
        if self._pairs is not None:
            later = self._block[t - self._first + 1 :]
            if len(later):
                later.addcmul_(self._pushes[t], value - self._labels[t])
            self._from = t + 1
        self._labels[t].copy_(value)

    def jump(self) -> None:
        """Single moves reach everything."""


@dataclass(frozen=True)
class ClampedEnergy:
    """Any energy over label sets: ``energy(state, y)``. ``told`` (rows, labels): told values, 0 where nothing is told."""

    energy: Any
    state: State
    free: Tensor
    real: Tensor
    told: Tensor
    burn_in: ClassVar[int] = BURN_IN

    @classmethod
    def of(cls, energy: Any, state: State, known: Tensor) -> Self:
        return cls(energy, state, *free_labels(known), torch.nan_to_num(known))

    def take(self, rows: Tensor) -> Self:
        return replace(self, state=self.state.rows(rows), free=self.free[rows], real=self.real[rows], told=self.told[rows])

    def log_density(self, y: Tensor) -> Tensor:
        y = y.expand(len(self.free), -1, -1) * self.real.unsqueeze(1)
        whole = self.told.unsqueeze(1).repeat(1, y.shape[1], 1)
        whole.scatter_add_(2, self.free.unsqueeze(1).expand(-1, y.shape[1], -1), y)
        return cast(Tensor, -self.energy(self.state, whole))

    def legal(self, y: Tensor) -> Tensor:
        return y

    def chains(self, y: Tensor) -> EvaluatedChains:
        return EvaluatedChains(self, y * self.real.unsqueeze(2))


class EvaluatedChains:
    def __init__(self, problem: ClampedEnergy, y: Tensor) -> None:
        self.problem, self._y, self.moving = problem, y, moving_labels(problem.real)

    @property
    def y(self) -> Tensor:
        return self._y

    def log_odds(self, t: int) -> Tensor:
        y = self._y.transpose(1, 2).repeat(1, 2, 1)  # (rows, 2 chains, T)
        n = self._y.shape[2]
        y[:, :n, t], y[:, n:, t] = 0, 1
        absent, present = self.problem.log_density(y).split(n, 1)
        return present - absent

    def put(self, t: int, value: Tensor) -> None:
        self._y[:, t] = value * self.problem.real[:, t, None]

    def jump(self) -> None:
        """Single moves reach everything."""
