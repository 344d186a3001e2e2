"""The running mean of a network's weights, which answers better than the last of them where rates do not fall to nothing.

    mean_t = (1 - s_t) mean_{t-1} + s_t w_t,     s_t = (POWER + 1) / (t + POWER)

Polynomial-decay averaging (Shamir & Zhang 2013): of t batches the last t / (POWER + 1) or so count, however many there are to be.
Averaged are the weights that learn, and the running statistics of layers that normalise; other buffers, as tables and masks, do
not change or are not to be mixed. Where predictor and energy learn together the predictor alone is averaged, and the energy kept
beside them is that of the epoch's end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

POWER = 8
"""A ninth of all batches: two of twenty passes."""
STATISTICS = ("running_mean", "running_var")
"""What torch's layers call theirs."""


class WeightAverage:
    """``means``: by the names of the weights; ``updates``: how many are in them."""

    def __init__(self, network: nn.Module) -> None:
        """Of the network as it is, before the first update."""
        learning = {name: weights for name, weights in network.named_parameters() if weights.requires_grad}
        statistics = {name: values for name, values in network.named_buffers() if name.endswith(STATISTICS)}
        self.network, self.updates = network, 0
        self.means = {name: value.detach().clone() for name, value in (learning | statistics).items()}

    def _now(self) -> dict[str, Tensor]:
        """The network's own tensors; weights that two of its modules share are one of them."""
        own: dict[str, Tensor] = dict(self.network.named_parameters()) | dict(self.network.named_buffers())
        return {name: own[name].detach() for name in self.means}

    def update(self) -> None:
        """Take the network's weights in."""
        self.updates += 1
        share = (POWER + 1) / (self.updates + POWER)
        for name, value in self._now().items():
            self.means[name].lerp_(value, share)

    def restore(self, means: dict[str, Tensor], updates: int) -> None:
        """Go on from these."""
        for name, value in means.items():
            self.means[name].copy_(value)
        self.updates = updates

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within, the network has the means."""
        now = self._now()
        kept = {name: value.clone() for name, value in now.items()}
        for name, value in now.items():
            value.copy_(self.means[name])
        try:
            yield
        finally:
            for name, value in now.items():
                value.copy_(kept[name])
