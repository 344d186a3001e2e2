"""Training in several processes at once (ranks), each on its share of every batch.

The processes are those of torch.distributed's default group, which whoever starts them has made: ``torchrun`` and ``accelerate
launch`` with ``enstruct train``, or a user's own program. All are given the same rows, settings and seed. An epoch's batches are
cut alike on all of them, and batch b of rank r of n is every n-th row of the joined one; gradients are means over the rows of
all, so n processes do what one would with whole batches. What is drawn for a batch (dropout, candidates) is each rank's own:

    order of an epoch   <-  (seed, stage, epoch)              other numbers of the epoch  <-  (seed, stage, epoch, 1 + rank)

Nothing is carried from one epoch to the next, and so a run goes on with another number of processes than it was begun with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from enstruct.environment import versions
from enstruct.errors import ConfigError, EnstructError, shortened

T = TypeVar("T")
_alone: ContextVar[bool] = ContextVar("_alone", default=False)
SAME = "Give every process the same rows, settings and random_state."


@dataclass(frozen=True)
class Ranks:
    """Of one training: the ``number`` of this process among ``n``, and the ``seed`` of all."""

    number: int
    n: int
    seed: int

    def seed_of(self, *place: int, own: bool) -> int:
        """Of random numbers at a place of the training, as (stage, epoch); of this rank alone, or the same on all."""
        key = (self.seed, *place, 1 + self.number if own else 0)
        return int(np.random.SeedSequence(key).generate_state(1)[0])

    def shares(self, order: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """This rank's rows of each batch of ``order``: two at least, where there are so many, as batch normalisation takes.

        Batches of too few rows for that take in those behind them until they have enough; a last one goes to that before it.
        ConfigError for fewer rows than ranks.
        """
        joined: list[NDArray[np.int64]] = []
        for index in order:
            if joined and len(joined[-1]) < 2 * self.n:
                joined[-1] = np.concatenate([joined[-1], index])
            else:
                joined.append(index)
        if len(joined) > 1 and len(joined[-1]) < 2 * self.n:
            joined[-2:] = [np.concatenate(joined[-2:])]
        if sum(map(len, joined)) < self.n:
            raise ConfigError(f"{sum(map(len, joined))} training rows are too few for {self.n} processes: start fewer.")
        return [index[self.number :: self.n] for index in joined]

    def gathered(self, answer: Callable[[Any], NDArray[Any]], X: Any) -> NDArray[Any]:
        """``answer(X)``, where each rank answers for some of the rows, one after another, and has those of all in the end."""
        ends = [X.shape[0] * number // self.n for number in range(self.n + 1)]
        mine = answer(X[np.arange(ends[self.number], ends[self.number + 1])])
        parts: list[Any] = [None] * self.n
        together(partial(dist.all_gather_object, parts, mine))
        return np.concatenate(parts)

    def on_any(self, flag: bool, device: torch.device | str) -> bool:
        """Whether it holds on one of them at least."""
        flags = torch.tensor([float(flag)], device=device)
        together(partial(dist.all_reduce, flags, dist.ReduceOp.MAX))
        return bool(flags.item())


def grouped() -> bool:
    """Whether this process trains within a group, be it the only one there."""
    return dist.is_available() and dist.is_initialized() and not _alone.get()


@contextmanager
def alone() -> Iterator[None]:
    """A block in which this process trains by itself, whatever group it is of: for what one of the ranks does alone."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def n_ranks() -> int:
    """How many processes train together: those of torch.distributed's default group, else this one."""
    return dist.get_world_size() if grouped() else 1


def rank() -> int:
    """The number of this process; number 0 writes and speaks for all."""
    return dist.get_rank() if grouped() else 0


def check_alone(what: str, remedy: str) -> None:
    """ConfigError where several processes train together, for what one does alone."""
    if n_ranks() > 1:
        raise ConfigError(f"{what} is fitted by one process, and this one is of a group of {n_ranks()}: {remedy}.")


def of_first(content: Any) -> Any:
    """What rank 0 has of it; each has to call this."""
    if n_ranks() == 1:
        return content
    sent = [content]
    together(partial(dist.broadcast_object_list, sent, src=0))
    return sent[0]


def on_all(flag: bool) -> bool:
    """Whether it holds on all ranks of a group of processors; each has to call this, and none goes on before all have."""
    if n_ranks() == 1:
        return flag
    flags = torch.tensor([float(flag)])
    together(partial(dist.all_reduce, flags, dist.ReduceOp.MIN))
    return bool(flags.item())


def add_up(numbers: Tensor) -> None:
    """In place, over all ranks; each has to call this."""
    if n_ranks() > 1:
        together(partial(dist.all_reduce, numbers))


@torch.no_grad()
def take_from_first_rank(tensors: Iterable[Tensor]) -> None:
    """Every rank's tensors become those of rank 0; each has to call this with as many of the same shapes."""
    if n_ranks() == 1:
        return
    for tensor in tensors:
        sent = tensor.detach().clone(memory_format=torch.contiguous_format)
        together(partial(dist.broadcast, sent, src=0))
        tensor.copy_(sent)


def check_equal_on_ranks(device: torch.device | str, remedy: str, **numbers: int) -> None:
    """ConfigError, on every rank alike, if one of the numbers is not the same on all; each has to call this."""
    if n_ranks() == 1:
        return
    own = torch.tensor(list(numbers.values()), device=device)
    ends = torch.cat([own, -own])
    together(partial(dist.all_reduce, ends, dist.ReduceOp.MAX))
    most, least = ends.split(len(own))
    for name, high, low in zip(numbers, most.tolist(), (-least).tolist(), strict=True):
        if high != low:
            raise ConfigError(f"The ranks of torch.distributed differ in {name.replace('_', ' ')}: {low} to {high}. {remedy}")


def check_versions_on_ranks() -> None:
    """ConfigError, on every rank alike, unless all have the same versions of what fits; each has to call this."""
    if n_ranks() == 1:
        return
    of_all: list[Any] = [None] * n_ranks()
    together(partial(dist.all_gather_object, of_all, versions()))
    for name in of_all[0]:
        if len(there := sorted({one[name] for one in of_all})) > 1:
            raise ConfigError(
                f"The ranks of torch.distributed differ in {name}: {', '.join(there)}. Install one version everywhere."
            )


def together(exchange: Callable[[], T]) -> T:
    """What it returns. EnstructError where it fails, which it does once another process is gone."""
    try:
        return exchange()
    except (RuntimeError, OSError) as error:
        raise EnstructError(
            "Another process of this training has ended, or does not take part; what it said tells why. One that fits alone does "
            f"so within `enstruct.training.ranks.alone()`. ({shortened(str(error).splitlines()[0], 80)})"
        ) from error
