"""The two-player game on one batch: the energy's move and the predictor's move.

    energy:     phi <- phi - grad_phi  L_E(E(x, y), E(x, ȳ))                     ȳ from the method's negatives
    predictor:  theta <- theta - grad_theta [ w_s L_sup(F(x), y) + w_e E(x, F(x)) ]

The predictor's forward pass is shared by consecutive moves that leave theta alone, and each move
prepares the energy's x-network once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from enstruct.energies.base import Energy
from enstruct.errors import DivergenceError
from enstruct.hypergradients.alternating import Player
from enstruct.methods import Method, Stage
from enstruct.negatives import AugmentedNet, NegativeSource
from enstruct.objectives import Scores
from enstruct.objectives.ranking import ranking_loss
from enstruct.spaces.base import OutputSpace
from enstruct.spaces.label_vectors import LabelVectors, stack
from enstruct.training.batches import Batch
from enstruct.training.settings import Settings


@contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """No gradient reaches the module's parameters inside; what passes through it to its inputs still flows."""
    learning = [p for p in module.parameters() if p.requires_grad]
    for p in learning:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in learning:
            p.requires_grad_(True)


def adamw(module: nn.Module, rate: float, weight_decay: float) -> torch.optim.AdamW:
    """Fused AdamW over what learns: one pass over the parameters, several times faster than torch's default."""
    return torch.optim.AdamW(
        [p for p in module.parameters() if p.requires_grad], lr=rate, weight_decay=weight_decay, fused=True
    )


def weighted_mean(loss: Tensor, weight: Tensor | None) -> Tensor:
    """Mean over rows, (batch,) -> (); weights average 1 over the training rows."""
    return loss.mean() if weight is None else (loss * weight).mean()


