"""What an output *is*: the operations every output space offers. A space knows no network.

Shapes: ``logits`` and ``truth`` are (batch, ...) for one output a row; candidate outputs carry a
sample axis, (batch, samples, ...). ``mask`` is 1 where a part of the output exists and 0 in holes; it broadcasts
against ``truth``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from enstruct.errors import unknown_name
from enstruct.randomness import drawn_like
from enstruct.spaces.label_vectors import dense


class RelaxedSpace(Protocol):
    """Operations on outputs of one kind, those of an optimiser over their relaxation included."""

    def relax(self, logits: Tensor) -> Tensor:
        """Logits to the relaxed output the energy is evaluated at."""

    def sample(self, logits: Tensor, n: int, mask: Tensor | None = None) -> Any:
        """``n`` exact draws a row from the predictor's distribution."""

    def noise(self, logits: Tensor, n: int) -> Tensor:
        """(batch, n, ...) normal noise for logits, in the way that outputs of this kind vary."""

    def log_prob(self, y: Any, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) log-probability of discrete outputs under the predictor."""

    def cost(self, y: Any, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) task cost of y, 0 at the truth."""

    def supervised_loss(self, logits: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch,) the loss one would train the predictor with alone."""

    def centre(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...]) -> Tensor:
        """The point of highest entropy, everywhere. ``parts``: how many places an output has, () for label sets."""

    def blank(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...]) -> Tensor:
        """The output that says nothing: the empty label set; where there is none, the centre."""

    def concrete(self, logits: Tensor, n: int, temperature: float) -> Tensor:
        """(batch, n, ...) relaxed draws by a reparametrisation, differentiable in the logits."""

    def contains(self, y: Tensor) -> bool: ...

    def unrelax(self, y: Tensor) -> Tensor:
        """Logits of y, clipped away from the boundary."""

    def project(self, y: Tensor) -> Tensor:
        """The nearest point of the relaxed space."""

    def pull_back(self, y: Tensor, gradient: Tensor) -> Tensor:
        """A gradient in y as one in its logits."""

    def decide(self, y: Tensor) -> Tensor:
        """The nearest discrete output, as booleans."""

    def cost_gradient(self, y: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor: ...

    def entropy(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """(batch, samples); ``logits``, if known, are those of y."""

    def entropy_gradient(self, y: Tensor, logits: Tensor | None = None) -> Tensor: ...


@dataclass(frozen=True)
class Cost:
    """A task cost of relaxed y (batch, samples, ...) against a binary t (batch, 1, ...), and its gradient in y.

    ``averaged``: divided by the number of parts that an output has.
    """

    value: Callable[[Any, Tensor], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]
    averaged: bool = False


class IndependentParts:
    """What spaces share whose parts vary independently of each other: their draws, and a task cost by name."""

    cost_name: str
    costs: ClassVar[Mapping[str, Cost]]
    outputs: ClassVar[str]

    def __post_init__(self) -> None:
        if self.cost_name not in self.costs:
            raise unknown_name(f"cost of {self.outputs}", self.cost_name, self.costs)

    def _n_parts(self, truth: Tensor, mask: Tensor | None) -> Tensor | int:
        """(batch, 1) how many parts an output has, 1 at least; one number if all have as many."""
        raise NotImplementedError  # every such space defines it

    def cost(self, y: Any, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) cost of y in the space's unit; soft F1, soft IoU and averages lie in [0, 1]."""
        if mask is not None:
            y, truth = dense(y, truth.dtype) * mask.unsqueeze(1), truth * mask
        cost = self.costs[self.cost_name]
        value = cost.value(y, truth.unsqueeze(1))
        return value / self._n_parts(truth, mask) if cost.averaged else value

    def cost_gradient(self, y: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples, ...) gradient of ``cost`` in relaxed y, for binary truth."""
        if mask is not None:
            y, truth = y * mask.unsqueeze(1), truth * mask
        cost = self.costs[self.cost_name]
        gradient = cost.gradient(y, truth.unsqueeze(1))
        if cost.averaged:
            n_parts = self._n_parts(truth, mask)
            gradient = gradient / (n_parts if isinstance(n_parts, int) else n_parts.view(-1, *[1] * (y.dim() - 1)))
        return gradient if mask is None else gradient * mask.unsqueeze(1)

    def noise(self, logits: Tensor, n: int) -> Tensor:
        """(batch, n, ...) standard normal."""
        return torch.randn(len(logits), n, *logits.shape[1:], **drawn_like(logits))

    def _uniform(self, logits: Tensor, n: int) -> Tensor:
        """(batch, n, ...) between 0 and 1, both excluded."""
        u = torch.rand(len(logits), n, *logits.shape[1:], **drawn_like(logits))
        return u.clamp(torch.finfo(u.dtype).tiny, 1 - torch.finfo(u.dtype).eps)
