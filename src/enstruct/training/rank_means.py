"""Means over the rows of all ranks of a training, through memory that the ranks share where they are of one machine.

gloo, which joins processes without an accelerator, sends numbers through sockets, be it from a process to its neighbour: a few
milliseconds for a network's gradient, of an update that takes a few dozen. Ranks of one machine write theirs into memory they
share instead:

    row r <- means of rank r    | all are there |    last row, columns of r <- mean of the rows, by their counts    | once more |

Each then reads the last row. One rank averages a column for all, so that they have the same means to the bit. What waits for the
others is a byte through a local socket, over which the memory was handed on. Neither has a name in a file system: nothing is left
behind however a process ends.
"""

from __future__ import annotations

import logging
import mmap
import os
import secrets
import socket
import struct
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.constants import default_pg_timeout

from enstruct.training.ranks import add_up, n_ranks, of_first, on_all, rank, together

logger = logging.getLogger(__name__)
MEETING = 60.0
"""Seconds that ranks take to meet at most."""


@dataclass(frozen=True)
class Neighbours:
    """The ranks of one machine: ``rows`` (ranks + 1, numbers) that all of them see, and sockets, of rank 0 to all others, of the
    others to rank 0."""

    rows: Tensor
    sockets: Sequence[socket.socket]

    def __post_init__(self) -> None:
        weakref.finalize(self, _close, self.sockets)

    def average(self) -> int:
        """The last row becomes the mean of the others, each counting what its last column says; returns what these add up to.

        Whoever is stopped in the middle, by Ctrl-C or by another's end, closes its sockets: all hear of it, and none goes on as
        if the others had come.
        """
        try:
            self.meet()
            ends = [self.rows.shape[1] * number // n_ranks() for number in (rank(), rank() + 1)]
            *others, mean = self.rows[:, slice(*ends)]
            counts = self.rows[:-1, -1].tolist()
            n = sum(counts)
            torch.mul(others[0], counts[0] / n, out=mean)
            for other, count in zip(others[1:], counts[1:], strict=True):
                mean.add_(other, alpha=count / n)
            self.meet()
        except BaseException:
            _close(self.sockets)
            raise
        return int(n)

    def meet(self) -> None:
        """Returns once all ranks have called it. What a rank wrote before is what all see after it."""
        together(self._meet)

    def _meet(self) -> None:
        first = rank() == 0
        for heard in (True, False) if first else (False, True):
            for one in self.sockets:
                if not heard:
                    one.sendall(b"+")
                elif not one.recv(1):
                    raise ConnectionResetError("its socket is closed")


def _close(sockets: Sequence[socket.socket]) -> None:
    for one in sockets:
        one.close()


class RankMeans:
    """Of one list of tensors, again and again: memory is kept from call to call. A copy begins with none, so that all ranks have
    to go on with a copy where one does."""

    def __init__(self) -> None:
        self._means: Tensor | None = None
        self._neighbours: Neighbours | None = None
        self._group: Any = lambda: None

    def __reduce__(self) -> Any:
        return RankMeans, ()

    @torch.no_grad()
    def of(self, parts: Sequence[Tensor], rows: int) -> tuple[Tensor, int]:
        """((numbers,) the means of all ranks' rows, how many these are), of this rank's means over its ``rows``: ``parts``, alike
        on all ranks, which are laid end to end. In float32 at least, overwritten by the next call. Each rank has to call this.
        """
        dtype = reduce(torch.promote_types, (part.dtype for part in parts), torch.float32)  # counts of rows need that much
        sizes = [part.numel() for part in parts]
        means = self._prepared(sum(sizes) + 1, dtype, parts[0].device)
        own = means if self._neighbours is None else self._neighbours.rows[rank()]
        for part, place in zip(parts, own[:-1].split(sizes), strict=True):
            place.view(part.shape).copy_(part)
        own[-1] = rows
        if self._neighbours is None:
            means[:-1] *= rows
            add_up(means)
            n = int(means[-1])
            return means[:-1].div_(n), n
        n = self._neighbours.average()
        return means.copy_(self._neighbours.rows[-1])[:-1], n

    def _prepared(self, size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
        kept = self._means
        if kept is None or (len(kept), kept.dtype, kept.device) != (size, dtype, device) or self._group() is not dist.group.WORLD:
            self._means = None  # until all have met
            self._neighbours = neighbours(size, dtype) if device.type == "cpu" else None
            kept = self._means = torch.empty(size, dtype=dtype, device=device)
            self._group = weakref.ref(dist.group.WORLD)
        return kept


def neighbours(size: int, dtype: torch.dtype) -> Neighbours | None:
    """With rows of so many numbers; None, on all ranks alike, where not all are of one machine or it gives no such memory. Each
    rank has to call this."""
    n_bytes = (n_ranks() + 1) * size * dtype.itemsize
    sockets: list[socket.socket] = []
    with ExitStack() as left:
        opened = _opened(n_bytes, left) if rank() == 0 else None
        name = of_first(None if opened is None else opened.listening.getsockname())
        if name is not None and opened is None:
            sockets += _connected(name)
        if on_all(bool(sockets) or opened is not None):
            rows = _met(opened, sockets, left, n_bytes)
            if on_all(rows is not None) and rows is not None:
                return Neighbours(torch.frombuffer(rows, dtype=dtype).view(n_ranks() + 1, size), sockets)
    _close(sockets)
    logger.info("The ranks share no memory: gradients go through %s.", dist.get_backend())
    return None


def _patience() -> float:
    """Seconds that one rank waits for the others: those of their group, of which torch says so in private alone."""
    group: Any = dist.group.WORLD
    options = getattr(group._get_backend(torch.device("cpu")), "options", None)
    return float(getattr(options, "_timeout", default_pg_timeout).total_seconds())


class _Opened(NamedTuple):
    """Memory's handle, and the socket that the others come to for it."""

    handle: int
    listening: socket.socket


def _opened(n_bytes: int, left: ExitStack) -> _Opened | None:
    """Closed with what is ``left``; None where there is none to be had."""
    if not hasattr(os, "memfd_create"):  # not on Linux
        return None
    try:
        handle = os.memfd_create("enstruct")
        left.callback(os.close, handle)
        os.posix_fallocate(handle, 0, n_bytes)  # all of it, as what is missing later would end the process
        listening = left.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(f"\0enstruct-{secrets.token_hex(16)}")  # a name of no file, which is gone with the socket
        listening.listen(n_ranks())
        listening.settimeout(MEETING)
    except OSError as error:
        logger.info("No memory for ranks to share: %s", error)
        return None
    return _Opened(handle, listening)


def _connected(name: bytes) -> list[socket.socket]:
    """Empty where nobody listens there: on another machine."""
    with ExitStack() as unless:
        try:
            one = unless.enter_context(socket.socket(socket.AF_UNIX))
            one.settimeout(MEETING)
            one.connect(name)
        except OSError:
            return []
        unless.pop_all()
    return [one]


def _met(opened: _Opened | None, sockets: list[socket.socket], left: ExitStack, n_bytes: int) -> mmap.mmap | None:
    """The memory, and in ``sockets`` those that :class:`Neighbours` has, of ranks that are connected; None where it fails."""
    try:
        if opened is None:
            _, (handle,), _, _ = socket.recv_fds(sockets[0], 1, 1)
            left.callback(os.close, handle)
        else:
            handle = opened.handle
            while len(sockets) < n_ranks() - 1:
                one, _ = opened.listening.accept()
                if struct.unpack("3i", one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1] == os.geteuid():
                    sockets.append(one)
                    socket.send_fds(one, [b"+"], [handle])
                else:  # another user's, who found the name
                    one.close()
        for one in sockets:
            one.settimeout(_patience())
        return mmap.mmap(handle, n_bytes)
    except (OSError, ValueError) as error:
        logger.info("No memory for ranks to share: %s", error)
        return None
