"""The two-player game on one batch: who moves when, with the predictor's forward pass shared.

Consecutive moves that leave the predictor's weights alone use one forward pass; every move of the energy's
prepares its x-network once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from enstruct.devices import number
from enstruct.errors import ConfigError
from enstruct.hypergradients import Player
from enstruct.methods import Method, Stage
from enstruct.training.batches import Batch
from enstruct.training.bilevel import batch_problem, differentiating, drift
from enstruct.training.learned_loss import LearnedLoss, check_finite, check_logits, descend, weighted_mean
from enstruct.training.mean_gradients import MeanGradient
from enstruct.training.optimizers import give, learnt_by, make_optimizer
from enstruct.training.rank_means import RankMeans
from enstruct.training.settings import Settings

DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


class Game:
    """A predictor and its learned loss. Counts the predictor's updates."""

    def __init__(self, predictor: nn.Module, loss: LearnedLoss) -> None:
        self.predictor, self.loss = predictor, loss
        self.method: Method = loss.method
        self.settings: Settings = loss.settings
        self.predictor_updates = 0
        self.reports: list[dict[str, float]] = []  # of the outer steps since the loop last took them
        self.anchor: dict[str, Tensor] = {}  # the predictor's weights where the stage began, if its loss holds it to them
        self._means = RankMeans()
        self.reset_optimizer()
        self._rates = {name: [group["lr"] for group in optimizer.param_groups] for name, optimizer in self.optimizers.items()}

    def reset_optimizer(self) -> None:
        settings = self.settings
        self.optimizer = make_optimizer(settings.optimizer, self.predictor, settings.learning_rate, settings.weight_decay)

    def has(self, method: Method, settings: Settings) -> bool:
        """Whether it is played by these; how many epochs there are is the loop's."""
        mine = replace(self.settings, max_epochs=settings.max_epochs, patience=settings.patience)
        return method == self.method and settings == mine

    def clamp(self, stage: Stage) -> None:
        """Hold the parts of the energy that the stage does not train."""
        if self.loss.energy is not None and self.loss.source is not None:
            self.loss.clamp(stage.clamped)

    def release(self) -> None:
        """Let go of every part of the energy that a stage held."""
        if self.loss.energy is not None:
            self.loss.clamp(())

    def enter(self, stage: Stage) -> None:
        """Learning rates of the stage, and the anchor."""
        self.set_rates(stage)
        anchored = self.method.predictor_loss.anchor_weight and stage.predictor and stage.energy_in_loss
        self.anchor = {name: p.detach().clone() for name, p in self.predictor.named_parameters()} if anchored else {}

    def set_rates(self, stage: Stage, share: float = 1.0) -> None:
        """Those of the stage, times a share of them."""
        for name, optimizer in self.optimizers.items():
            of_stage = stage.rate * (stage.predictor_rate if name == "predictor" else 1.0)
            for group, rate in zip(optimizer.param_groups, self._rates[name], strict=True):
                group["lr"] = rate * of_stage * share

    @property
    def optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return {"predictor": self.optimizer, **self.loss.optimizers}

    @property
    def updates(self) -> dict[str, int]:
        return {"energy": self.loss.updates, "predictor": self.predictor_updates}

    def play(self, batch: Batch, stage: Stage) -> dict[str, float | Tensor]:
        """All moves of one batch; returns the last loss of each player that moved, on CUDA without waiting for it."""
        losses: dict[str, float | Tensor] = {}
        self.predictor.train(stage.predictor)
        if getattr(self.method.negatives, "dropout", False):
            for layer in self.predictor.modules():
                if isinstance(layer, DROPOUT):  # these alone: statistics of batches belong to who learns
                    layer.train()
        through = self.method.coupling.through_predictor and stage.predictor
        logits: Tensor | None = None
        for player in self._schedule(stage):
            if player == "energy" and through:
                losses[player] = self._move_energy(batch, stage)
                continue
            if logits is None:
                with torch.set_grad_enabled(stage.predictor):
                    logits = self.predictor(batch.x)
                if not self.loss.across_ranks:  # which the joint loss tells all of
                    check_logits(logits, self.predictor_updates, self.optimizer.param_groups[0]["lr"])
            if player == "energy":
                losses[player] = number(self.loss.update(batch, logits))
            else:
                losses[player] = self._move(batch, logits, stage)
                logits = None  # the predictor has changed
        return losses

    def _move_energy(self, batch: Batch, stage: Stage) -> float | Tensor:
        """A step of the energy that counts how the predictor reacts to it."""
        weight = self._energy_weight(stage)
        with differentiating(self.predictor, batch.x):
            step = self.loss.step(batch_problem(self.predictor, self.loss, batch, weight, self.anchor))
        self.reports.append(step.report)
        return number(step.outer)

    def _energy_weight(self, stage: Stage) -> float:
        return self.method.predictor_loss.weight_at(self.predictor_updates) if stage.energy_in_loss else 0.0

    def _schedule(self, stage: Stage) -> Iterator[Player]:
        playing = {"energy": stage.energy, "predictor": stage.predictor}
        return (player for player in self.method.coupling.schedule() if playing[player])

    def _move(self, batch: Batch, logits: Tensor, stage: Stage) -> float | Tensor:
        weight = self._energy_weight(stage)
        loss = weighted_mean(self.loss.predictor_loss(batch, logits, weight, stage.energy, stage.retune), batch.weight)
        if self.anchor:
            loss = loss + self.method.predictor_loss.anchor_weight * drift(dict(self.predictor.named_parameters()), self.anchor)
        if not loss.requires_grad:
            raise ConfigError(
                f"With supervised_weight=0 the predictor of {self.method.name!r} has nothing to learn from in a stage without "
                "the energy: leave it out, or choose a method that trains both together."
            )
        if not self.loss.across_ranks:  # of all ranks it is known a little later
            check_finite(loss, "predictor", self.predictor_updates + 1, self.optimizer.param_groups[0]["lr"])
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.loss.across_ranks:
            loss = self._over_ranks(loss.detach(), len(logits))
        descend(self.optimizer, self.settings.clip)
        self.predictor_updates += 1
        return number(loss)

    def _over_ranks(self, loss: Tensor, n_rows: int) -> Tensor:
        """The loss over the rows of all ranks; the predictor's gradients become those of it."""
        learning = learnt_by(self.optimizer)
        mean = MeanGradient(loss, tuple(parameter.grad for parameter in learning), n_rows).over_ranks(learning, self._means)
        check_finite(mean.loss, "predictor", self.predictor_updates + 1, self.optimizer.param_groups[0]["lr"])
        give(self.optimizer, mean.gradient)
        return mean.loss