class Game:
    """Two networks, their optimisers, and the moves. Counts its updates."""

    def __init__(
        self, method: Method, space: OutputSpace, predictor: nn.Module, energy: Energy | None, n_outputs: int, settings: Settings
    ) -> None:
        self.method, self.space, self.settings = method, space, settings
        self.predictor, self.energy = predictor, energy
        self.source: NegativeSource | None = None
        self.optimizers: dict[str, torch.optim.AdamW] = {}
        self.epoch = 0  # of the present stage; the loop keeps it
        self.updates = {"energy": 0, "predictor": 0}
        if energy is not None and method.negatives is not None:
            self.source = method.negatives.build(space, n_outputs).to(next(predictor.parameters()).device)
        self.reset_predictor_optimizer()
        self.reset_energy_optimizer()

    def reset_predictor_optimizer(self) -> None:
        self.optimizers["predictor"] = adamw(self.predictor, self.settings.learning_rate, self.settings.weight_decay)

    def reset_energy_optimizer(self) -> None:
        if not isinstance(self.energy, nn.Module):
            return
        rate = self.settings.energy_learning_rate
        if rate is None:
            rate = self.settings.learning_rate * self.method.energy_rate
        self.optimizers["energy"] = adamw(self.energy, rate, self.settings.weight_decay)
        if isinstance(self.source, AugmentedNet):
            self.optimizers["source"] = adamw(self.source, self.settings.learning_rate, self.settings.weight_decay)

    def play(self, batch: Batch, stage: Stage) -> dict[str, float]:
        """All moves of one batch; returns the last loss of each player that moved."""
        losses: dict[str, float] = {}
        self.predictor.train(stage.predictor)
        logits: Tensor | None = None
        for player in self._schedule(stage):
            if logits is None:
                with torch.set_grad_enabled(stage.predictor):
                    logits = self.predictor(batch.x)
            if player == "energy":
                losses[player] = self._move_energy(batch, logits)
            else:
                losses[player] = self._move_predictor(batch, logits, stage)
                logits = None  # theta has changed
        return losses

    def _schedule(self, stage: Stage) -> Iterator[Player]:
        playing = {"energy": stage.energy, "predictor": stage.predictor}
        return (player for player in self.method.coupling.schedule() if playing[player])

    def _move_energy(self, batch: Batch, logits: Tensor) -> float:
        energy, optimizer = self.energy_module, self.optimizers["energy"]
        energy.train()
        if isinstance(self.source, AugmentedNet):
            self._move_source(self.source, batch, logits)
        loss = weighted_mean(self.energy_loss(batch, logits), batch.weight)
        self._check(loss, "energy")
        parameters = optimizer.param_groups[0]["params"]
        for parameter, gradient in zip(parameters, self.method.coupling.gradient(loss, parameters), strict=True):
            parameter.grad = gradient
        self._finish(optimizer, self.settings.energy_clip, "energy")
        return float(loss.detach())

    def _move_source(self, source: AugmentedNet, batch: Batch, logits: Tensor) -> None:
        with frozen(self.energy_module):
            proposal = source.propose(logits, batch.y)
            state = self.energy_module.prepare(batch.x, batch.mask)  # type: ignore[operator]
            loss = source.loss(self.energy_module(state, proposal), self.space.cost(proposal, batch.y, batch.mask))
        optimizer = self.optimizers["source"]
        optimizer.zero_grad(set_to_none=True)
        weighted_mean(loss, batch.weight).backward()
        optimizer.step()

    def energy_loss(self, batch: Batch, logits: Tensor) -> Tensor:
        """(batch,) the objective at fresh candidates."""
        objective, source = self.method.objective, self.source
        if objective is None or source is None:
            raise RuntimeError("this method has no energy")  # guarded by Method.__post_init__
        drawn = source.draw(logits, batch.y, batch.mask)
        truth = batch.y.unsqueeze(1)
        both = stack(LabelVectors.from_dense(truth) if isinstance(drawn.y, LabelVectors) else truth, drawn.y)
        state = self.energy_module.prepare(batch.x, batch.mask)  # type: ignore[operator]
        energies = self.energy_module(state, both)  # (batch, 1 + samples)
        cost = self.space.cost(drawn.y, batch.y, batch.mask) if objective.needs_cost else None
        return objective.loss(Scores(energies[:, 0], energies[:, 1:], cost, drawn.log_noise_truth, drawn.log_noise))

    def _move_predictor(self, batch: Batch, logits: Tensor, stage: Stage) -> float:
        loss = weighted_mean(self.predictor_loss(batch, logits, stage), batch.weight)
        self._check(loss, "predictor")
        optimizer = self.optimizers["predictor"]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._finish(optimizer, self.settings.clip, "predictor")
        return float(loss.detach())

    def predictor_loss(self, batch: Batch, logits: Tensor, stage: Stage) -> Tensor:
        """(batch,) w_s * supervised + w_e * energy at the predictor's relaxed output."""
        recipe = self.method.predictor_loss
        loss = recipe.supervised_weight * self._supervised(batch, logits)
        weight = recipe.weight_at(self.epoch) if stage.energy_in_loss else 0.0
        if weight > 0 and self.energy is not None and self.method.objective:
            with frozen(self.energy_module):
                self.energy_module.train(stage.energy)
                state = self.energy_module.prepare(batch.x, batch.mask)  # type: ignore[operator]
                energies = self.energy_module(state, self.space.relax(logits).unsqueeze(1)).squeeze(1)
            loss = loss + weight * self.method.objective.as_loss(energies)
        return loss

    def _supervised(self, batch: Batch, logits: Tensor) -> Tensor:
        if self.method.predictor_loss.supervised == "cross-entropy":
            return self.space.supervised_loss(logits, batch.y, batch.mask)
        samples = self.space.sample(logits.detach(), 20, batch.mask)
        truth = LabelVectors.from_dense(batch.y.unsqueeze(1))
        energies = -self.space.log_prob(stack(truth, samples), logits, batch.mask)
        return ranking_loss(Scores(energies[:, 0], energies[:, 1:]))

    @property
    def energy_module(self) -> nn.Module:
        if not isinstance(self.energy, nn.Module):
            raise RuntimeError("this method has no energy")
        return self.energy

    def _finish(self, optimizer: torch.optim.AdamW, clip: float | None, player: str) -> None:
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], clip)
        optimizer.step()
        self.updates[player] += 1

    def _check(self, loss: Tensor, player: str) -> None:
        if not torch.isfinite(loss):
            raise DivergenceError(
                f"The {player}'s loss became {float(loss.detach())} at its update {self.updates[player] + 1}. Try a "
                f"smaller learning rate for the {player} (now {self.optimizers[player].param_groups[0]['lr']:g}), "
                "gradient clipping (clip=, energy_clip=), a smaller energy_weight, or standardised features."
            )
