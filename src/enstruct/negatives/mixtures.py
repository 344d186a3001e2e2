"""Candidates of every value, for energies that learn what a mask is worth.

    y = where(field < q_s, truth, other)         crisp: patches of the truth, about a share s of the pixels, among another mask
    y = s truth + (1 - s) other                  soft: as inference meets them on its way

``other`` is another image's mask of the batch, inference's own answer, that answer rounded, or blobs of noise; shares s are
spread evenly over [0, 1]. Three candidates a row, as DVN has them, are all good or all bad: an image's answer, its adversarial
neighbour and the truth. A value network that knows no more has its optimum far from masks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from enstruct.errors import ConfigError
from enstruct.inference.minimise import Inference, minimise
from enstruct.negatives.base import Candidates, Negatives, NegativeSource, Situation
from enstruct.randomness import drawn_like, generator
from enstruct.spaces.base import RelaxedSpace
from enstruct.spaces.labels import LabelSpace
from enstruct.validation import check_whole

SHARP = 8.0
"""Log-odds that make a mask of smooth noise nearly crisp."""


@dataclass(frozen=True)
class ValueMixtures(Negatives):
    """The truth, a point of inference (its end, or as likely one on its way), and ``n`` - 2 mixtures, half of them crisp."""

    inference: Inference = field(default_factory=lambda: Inference(steps=20, as_value=True))
    n: int = 8

    def __post_init__(self) -> None:
        check_whole(3, n_samples=self.n)

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        """ConfigError for label sets, which have no places that patches could be of."""
        if isinstance(space, LabelSpace):
            raise ConfigError("ValueMixtures mixes masks or tag sequences patch by patch; label sets have ValueTuples.")
        return super().build(space, n_outputs, predictor)

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
        shape = (batch, n, *[1] * (found.dim() - 1))
        rounded = space.decide(found.unsqueeze(1)).squeeze(1).to(found.dtype)
        pool = torch.stack([at.truth.roll(1, 0), found, rounded], dim=1)
        pool = torch.cat([pool, pool[:, :1]], dim=1)  # other images' masks twice as often
        number = torch.randint(5, (batch, n), generator=generator("cpu")).to(found.device)
        other = pool[torch.arange(batch, device=found.device).unsqueeze(1), number.clamp(max=3)]
        other = torch.where((number == 4).view(shape), space.relax(SHARP * space.noise(at.logits, n)), other)
        share = torch.arange(n, device=found.device) + torch.rand(batch, n, **drawn_like(at.truth, torch.float32))
        share = (share / n).view(shape)
        crisp = torch.where(self._field(at, space, n) < torch.special.ndtri(share), at.truth.unsqueeze(1), other)
        soft = share * at.truth.unsqueeze(1) + (1 - share) * other
        return torch.where((torch.rand(batch, n, **drawn_like(at.truth, torch.float32)) < 0.5).view(shape), crisp, soft)

    @staticmethod
    def _field(at: Situation, space: RelaxedSpace, n: int) -> Tensor:
        """(batch, n, ..., 1) noise, of mean 0 and variance 1 over the places of each that are known."""
        field = space.noise(at.logits[..., :1], n)
        known = torch.ones_like(field[:, :1]) if at.mask is None else at.mask.to(field.dtype).unsqueeze(1)
        axes = tuple(range(2, field.dim()))
        count = known.sum(axes, keepdim=True).clamp(min=1)
        field = field - (field * known).sum(axes, keepdim=True) / count
        return field / ((field.square() * known).sum(axes, keepdim=True) / count).sqrt().clamp(min=1e-6)
