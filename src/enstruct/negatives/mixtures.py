"""Candidates of every value, for energies that learn what a mask is worth.

    y = where(field < q_s, truth, other)         crisp: patches of the truth, a share s of the pixels, among another mask
    y = s truth + (1 - s) other                  soft: as inference meets them on its way

``other`` is another image's mask of the batch, inference's own answer, that answer rounded, or blobs of noise; shares s are
spread evenly over [0, 1]. Three candidates a row, as DVN has them, are all good or all bad: an image's answer, its adversarial
neighbour and the truth. A value network that knows no more has its optimum far from masks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from enstruct.inference.minimise import Inference, minimise
from enstruct.negatives.base import Candidates, Negatives, Situation
from enstruct.randomness import drawn_like, generator
from enstruct.spaces.base import RelaxedSpace
from enstruct.validation import check_whole


@dataclass(frozen=True)
class ValueMixtures(Negatives):
    """The truth, a point of inference (its end, or as likely one on its way), and ``n`` - 2 mixtures, half of them crisp."""

    inference: Inference = field(default_factory=lambda: Inference(steps=20, as_value=True))
    n: int = 8

    def __post_init__(self) -> None:
        check_whole(3, n_samples=self.n)

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        settings = self.inference.resolve(space.relax(at.logits))
        way = int(torch.randint(1, 2 * settings.steps, (1,), generator=generator("cpu")))
        found = minimise(at.energy, at.state, space, settings=replace(settings, steps=min(way, settings.steps))).y
        mixtures = self._mixed(at, space, found)
        return Candidates(torch.cat([torch.stack([at.truth, found], dim=1), mixtures], dim=1))

    @torch.no_grad()
    def _mixed(self, at: Situation, space: RelaxedSpace, found: Tensor) -> Tensor:
        """(batch, n - 2, ...)."""
        n, batch = self.n - 2, len(found)
        fields = space.noise(at.logits, 2 * n)  # half of them decide where, half are blobs
        where, blobs = fields[:, :n, ..., :1], space.relax(SHARP * fields[:, n:])
        rounded = space.decide(found.unsqueeze(1)).squeeze(1).to(found.dtype)
        pool = torch.stack([at.truth.roll(1, 0), found, rounded], dim=1)
        pool = torch.cat([pool, pool[:, :1]], dim=1)  # other images' masks twice as often
        number = torch.randint(5, (batch, n), generator=generator("cpu")).to(found.device)
        other = pool[torch.arange(batch, device=found.device).unsqueeze(1), number.clamp(max=3)]
        shape = (batch, n, *[1] * (found.dim() - 1))
        other = torch.where((number == 4).view(shape), blobs, other)
        shift = torch.rand(batch, n, **drawn_like(at.truth, torch.float32))
        share = (torch.arange(n, device=found.device) + shift) / n
        ranks = where.flatten(2).argsort(-1).argsort(-1).view(where.shape) / where[0, 0].numel()
        truth, part = at.truth.unsqueeze(1), share.view(shape)
        crisp = torch.where(ranks < part, truth, other)
        return torch.where(
            (torch.rand(batch, n, **drawn_like(at.truth, torch.float32)) < 0.5).view(shape),
            crisp,
            part * truth + (1 - part) * other,
        )


SHARP = 8.0
"""Log-odds that make a mask of smooth noise nearly crisp."""
