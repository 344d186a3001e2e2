"""What an output *is*: the operations every output space offers. A space knows no network.

Shapes: ``logits`` and ``truth`` are (batch, ...) for one output a row; candidate outputs carry a
sample axis, (batch, samples, ...). ``mask`` is 1 where a part of the output exists and 0 in holes; it broadcasts
against ``truth``.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from enstruct.randomness import drawn_like


class OutputSpace(Protocol):
    """Operations on outputs of one kind."""

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


class RelaxedSpace(OutputSpace, Protocol):
    """A space as an optimiser over its relaxation sees it, too; y is (batch, samples, ...)."""

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


class IndependentParts:
    """What spaces draw whose parts vary independently of each other."""

    def noise(self, logits: Tensor, n: int) -> Tensor:
        """(batch, n, ...) standard normal."""
        return torch.randn(len(logits), n, *logits.shape[1:], **drawn_like(logits))

    def _uniform(self, logits: Tensor, n: int) -> Tensor:
        """(batch, n, ...) between 0 and 1, both excluded."""
        u = torch.rand(len(logits), n, *logits.shape[1:], **drawn_like(logits))
        return u.clamp(torch.finfo(u.dtype).tiny, 1 - torch.finfo(u.dtype).eps)
