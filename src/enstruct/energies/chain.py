"""Chain energy: which tags follow each other (implicit-training paper eq. 7, its second term).

    E_chain(y) = sum_{t > d}  y_{t-d}' W y_t   (+ start . y_1 + end . y_T for d = 1)          W (tags, tags)

``distance`` d = 1 is the linear chain; larger ones make a skip-chain. t counts the tokens that carry a tag: with holes in the
mask the chain runs on from the last tag before a hole to the first one behind it, and a sentence with holes has the energy of
the sentence without those tokens. One product over all tokens at once, and so is the gradient:

    dE/dy_t = W' y_{t-d} + W y_{t+d}   (+ start, end)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from enstruct.energies.base import Term
from enstruct.errors import ConfigError


class ChainEnergy(Term):
    has_closed_form = True
    linear_in_tags = True

    def __init__(self, n_tags: int, distance: int = 1) -> None:
        super().__init__()
        if distance < 1:
            raise ConfigError(f"The distance of a chain energy must be at least 1, not {distance}.")
        self.name = "chain" if distance == 1 else f"skip-{distance}"
        self.distance = self.reach = distance
        self.transitions = nn.Parameter(torch.empty(n_tags, n_tags).uniform_(-0.02, 0.02))
        ends = distance == 1
        self.start = nn.Parameter(torch.zeros(n_tags)) if ends else None
        self.end = nn.Parameter(torch.zeros(n_tags)) if ends else None

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return tag_places(mask)

    def forward(self, prepared: Tensor | None, y: Tensor) -> Tensor:
        tags = squeezed(y, prepared)
        before, after = self._pairs(tags)
        energy = (before @ self.transitions * after).sum((-2, -1))
        if self.start is not None and self.end is not None:
            energy = energy + tags[:, :, 0] @ self.start + (tags * _last(prepared, tags)).sum(2) @ self.end
        return energy  # (batch, samples)

    def value_and_gradient(self, prepared: Tensor | None, y: Tensor) -> tuple[Tensor, Tensor]:
        tags = squeezed(y, prepared)
        before, after = self._pairs(tags)
        onward = before @ self.transitions
        gradient = torch.zeros_like(tags)
        if tags.shape[2] > self.distance:
            gradient[:, :, self.distance :] += onward
            gradient[:, :, : -self.distance] += after @ self.transitions.T
        value = (onward * after).sum((-2, -1))
        if self.start is not None and self.end is not None:
            last = _last(prepared, tags)
            value = value + tags[:, :, 0] @ self.start + (tags * last).sum(2) @ self.end
            gradient[:, :, 0] += self.start
            gradient = gradient + last * self.end
        return value, spread(gradient, prepared)

    def _pairs(self, tags: Tensor) -> tuple[Tensor, Tensor]:
        """Each (batch, samples, time - distance, tags)."""
        return tags[:, :, : max(0, tags.shape[2] - self.distance)], tags[:, :, self.distance :]


def tag_places(mask: Tensor | None) -> Tensor | None:
    """mask (batch, time, 1) -> (batch, time): the places of the tags in order, then -1; None if every place has one."""
    if mask is None:
        return None
    there = mask.squeeze(-1) > 0
    order = torch.argsort(~there, dim=1, stable=True)
    rank = torch.arange(there.shape[1], device=mask.device)
    return torch.where(rank < there.sum(1, keepdim=True), order, -1)


def squeezed(y: Tensor, places: Tensor | None) -> Tensor:
    """(batch, samples, time, tags) with the tags moved together to the front, zeros behind them."""
    if places is None:
        return y
    rows = y.expand(places.shape[0], -1, -1, -1)
    return rows.gather(2, _index(places, y)) * (places >= 0)[:, None, :, None]


def spread(tags: Tensor, places: Tensor | None) -> Tensor:
    """The inverse of :func:`squeezed`; holes get zeros."""
    if places is None:
        return tags
    return torch.zeros_like(tags).scatter_add(2, _index(places, tags), tags * (places >= 0)[:, None, :, None])


def _index(places: Tensor, y: Tensor) -> Tensor:
    """(batch, samples, time, tags) the places, for each sample and tag of y."""
    return places.clamp(min=0)[:, None, :, None].expand(-1, y.shape[1], -1, y.shape[-1])


def _last(places: Tensor | None, tags: Tensor) -> Tensor:
    """1 at the last tag of each row, broadcastable to ``tags``."""
    time = tags.shape[2]
    rank = torch.arange(time, device=tags.device)
    if places is None:
        return (rank == time - 1).to(tags.dtype)[:, None]  # (time, 1)
    last = (places >= 0).sum(1, keepdim=True) - 1
    return (rank == last).to(tags.dtype)[:, None, :, None]  # (batch, 1, time, 1)
