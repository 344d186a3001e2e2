"""The training loop: stages, epochs, early stopping, learning-rate halving, checkpoints.

It reads the method's columns and never asks for its name. Stages run one after another; a stage
that trains the predictor is scored by ``score(probabilities, rows)`` on the validation rows; one that
trains the energy alone by the same score of inference where the method answers so, else by its objective
there. Without validation rows the training loss is watched instead. The best weights of each stage are kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.data.rows import Rows
from enstruct.methods import Stage
from enstruct.training.answers import inferred, probabilities
from enstruct.training.batches import batches
from enstruct.training.callbacks import Callback
from enstruct.training.game import Game
from enstruct.training.learned_loss import weighted_mean

log = logging.getLogger("enstruct")

Score = Callable[[NDArray[Any], Rows], float]


@dataclass
class Progress:
    """Where training stands; everything a checkpoint needs beside networks and optimisers."""

    stage: int = 0
    epoch: int = 0  # finished epochs of this stage
    best: float = -np.inf
    best_epoch: int = 0
    stale: int = 0  # epochs since the best score
    done: bool = False
    history: list[dict[str, float]] = field(default_factory=list)
    best_weights: dict[str, dict[str, torch.Tensor]] = field(default_factory=dict)


class Loop:
    """Trains ``game`` on ``train`` rows. Drawing of random numbers is the caller's (torch's global generator)."""

    def __init__(
        self,
        game: Game,
        train: Rows,
        validation: Rows | None,
        score: Score,
        callbacks: Sequence[Callback] = (),
        before_stage: Callable[[Stage], None] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.game, self.train, self.validation, self.score = game, train, validation, score
        self.callbacks, self.device = callbacks, device
        self.before_stage = before_stage
        self.first_weights = {key: value.clone() for key, value in game.predictor.state_dict().items()}
        self.progress = Progress()

    def run(self) -> Progress:
        """From wherever ``progress`` stands to the end of the last stage."""
        for callback in self.callbacks:
            callback.on_train_begin(self)
        stages = self.game.method.stages
        while self.progress.stage < len(stages):
            stage = stages[self.progress.stage]
            self.game.clamp(stage)
            if self.progress.epoch == 0:
                self._enter(stage)
            self._run_stage(stage)
            self._restore_best()
            if self.progress.stage + 1 == len(stages):
                break
            self.progress = Progress(stage=self.progress.stage + 1, history=self.progress.history)
        self.progress.done = True
        self.game.release()
        for callback in self.callbacks:
            callback.on_train_end(self)
        return self.progress

    def run_epoch(self, stage: Stage) -> dict[str, float]:
        """One pass over the training rows in random order; mean losses of the players."""
        order = torch.randperm(len(self.train)).numpy()
        totals: dict[str, float] = {}
        n = 0
        for batch in batches(self.train, self.game.settings.batch_size, order, self.device):
            for player, loss in self.game.play(batch, stage).items():
                totals[player] = totals.get(player, 0.0) + loss
            n += 1
            for callback in self.callbacks:
                callback.on_batch_end(self)
        return {player: total / n for player, total in totals.items()}

    def _enter(self, stage: Stage) -> None:
        """What happens once, before a stage's first epoch."""
        if self.before_stage is not None:
            self.before_stage(stage)
        if stage.fresh_predictor:
            self.game.predictor.load_state_dict(self.first_weights)
            self.game.reset_optimizer()
            self.game.predictor_updates = 0  # what counts is what trained the predictor that stays
        self.game.enter(stage)

    def _run_stage(self, stage: Stage) -> None:
        progress, settings = self.progress, self.game.settings
        while progress.epoch < settings.max_epochs and progress.stale < settings.patience:
            begin = time.perf_counter()
            losses = self.run_epoch(stage)
            quality = self._quality(stage, losses)
            progress.epoch += 1
            self._judge(stage, quality)
            record = {
                "stage": progress.stage,
                "epoch": progress.epoch,
                **{f"{player}_loss": loss for player, loss in losses.items()},
                "score": quality,
                "seconds": time.perf_counter() - begin,
                **{f"{player}_updates": n for player, n in self.game.updates.items()},
            }
            progress.history.append(record)
            log.info("stage %d epoch %d score %.4f %s", progress.stage, progress.epoch, quality, losses)
            for callback in self.callbacks:
                callback.on_epoch_end(self, record)

    def _judge(self, stage: Stage, quality: float) -> None:
        progress = self.progress
        tol = self.game.settings.tol * (1.0 if self.validation is not None else abs(progress.best))
        if not np.isfinite(progress.best) or quality > progress.best + tol:
            progress.best, progress.best_epoch, progress.stale = quality, progress.epoch, 0
            progress.best_weights = self._weights(stage)
            return
        progress.stale += 1
        if progress.stale % self.game.settings.plateau == 0:
            for name, optimizer in self.game.optimizers.items():
                if stage.predictor if name == "predictor" else stage.energy:  # who does not learn keeps its rate
                    for group in optimizer.param_groups:
                        group["lr"] *= 0.5

    def _weights(self, stage: Stage) -> dict[str, dict[str, torch.Tensor]]:
        kept = {"predictor": self.game.predictor} if stage.predictor else {}
        if self.game.loss.energy is not None:
            kept["energy"] = self.game.loss.energy
        return {name: {k: v.clone() for k, v in module.state_dict().items()} for name, module in kept.items()}

    def _restore_best(self) -> None:
        """The best epoch's weights go into the networks."""
        for name, weights in self.progress.best_weights.items():
            module = self.game.predictor if name == "predictor" else self.game.loss.network
            module.load_state_dict(weights)

    def _quality(self, stage: Stage, losses: dict[str, float]) -> float:
        """Higher is better."""
        if self.validation is None:
            return -losses["predictor" if stage.predictor else "energy"]
        if stage.predictor:
            return self.score(probabilities(self.game.predictor, self.validation.X, self.device), self.validation)
        how = self.game.method.inference
        if how is not None:
            loss = self.game.loss
            y = inferred(self.game.predictor, loss.network, loss.space, how, self.validation.X, self.device)
            return self.score(y, self.validation)
        return -self._energy_loss(self.validation)

    @torch.no_grad()
    def _energy_loss(self, rows: Rows) -> float:
        """The objective on ``rows``, with the same random candidates at every epoch."""
        self.game.predictor.eval()
        self.game.loss.network.eval()
        total = 0.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for batch in batches(rows, 256, device=self.device):
                loss = self.game.loss.energy_loss(batch, self.game.predictor(batch.x))
                total += float(weighted_mean(loss, batch.weight)) * len(loss)
        return total / len(rows)
