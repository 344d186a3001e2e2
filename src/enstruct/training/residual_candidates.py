"""Which terms a residual energy may have, and how hard they are held down; what it learns from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.randomness import redirected, seeded
from enstruct.rules import RuleSystem
from enstruct.rules.odds import rule_odds


class Examples(NamedTuple):
    """Logits (rows, labels), label sets (rows, labels) with NaN where unobserved, weights (rows,) of mean 1; what binds them."""

    logits: Tensor
    y: Tensor
    weight: Tensor
    rules: RuleSystem | None = None

    def take(self, rows: Any) -> Examples:
        return Examples(self.logits[rows], self.y[rows], self.weight[rows], self.rules)

    def odds(self, whole: Tensor) -> Tensor | None:
        """(rows, labels) that rules add to those of the energy, where label sets are these (rows, labels)."""
        return None if self.rules is None else torch.from_numpy(rule_odds(self.rules, whole.numpy()))

    def frequency(self) -> Tensor:
        """(labels,) share of the rows that have each label, of those in which it is observed and half a row of each kind more."""
        weight = self.weight.unsqueeze(1) * ~self.y.isnan()
        return ((weight * torch.nan_to_num(self.y)).sum(0) + 0.5) / (weight.sum(0) + 1)


@dataclass(frozen=True)
class Candidate:
    """Terms of a residual energy, and how it is trained: the rate of AdamW and the decay of all but slopes, biases and smoothing.
    What other labels' logits count ("stacked") learns more slowly, and is held down by a decay of its own: it is as large as the
    table of pairs, and each row shows as many real numbers to fit it to.

    ``persistent``: by the pseudo-likelihood, and then by chains (:mod:`enstruct.training.contrastive`).
    """

    name: str
    pairs: bool = False
    units: int = 0
    stacked: bool = False
    rank: int = 0
    smoothed: bool = False
    decay: float = 0.0
    rate: float = 3e-3
    persistent: bool = False

    def energy(self, train: Examples, seed: int) -> ResidualEnergy:
        """New, for what it is to learn from."""
        with seeded(seed), redirected():
            energy = ResidualEnergy(
                train.y.shape[1], self.pairs, self.units, self.stacked, rank=self.rank, smoothed=self.smoothed
            )
        energy.standardise_by(train.logits)
        energy.smooth_towards(train.frequency())
        return energy

    def optimizer(self, energy: ResidualEnergy, rate: float) -> torch.optim.AdamW:
        own = [p for p in (energy.slope, energy.bias, energy.smoothing) if p is not None]
        stack = [p for p in (energy.stack,) if p is not None]
        held = [p for p in energy.parameters() if all(p is not other for other in (*own, *stack))]
        groups = [
            {"params": held, "weight_decay": self.decay, "lr": rate},
            {"params": stack, "weight_decay": STACK_DECAY, "lr": SLOWLY * rate},
            {"params": own[:2], "weight_decay": 0.0, "lr": rate},
            {"params": own[2:], "weight_decay": 0.0, "lr": QUICKLY * rate},
        ]
        return torch.optim.AdamW([group for group in groups if group["params"]], fused=True)

    @property
    def coupled(self) -> bool:
        return self.pairs or self.units > 0

    def cost(self, n_labels: int) -> int:
        """Operations that a label takes in a sweep of the sampler (:mod:`enstruct.joint.clamped`)."""
        return 2 * (self.rank or n_labels) * self.pairs + 10 * self.units

    def continued(self) -> Self:
        """By chains as well."""
        return replace(self, name=f"{self.name}, persistent", persistent=True)

    def with_stack(self) -> Self:
        """That other labels' logits count in as well."""
        return replace(self, name=f"{self.name}, stacked", stacked=True)

    def can_stack(self, n_labels: int) -> bool:
        """Whether it may be tried with that: the table has labels by labels numbers, as that of pairs."""
        return self.coupled and not self.stacked and not self.persistent and 1 < n_labels <= MOST_PAIRS

    def suits(self, n_labels: int) -> bool:
        if self.units:
            return 1 < n_labels <= MOST_UNITS
        if self.pairs:
            return 1 < n_labels <= MOST_PAIRS if not self.rank else n_labels > MOST_PAIRS
        return True


INDEPENDENT = Candidate("independent", smoothed=True)
CLASSES = Candidate("classes")
"""Of rows with one label each: what the base says, and nothing that is learnt."""
CANDIDATES = (
    INDEPENDENT,
    Candidate("pairs", pairs=True, smoothed=True, decay=1.0, rate=1e-2),
    Candidate("pairs, loose", pairs=True, smoothed=True, decay=0.1, rate=1e-2),
    Candidate("units", units=64, smoothed=True, decay=0.1, rate=1e-2),
    Candidate("pairs, units", pairs=True, units=32, smoothed=True, decay=0.3, rate=1e-2),
    Candidate("factors", pairs=True, rank=128, smoothed=True, decay=1.0),
    Candidate("factors, tight", pairs=True, rank=128, smoothed=True, decay=3.0),
)
MOST_PAIRS, MOST_UNITS = 1500, 400
"""Labels up to which a full table of pairs, and units, are among the candidates. Beyond, factors stand for the table, at a small
part of its time."""
STACK_DECAY, SLOWLY = 1.0, 1 / 3
"""How hard what other labels' logits count is held down, and how much more slowly than all else it learns."""
QUICKLY = 10.0
"""How much faster the smoothing learns than all else: it is one number, and few rows make few steps."""
