"""What an output *is*: the operations every output space offers. A space knows no network.

Shapes: ``logits`` and ``truth`` are (batch, ...) for one output a row; candidate outputs carry a
sample axis, (batch, samples, ...). ``mask`` is 1 where a part of the output exists and 0 in holes.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor


class OutputSpace(Protocol):
    """Operations on outputs of one kind."""

    def relax(self, logits: Tensor) -> Tensor:
        """Logits to the relaxed output the energy is evaluated at."""
        ...

    def sample(self, logits: Tensor, n: int, mask: Tensor | None = None) -> Any:
        """``n`` exact draws a row from the predictor's distribution."""
        ...

    def log_prob(self, y: Any, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) log-probability of discrete outputs under the predictor."""
        ...

    def cost(self, y: Any, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) task cost of y, 0 at the truth."""
        ...

    def supervised_loss(self, logits: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch,) the loss one would train the predictor with alone."""
        ...
