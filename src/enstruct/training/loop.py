"""The training loop: stages, epochs, early stopping, learning-rate halving, checkpoints.

It reads the method's columns and never asks for its name. Stages run one after another. What a ``Monitor`` watches on the
validation rows is the predictor's answers. A stage that trains the energy alone is watched by the energy's own objective there,
with the same random numbers at every epoch: scores of inference's answers are best while the energy is nearly untrained, and say
little of how well it tells label sets apart. Inference's answers are watched nonetheless where the method answers so and its row
says so (``watch_inference``), where the monitor is the published one (``by_inference``), and where the objective learns from
rewards, which validation rows lack. Without validation rows the training loss is watched. For each watched score the weights of
its best epoch are kept, or a mean of those before where that scores better (``Settings.average``); a stage ends when none has
risen for ``patience`` epochs, and the monitor chooses among them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.data.images import Images
from enstruct.data.rows import Rows
from enstruct.energies.build import shares_features
from enstruct.errors import ConfigError, DivergenceError
from enstruct.methods import Stage
from enstruct.metrics import log_loss
from enstruct.randomness import generator, repeatable, seeded
from enstruct.training.augmentation import shown
from enstruct.training.batches import batches, digest, shuffled
from enstruct.training.callbacks import Callback
from enstruct.training.freed_memory import keep_freed_memory
from enstruct.training.game import Game
from enstruct.training.learned_loss import diverged, weighted_mean
from enstruct.training.predict import predict_by_inference, probabilities
from enstruct.training.ranks import (
    SAME,
    Ranks,
    check_equal_on_ranks,
    check_versions_on_ranks,
    grouped,
    n_ranks,
    of_first,
    rank,
    take_from_first_rank,
)
from enstruct.training.settings import MOST_CYCLES
from enstruct.training.weight_average import WeightAverage

log = logging.getLogger("enstruct")
STILL_FALLS = 0.05
"""The share of the loss by which the second half of a cycle lowers it where there is more to learn: then another begins
(docs/choices.md)."""

Answers = NDArray[Any]
Weights = dict[str, dict[str, torch.Tensor]]  # of each network


class Monitor(Protocol):
    """``scores``: what is watched, higher is better; the first leads the learning rate. ``choose``: one of several answers.

    ``by_inference``: whether a stage that trains the energy alone is watched by scores of inference's answers too, as the
    published systems are, and not by the energy's objective.
    """

    @property
    def by_inference(self) -> bool: ...

    def scores(self, answers: Answers, rows: Rows) -> dict[str, float]: ...

    def choose(self, candidates: Sequence[Answers], rows: Rows) -> int: ...


@dataclass
class Progress:
    """Where training stands; everything a checkpoint needs beside networks and optimisers."""

    stage: int = 0
    epoch: int = 0  # finished epochs of this stage
    cycle: int = 0  # of its rates, and the epochs before it
    before: int = 0
    loss: float = np.inf  # on validation rows, at half of this cycle and then at its end
    fallen: float = 0.0  # the share of it by which the second half lowered it
    best: dict[str, float] = field(default_factory=dict)
    best_epoch: dict[str, int] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    snapshots: dict[int, Weights] = field(default_factory=dict)  # of the best epochs

    def stale(self, name: str | None = None) -> int:
        """Epochs since the best of a score, or since the latest best of any."""
        if not self.best_epoch:
            return 0
        return self.epoch - (max(self.best_epoch.values()) if name is None else self.best_epoch[name])


class Loop:
    """Trains ``game`` on ``train`` rows. Random numbers come from the caller's source (:mod:`enstruct.randomness`).

    ``first_stage``: the stages before it count as done, for networks that come trained.
    """

    def __init__(
        self,
        game: Game,
        train: Rows,
        validation: Rows | None,
        monitor: Monitor,
        callbacks: Sequence[Callback] = (),
        before_stage: Callable[[Stage], None] | None = None,
        device: torch.device | str = "cpu",
        first_stage: int = 0,
    ) -> None:
        self.game, self.train, self.validation, self.monitor = game, train, validation, monitor
        self.callbacks, self.device = callbacks, device
        self.before_stage = before_stage
        self.ranks = self._meet() if grouped() else None
        self.average: WeightAverage | None = None  # of who learns in this stage: the predictor, or the energy alone
        self.first_weights = {key: value.clone() for key, value in game.predictor.state_dict().items()}
        self.progress = Progress(stage=first_stage)
        self._stopping = False
        self._scheduled = False  # single passes have no end that rates could fall to

    def _meet(self) -> Ranks:
        """This process among those that train together, which must be at the same; rank 0's weights are those of all."""
        check_versions_on_ranks()
        seed = int(torch.randint(2**31, (), generator=generator("cpu")))
        networks = self._networks()
        of_networks = sum(weights.numel() for network in networks for weights in network.parameters())
        rows, outputs = len(self.train), self.train.Y.shape[1]
        check_equal_on_ranks(
            self.device,
            SAME,
            seeds=seed,
            numbers_of_training_rows=rows,
            numbers_of_outputs=outputs,
            numbers_of_weights=of_networks,
            sums_over_training_rows=digest(self.train),
        )
        take_from_first_rank(tensor for network in networks for tensor in [*network.parameters(), *network.buffers()])
        return Ranks(rank(), n_ranks(), seed)

    def _networks(self) -> list[torch.nn.Module]:
        """All that learn."""
        players = self.game.predictor, self.game.loss.energy, self.game.loss.source
        return [player for player in players if isinstance(player, torch.nn.Module)]

    def stop(self) -> None:
        """End the present stage after this epoch, for callbacks that keep a budget."""
        self._stopping = True

    def run(self) -> Progress:
        """From wherever ``progress`` stands to the end of the last stage."""
        keep_freed_memory()
        self._scheduled = self.game.settings.schedule != "plateau"
        for callback in self.callbacks:
            callback.on_train_begin(self)
        if self.ranks is not None:
            begun = {"stage": self.progress.stage, "epoch": self.progress.epoch}
            check_equal_on_ranks(self.device, "Put the checkpoint where every process finds it.", **begun)
        stages = self.game.method.stages
        if any(stage.fresh_predictor for stage in stages) and self._shares():
            raise ConfigError(
                "This method keeps an energy and trains another predictor, and an energy of features='shared' would change with "
                "it: take features='copied' or 'separate'."
            )
        while self.progress.stage < len(stages):
            stage = stages[self.progress.stage]
            self.game.clamp(stage)
            if self.progress.epoch == 0:
                self._enter(stage)
                self.average = self.new_average(stage)
            self._run_stage(stage)
            self._restore_best(stage)
            if self.progress.stage + 1 == len(stages):
                break
            self.progress = Progress(stage=self.progress.stage + 1, history=self.progress.history)
        self.game.release()
        for callback in self.callbacks:
            callback.on_train_end(self)
        return self.progress

    def new_average(self, stage: Stage) -> WeightAverage | None:
        """Which the stage's updates are to go into, where weights are averaged."""
        network = self.game.predictor if stage.predictor else self.game.loss.energy
        return WeightAverage(network) if self.game.settings.average and isinstance(network, torch.nn.Module) else None

    def _shares(self) -> bool:
        energy = self.game.loss.energy
        return energy is not None and shares_features(energy, self.game.predictor)

    def run_epoch(self, stage: Stage) -> dict[str, float]:
        """One pass over the training rows in random order; mean losses of the players."""
        place = self.progress.stage, self.progress.epoch
        with self._numbers_of(place, own=False):
            order = shuffled(self.train.X, self.game.settings.batch_size)
        with self._numbers_of(place, own=True):
            return self._pass(stage, order if self.ranks is None else self.ranks.shares(order))

    def _numbers_of(self, place: tuple[int, int], own: bool) -> AbstractContextManager[Any]:
        """The random numbers of an epoch: where one process trains, those that follow the last ones."""
        return nullcontext() if self.ranks is None else seeded(self.ranks.seed_of(*place, own=own))

    def _pass(self, stage: Stage, order: list[NDArray[np.int64]]) -> dict[str, float]:
        totals: dict[str, float | torch.Tensor] = {}
        n = 0
        self.game.reports.clear()
        settings = self.game.settings
        for batch in batches(self.train, settings.batch_size, order, self.device):
            if self._scheduled:
                progress = self.progress
                done = progress.epoch - progress.before + n / len(order)
                length = settings.length(progress.cycle)
                single = length * len(order) == 1  # it would have the rate that others begin with
                self.game.set_rates(stage, 1.0 if single else settings.share_of_rate(done / length))
            for player, loss in self.game.play(shown(batch, self.train.X), stage).items():
                totals[player] = totals.get(player, 0.0) + loss
            if self.average is not None:
                self.average.update()
            n += 1
            for callback in self.callbacks:
                callback.on_batch_end(self)
        losses = {player: float(total) / n for player, total in totals.items()}
        for player, loss in losses.items():
            if not np.isfinite(loss):  # of a processor, the update has said so
                rate = self.game.optimizers[player].param_groups[0]["lr"]
                raise diverged(loss, player, "in this epoch", rate)
        self._check_weights()
        if self.ranks is not None:  # running statistics are of each rank's own rows
            statistics = [tensor for network in self._networks() for tensor in network.buffers()]
            take_from_first_rank([*statistics, *([] if self.average is None else self.average.means.values())])
        return losses

    def _check_weights(self) -> None:
        """Those that an epoch leaves: its last step may have led beyond all numbers, and no loss is taken after it."""
        for name, network in {"predictor": self.game.predictor, "energy": self.game.loss.energy}.items():
            if network is not None and not all(bool(torch.isfinite(weights).all()) for weights in network.parameters()):
                raise DivergenceError(
                    f"The {name}'s weights became infinite. Try a smaller learning rate (now "
                    f"{self.game.settings.learning_rate:g} for the predictor), weight decay or clip=, or standardised features."
                )

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
        progress = self.progress
        self._stopping = False
        while self._goes_on() and not self._stops():
            begin = time.perf_counter()
            losses = self.run_epoch(stage)
            scores, means = self._better(stage, losses)
            progress.epoch += 1
            self._watch_loss(stage, losses)
            with means.in_place() if means is not None else nullcontext():
                self._remember(stage, scores)
            leading, *others = scores
            record = {
                "stage": progress.stage,
                "epoch": progress.epoch,
                **{f"{player}_loss": loss for player, loss in losses.items()},
                "score": scores[leading],
                **{f"{name}_score": scores[name] for name in others},
                "seconds": time.perf_counter() - begin,
                **{f"{player}_updates": n for player, n in self.game.updates.items()},
                **_outer_steps(self.game.reports),
                **({} if self.average is None else {"averaged": means is not None}),
            }
            progress.history.append(record)
            log.info("stage %d epoch %d %s %s", progress.stage, progress.epoch, scores, losses)
            for callback in self.callbacks:
                callback.on_epoch_end(self, record)

    def _goes_on(self) -> bool:
        """Whether the stage has a next epoch, of this cycle of its rates or of one that begins with it."""
        progress, settings = self.progress, self.game.settings
        if settings.schedule != "cycles":
            return progress.epoch < settings.max_epochs and progress.stale() < settings.patience
        if progress.epoch < progress.before + settings.length(progress.cycle):
            return True
        if progress.cycle + 1 == MOST_CYCLES or progress.fallen <= STILL_FALLS:
            return False
        progress.cycle, progress.before, progress.loss, progress.fallen = progress.cycle + 1, progress.epoch, np.inf, 0.0
        return True

    def _watch_loss(self, stage: Stage, losses: dict[str, float]) -> None:
        """At half of a cycle and at its end; without validation rows that of training."""
        progress, length = self.progress, self.game.settings.length(self.progress.cycle)
        if self.game.settings.schedule != "cycles" or progress.epoch - progress.before not in (-(-length // 2), length):
            return
        loss = losses["predictor"]
        if self.validation is not None:
            loss = log_loss(self.validation.Y, self._answers(stage, self.validation), self.validation.weight)
        if self.ranks is not None:
            loss = of_first({"loss": loss})["loss"]
        progress.fallen = 1 - loss / progress.loss if progress.loss > 0 else 0.0
        progress.loss = loss

    def _stops(self) -> bool:
        return self._stopping if self.ranks is None else self.ranks.on_any(self._stopping, self.device)

    def _remember(self, stage: Stage, scores: dict[str, float]) -> None:
        """Keep the weights of a best epoch; halve the learning rates on a plateau of the leading score."""
        progress, settings = self.progress, self.game.settings
        for name, score in scores.items():
            best = progress.best.get(name, -np.inf)
            tol = settings.tol * (1.0 if self.validation is not None else abs(best))
            if not np.isfinite(best) or score > best + tol:
                progress.best[name], progress.best_epoch[name] = score, progress.epoch
        kept = set(progress.best_epoch.values())
        progress.snapshots = {epoch: weights for epoch, weights in progress.snapshots.items() if epoch in kept}
        if progress.epoch in kept:
            progress.snapshots[progress.epoch] = self._weights(stage)
        stale = progress.stale(next(iter(scores)))
        if stale and stale % settings.plateau == 0 and settings.schedule == "plateau":
            self._halve_rates(stage)

    def _halve_rates(self, stage: Stage) -> None:
        for name, optimizer in self.game.optimizers.items():
            if stage.predictor if name == "predictor" else stage.energy:  # who does not learn keeps its rate
                for group in optimizer.param_groups:
                    group["lr"] *= 0.5

    def _weights(self, stage: Stage) -> Weights:
        kept = {"predictor": self.game.predictor} if stage.predictor else {}
        if self.game.loss.energy is not None:
            kept["energy"] = self.game.loss.energy
        return {name: {k: v.clone() for k, v in module.state_dict().items()} for name, module in kept.items()}

    def _restore_best(self, stage: Stage) -> None:
        """The weights of the chosen epoch go into the networks; epochs in the order of the scores they are best in."""
        progress = self.progress
        epochs = list(dict.fromkeys(progress.best_epoch.values()))
        if not epochs:
            return
        chosen = 0
        if len(epochs) > 1 and self.validation is not None:
            candidates = []
            for epoch in epochs:
                self._load(progress.snapshots[epoch])
                candidates.append(self._answers(stage, self.validation))
            chosen = self.monitor.choose(candidates, self.validation)
            chosen = chosen if self.ranks is None else of_first(chosen)
        log.info("stage %d keeps epoch %d of the best ones, %s", progress.stage, epochs[chosen], progress.best_epoch)
        self._load(progress.snapshots[epochs[chosen]])

    def _load(self, weights: Weights) -> None:
        for name, state in weights.items():
            (self.game.predictor if name == "predictor" else self.game.loss.network).load_state_dict(state)

    def _scores(self, stage: Stage, losses: dict[str, float]) -> dict[str, float]:
        """Higher is better."""
        if self.validation is None:
            return {"loss": -losses["predictor" if stage.predictor else "energy"]}
        if stage.predictor or self._watches_inference(self.validation):
            return self.monitor.scores(self._answers(stage, self.validation), self.validation)
        return {"objective": -self._energy_loss(self.validation)}

    def _better(self, stage: Stage, losses: dict[str, float]) -> tuple[dict[str, float], WeightAverage | None]:
        """Scores of the weights as they are, or of their mean where that scores better on validation rows, and the mean then."""
        scores = self._scores_of_first(stage, losses)
        if self.average is None or self.validation is None:
            return scores, None
        with self.average.in_place():
            of_mean = self._scores_of_first(stage, losses)
        leading = next(iter(scores))
        return (of_mean, self.average) if of_mean[leading] > scores[leading] else (scores, None)

    def _scores_of_first(self, stage: Stage, losses: dict[str, float]) -> dict[str, float]:
        """The first rank's, as a last digit could part them."""
        scores = self._scores(stage, losses)
        return scores if self.ranks is None else of_first(scores)

    def _watches_inference(self, validation: Rows) -> bool:
        """Whether inference's answers are watched, and not the objective, where the energy learns alone."""
        method = self.game.method
        if method.inference is None or method.objective is None:
            return False
        rewarded = validation.supervision is not None or not method.objective.needs_truth
        return self.monitor.by_inference or method.watch_inference or rewarded

    def _answers(self, stage: Stage, rows: Rows) -> Answers:
        """Of the predictor, or of inference in a stage that trains the energy alone; ranks share the rows out.

        Images they do not: how often one of them is there, its crops decide together.
        """
        game, how = self.game, self.game.method.inference

        def answer(X: Any) -> Answers:
            if stage.predictor or how is None:
                return probabilities(game.predictor, X, self.device, game.loss.space.relax)
            return predict_by_inference(game.predictor, game.loss.network, game.loss.space, how, X, self.device)

        alone = self.ranks is None or isinstance(rows.X, Images) or len(rows) < n_ranks()
        return answer(rows.X) if self.ranks is None or alone else self.ranks.gathered(answer, rows.X)

    @torch.no_grad()
    def _energy_loss(self, rows: Rows) -> float:
        """The objective on ``rows``, with the same random candidates at every epoch."""
        self.game.predictor.eval()
        self.game.loss.network.eval()
        total = 0.0
        with repeatable(0, self.device):
            for batch in batches(rows, 256, device=self.device):
                loss = self.game.loss.energy_loss(batch, self.game.predictor(batch.x))
                total += float(weighted_mean(loss, batch.weight)) * len(loss)
        return total / len(rows)


def _outer_steps(reports: list[dict[str, float]]) -> dict[str, Any]:
    """What the coupling reported: the mean of each number over the epoch, and in ``outer_steps`` its value at every step."""
    steps = {name: [float(f"{report[name]:.4g}") for report in reports if name in report] for name in _names(reports)}
    means = {name: float(np.mean(values)) for name, values in steps.items()}
    return {**means, "outer_steps": steps} if steps else {}


def _names(reports: list[dict[str, float]]) -> list[str]:
    return list(dict.fromkeys(name for report in reports for name in report))
