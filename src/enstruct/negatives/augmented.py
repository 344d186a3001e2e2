"""A network in place of cost-augmented inference (InfNet+; Tu et al. 2020), trained beside the energy.

    ȳ = relax(A),   A minimises  E(x, ȳ) - Δ(ȳ, y) + w CE(A, y)

| kind | A is |
|---|---|
| "stacked" | 2L -> L softplus -> L on [relax(logits), y]: the published SEAL-margin code's form; it sees the truth |
| "shared" | a second linear head on the predictor's features (read without a gradient: the predictor owns them) |
| "separate" | a network of its own, shaped like the predictor |

``with_predictor=True`` gives the predictor's own output as a second candidate, which InfNet+ trains the energy against too.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal, cast, get_args

import torch
from torch import Tensor, nn

from enstruct.energies.build import Borrowed
from enstruct.errors import ConfigError, unknown_name
from enstruct.negatives.base import Candidates, Negatives, NegativeSource, Situation
from enstruct.randomness import redirected
from enstruct.spaces.base import RelaxedSpace

Kind = Literal["stacked", "shared", "separate"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class CostAugmentedNet(Negatives):
    kind: Kind = "stacked"
    supervised_weight: float = 0.0
    with_predictor: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of cost-augmented net", self.kind, KINDS)

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        with redirected():
            return AugmentedNet(self, space, self._network(n_outputs, predictor))

    def _network(self, n_outputs: int, predictor: nn.Module | None) -> nn.Module:
        if self.kind == "stacked":
            return nn.Sequential(nn.Linear(2 * n_outputs, n_outputs), nn.Softplus(), nn.Linear(n_outputs, n_outputs))
        if predictor is None or not hasattr(predictor, "encoder"):
            raise ConfigError(f"A {self.kind!r} cost-augmented net builds on the predictor's encoder; here only 'stacked' works.")
        if self.kind == "shared":
            encoder = cast(nn.Module, predictor.encoder)
            head = nn.Linear(cast(int, encoder.out_features), n_outputs)
            return nn.Sequential(OrderedDict[str, nn.Module](features=Borrowed(encoder), head=head))
        return copy.deepcopy(predictor)


class AugmentedNet(NegativeSource):
    """The running net; the training loop gives it an optimiser and minimises ``loss``."""

    settings: CostAugmentedNet

    def __init__(self, settings: CostAugmentedNet, space: RelaxedSpace, network: nn.Module) -> None:
        super().__init__(settings, space)
        self.network = network

    def logits(self, at: Situation) -> Tensor:
        """(batch, outputs), differentiable in the net's parameters."""
        if self.settings.kind == "stacked":
            return cast(Tensor, self.network(torch.cat([self.space.relax(at.logits.detach()), at.truth], dim=-1)))
        return cast(Tensor, self.network(at.x))

    def draw(self, at: Situation) -> Candidates:
        with torch.no_grad():
            proposal = self.space.relax(self.logits(at)).unsqueeze(1)
            if not self.settings.with_predictor:
                return Candidates(proposal)
            return Candidates(torch.cat([proposal, self.space.relax(at.logits).unsqueeze(1)], dim=1))

    def loss(self, at: Situation) -> Tensor:
        """(batch,) what the net minimises, the energy held fixed."""
        logits = self.logits(at)
        proposal = self.space.relax(logits).unsqueeze(1)
        gain = at.energy(at.state, proposal) - self.space.cost(proposal, at.truth, at.mask)
        supervised = self.space.supervised_loss(logits, at.truth, at.mask) if self.settings.supervised_weight else 0.0
        return gain.squeeze(1) + self.settings.supervised_weight * supervised
