"""One of several classes a row: the joint distribution where a row has one label, in closed form."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.errors import DataError, shown
from enstruct.joint.distribution import LogProbability


class Classes:
    """p(y = k | x) = softmax(logits)_k; what is asked, told and answered are indicators (rows, classes), as of a
    :class:`~enstruct.joint.Joint`. A class told absent has no probability, and one told present leaves none to the others."""

    def __init__(self, logits: Tensor, seed: int = 0) -> None:
        self.logits, self.seed, self._shared = logits, seed, True

    def take(self, rows: Tensor) -> Classes:
        out = copy(self)
        out.logits = self.logits[rows]
        return out

    def hurried(self) -> Classes:
        return self

    def apart(self) -> Classes:
        """Whose samples are independent from row to row, where otherwise all rows have the same random numbers."""
        out = copy(self)
        out._shared = False
        return out

    def marginals(self, known: Tensor | None = None, *_: Any) -> Tensor:
        """(rows, classes)."""
        return self._log_p(known).exp()

    def sample(self, n: int, known: Tensor | None = None, *_: Any) -> Tensor:
        """(rows, n, classes), one class in each draw."""
        if not len(self.logits):
            return self.logits.new_zeros(0, n, self.logits.shape[1])
        cumulative = self.marginals(known).double().cumsum(1)
        uniform = torch.rand(
            1 if self._shared else len(cumulative), n, generator=torch.Generator().manual_seed(self.seed), dtype=torch.float64
        )
        drawn = torch.searchsorted(cumulative, (uniform * cumulative[:, -1:]).contiguous(), right=True)
        drawn = drawn.clamp(max=cumulative.shape[1] - 1)
        return torch.nn.functional.one_hot(drawn, self.logits.shape[1]).to(self.logits.dtype)

    def log_density(self, y: Tensor) -> Tensor:
        """(rows, n) log p of indicators (rows, n, classes); -inf of what is not one class."""
        value = (y * self._log_p(None).unsqueeze(1)).sum(-1)
        return value.masked_fill(y.sum(-1) != 1, -torch.inf)

    def log_probability(self, y: Tensor, known: Tensor | None = None) -> LogProbability:
        """(rows,) log p(y | x, known) in nats, without error; of holes (NaN) in y what is possible is added up."""
        value = self._log_p(known).masked_fill(_ruled_out(y), -torch.inf).logsumexp(1)
        return LogProbability(value.double().numpy(), np.zeros(len(y)))

    def _log_p(self, known: Tensor | None) -> Tensor:
        logits = self.logits if known is None else self.logits.masked_fill(_ruled_out(known), -torch.inf)
        return logits.log_softmax(1)


def _ruled_out(told: Tensor) -> Tensor:
    """(rows, classes) what is told absent, or another than it present: all of them where two are."""
    there = told == 1
    n_there = there.sum(1, keepdim=True)
    return (told == 0) | (n_there - there.long() > 0)


def follow_classes(known: NDArray[np.float32], names: list[Any]) -> NDArray[np.float32]:
    """What is told, with what follows of a row having one class. DataError where it has two, or none is left."""
    there, absent = known == 1, known == 0
    for wrong, what in ((there.sum(1) > 1, "more than one class"), (absent.all(1), "no class")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            told = f": {shown([names[i] for i in np.flatnonzero(there[row])])}" if there[row].any() else ""
            raise DataError(f"known leaves row {row} {what}{told}, and a row has one of {shown(names)}: mend what it tells.")
    out = np.where(there.any(1, keepdims=True) & ~there, 0, known)
    last = (out == 0).sum(1) == out.shape[1] - 1
    return np.where(last[:, None] & np.isnan(out), 1, out).astype(np.float32)
