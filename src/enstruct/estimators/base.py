"""What every enstruct estimator shares: parameters, training of its networks, inference on its energy.

An estimator brings its task (:mod:`enstruct.tasks`), the form of its data, its networks and its decisions.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import torch
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import nn

from enstruct.data.mapped import MappedRows
from enstruct.data.rows import Rows
from enstruct.devices import bring
from enstruct.encoders.text import TextEncoder
from enstruct.energies import EnergySpec
from enstruct.energies.build import refresh_features, transplant
from enstruct.errors import ConfigError
from enstruct.estimators.networks import Pair, check_bytes
from enstruct.estimators.parameters import COMPLETE_CALLBACKS, Table, check_parameters
from enstruct.estimators.renamed import check_not_renamed
from enstruct.estimators.saving import SavedEstimator
from enstruct.inference import Solution, Solver
from enstruct.methods import Method, Stage
from enstruct.methods.columns import is_solver
from enstruct.negatives import ValueMixtures
from enstruct.objectives import Density
from enstruct.randomness import States, seeded, set_states, states
from enstruct.tasks import Batches, Task
from enstruct.training.batches import rows_an_epoch
from enstruct.training.callbacks import Callback, PrintEpochs
from enstruct.training.game import Game
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.loop import Loop, Monitor
from enstruct.training.predict import Networks, Problem, probabilities
from enstruct.training.ranks import grouped, n_ranks
from enstruct.training.settings import Schedule, Settings
from enstruct.validation import one_of, optional, switch

log = logging.getLogger("enstruct")
TUNING_EPOCHS = 6
"""Of pretrained encoders of texts, when "auto"."""
OF_THE_PEAK = 0.1
"""The share of a rate that has fallen to nothing which passes over validation rows have after it."""
COLUMN = "method__"
"""Before the name of a column of the method in ``get_params`` and ``set_params``."""


def seed_of(random_state: Any) -> int:
    """A number drawn from it. ConfigError for what is no seed and no RandomState."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ConfigError(f"random_state: {error}") from error


def has_passes(estimator: Any) -> bool:
    """Whether the method is trained pass by pass, so that there is a ``partial_fit``: one stage, and no solver."""
    method = estimator._method()
    return method.solver is None and len(method.stages) == 1


class Training(NamedTuple):
    """What networks are trained on, and how.

    method : the row, looked up once a fit.
    build : makes (predictor, energy or None), newly initialised.
    first_stage : the stages before it count as done.
    refresh : whether an energy takes the predictor's features before a stage; not where it goes on with its own.
    positive_weight : (labels,) of active labels in the supervised loss.
    rules : what answers say of the rules, where the method's predictor learns by that.
    """

    method: Method
    rows: Rows
    validation: Rows | None
    monitor: Monitor
    seed: int
    build: Callable[[], Pair]
    first_stage: int = 0
    refresh: bool = True
    positive_weight: Any = None
    rules: Any = None


class EnergyEstimator(SavedEstimator):
    """Common machinery; not used on its own."""

    _task: ClassVar[Task]
    _parameters: ClassVar[Table]
    _solver_settings: Mapping[str, Any] = {}
    """What a solver is told, which would choose it otherwise: members of cross-fitted bases have it from the first fold."""
    average: ClassVar[bool] = False
    """Whether a mean of the weights is kept where it scores better on validation rows than the last ones
    (:mod:`enstruct.training.weight_average`), unless rates fall to nothing, as those of tuned encoders."""

    # -- parameters -------------------------------------------------------------------------------

    def _store(self, parameters: dict[str, Any]) -> None:
        """Keep the parameters of ``__init__`` as they are, the one thing that scikit-learn lets it do."""
        for name in self._get_param_names():
            setattr(self, name, parameters[name])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` the columns of the method's row too, as ``method__energy_weight``."""
        params: dict[str, Any] = super().get_params(deep=False)
        row = self._task.methods.get(self.method) if isinstance(self.method, str) else self.method
        if deep and isinstance(row, Method):
            params |= {f"{COLUMN}{name}": value for name, value in row.columns.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters; ``method__energy_weight=1`` changes a column of the method's row, as searches do.

        ConfigError for columns that do not go together, and for parameters by the names that they had in earlier versions.
        """
        check_not_renamed(type(self).__init__, params)
        columns = {name.removeprefix(COLUMN): value for name, value in params.items() if name.startswith(COLUMN)}
        plain = {name: value for name, value in params.items() if not name.startswith(COLUMN)}
        if columns:
            plain["method"] = self._task.method(cast(Any, plain.get("method", self.method))).with_(**columns)
        super().set_params(**plain)
        return self

    def _check_parameters(self) -> Method:
        """The method's row. ConfigError for a parameter that cannot be meant, whatever the data."""
        check_parameters(self, self._parameters)
        method = self._method()
        one_of("cost", self._task.costs)("cost", method.cost)
        return method

    def _method(self) -> Method:
        return self._task.method(self.method)

    def _settings(self, n_rows: int, passes: bool = False) -> Settings:
        """``passes``: of single ones, of which nobody knows how many are to come, nor whether of as many rows."""
        budget, epochs, patience = self._task.budget, self.max_epochs, self.n_iter_no_change
        tuned = isinstance(self._network_encoder(), TextEncoder)
        batch_size = self._batch_size(n_rows, passes)
        learns = isinstance(patience, str) and not passes and not tuned and self._method().learns_throughout
        cycle = budget.cycle_epochs(n_rows, batch_size) if learns else None
        schedule: Schedule = "linear" if tuned or cycle is not None else "plateau"
        if isinstance(epochs, str):
            schedule = "cycles" if cycle is not None else schedule
            epochs = TUNING_EPOCHS if tuned else cycle or budget.epochs(budget.most, n_rows, batch_size)
        if isinstance(patience, str):
            patience = budget.epochs(budget.patience, n_rows, batch_size) if schedule == "plateau" else epochs
        rate = self.learning_rate
        if isinstance(rate, str):
            rate = cast(Batches, budget.batches).rate_of(batch_size, cycle is not None)
        return Settings(
            learning_rate=rate,
            optimizer=self.optimizer,
            weight_decay=self.weight_decay,
            clip=self.clip,
            batch_size=batch_size,
            max_epochs=int(epochs),
            patience=int(patience),
            tol=self.tol,
            schedule=schedule,
            average=schedule == "plateau" and not passes and self.average,
        )

    def _batch_size(self, n_rows: int, passes: bool = False) -> int:
        """The smallest there is of an encoder of texts that is tuned, of energies trained alone, and of single passes."""
        if not isinstance(self.batch_size, str):
            return int(self.batch_size)
        batches, tuned = cast(Batches, self._task.budget.batches), isinstance(self._network_encoder(), TextEncoder)
        return batches.smallest if passes or tuned or not self._method().learns_throughout else batches.size(n_rows)

    def _device(self) -> torch.device:
        name = self.device
        if isinstance(name, str) and name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            device = torch.device(name)
        except (RuntimeError, TypeError, ValueError, OverflowError) as error:
            raise ConfigError(f"device={name!r} is none that torch knows; use 'auto', 'cpu' or 'cuda'.") from error
        if device.type == "cuda" and not torch.cuda.is_available():
            raise ConfigError(f"device={name!r}: torch finds no such GPU here; use 'auto' or 'cpu'.")
        return device

    def _callbacks(self) -> list[Callback]:
        return [*([PrintEpochs()] if self.verbose else ()), *(() if self.callbacks is None else self.callbacks)]

    def _should_stop(self) -> bool:
        return any(callback.should_stop() for callback in self._callbacks() if isinstance(callback, Callback))

    # -- training ---------------------------------------------------------------------------------

    def _goes_on(self, method: Method) -> bool:
        """Whether ``fit`` trains the networks at hand further; solvers fit anew."""
        return bool(self.warm_start) and hasattr(self, "predictor_") and method.solver is None

    def _train(self, training: Training) -> Game | None:
        """Fit ``predictor_`` and ``energy_``, and record ``history_``, ``n_iter_`` and ``updates_``.

        Returns the game that was played, for further passes; None where a solver fitted the predictor.
        """
        method, rows = training.method, training.rows
        if method.solver is not None and isinstance(rows.X, MappedRows):
            raise ConfigError(
                f"Method {method.name!r} takes all rows at once, and these stay in their file: name one that is trained batch by "
                "batch, as cross-entropy, or give it X.read() if that fits into memory."
            )
        if method.solver is not None:
            with seeded(training.seed):
                predictor = method.solver(
                    rows,
                    training.validation,
                    training.positive_weight,
                    training.seed,
                    self.metric,
                    self._should_stop,
                    **self._solver_settings,
                )
            self.predictor_, self.energy_ = predictor.to(self._device()), None
            self.history_, self.n_iter_, self.updates_ = [], 1, {"energy": 0, "predictor": 0}
            return None
        optional(COMPLETE_CALLBACKS)("callbacks", self.callbacks)
        if method.validation_epochs and training.validation is not None and len(training.validation) < n_ranks():
            raise ConfigError(f"{len(training.validation)} validation rows are too few for {n_ranks()} processes: start fewer.")
        with seeded(training.seed):
            if self._goes_on(method):
                self._check_built(method, "warm_start=True")
                self._check_same_networks(method, rows, "warm_start=True")
                self.predictor_, self.energy_ = copy.deepcopy((self.predictor_, self.energy_))  # a failure leaves those at hand
            else:
                self._make_networks(training)
            game = self._game(training, self._settings(rows_an_epoch(rows.X)))
            loop = Loop(
                game,
                rows,
                training.validation,
                training.monitor,
                self._callbacks(),
                self._take_from_predictor if training.refresh else None,
                self._device(),
                training.first_stage,
            )
            self.history_ = loop.run().history
        self.n_iter_, self.updates_ = max(1, len(self.history_)), dict(game.updates)
        return game

    def _make_networks(self, training: Training) -> None:
        (self.predictor_, self.energy_), self.built_with_ = training.build(), self._built_with(training.method)

    def _game(self, training: Training, settings: Settings) -> Game:
        """A game of the networks at hand."""
        method, device, n_outputs = training.method, self._device(), training.rows.Y.shape[1]
        if not any(True for _ in self.predictor_.parameters()):
            raise ConfigError("The predictor at hand has nothing that a network's training could change (trees?): fit anew.")
        self.predictor_.to(device)
        if self.energy_ is not None:
            self.energy_.to(device)
        weight = training.positive_weight
        weights = () if weight is None else (torch.as_tensor(weight, dtype=torch.float32, device=device),)
        space = self._task.space(n_outputs, method.cost, *weights)
        if n_ranks() > 1 and method.coupling.through_predictor:
            raise ConfigError(
                f"Method {method.name!r} differentiates through the predictor's training, which one process does: train it "
                "outside of a group."
            )
        rules = None if training.rules is None else training.rules.to(device)
        loss = LearnedLoss(method, space, self.energy_, n_outputs, settings, self.predictor_, grouped(), rules)
        return Game(self.predictor_, loss)

    def _take_from_predictor(self, stage: Stage) -> None:
        """What an energy takes from the predictor before a stage: its latest copied features, or all of its local part."""
        if self.energy_ is None:
            return
        spec = self.built_with_["energy_network"]
        if stage.transplant:
            transplant(self.energy_, self.predictor_)
        elif stage.energy and (not stage.predictor or "features" in stage.clamped) and isinstance(spec, EnergySpec):
            refresh_features(self.energy_, cast(nn.Module, self.predictor_.encoder), spec.features)

    def _refine_on(self, validation: Rows, game: Game, monitor: Monitor, seed: int) -> None:
        """The method's ``validation_epochs``: passes of the predictor alone over the validation rows; the energy stays."""
        with seeded(seed):
            loop = Loop(game, validation, None, monitor, device=self._device())
            stage = Stage(predictor=True, energy=False)
            if game.settings.schedule != "plateau":  # whose rates have fallen to nothing
                game.set_rates(stage, OF_THE_PEAK)
            for number in range(game.method.validation_epochs):
                loop.progress.epoch = number
                losses = loop.run_epoch(stage)
                log.info("pass %d over the validation rows %s", number + 1, losses)
        self.updates_ = dict(game.updates)

    partial_game_: Game

    def _train_one_pass(self, training: Training, new: bool) -> None:
        """``partial_fit``: one pass over the rows by the method's first stage; ``new``: on networks yet to be made."""
        method, device = training.method, self._device()
        settings, going_on = self._settings(rows_an_epoch(training.rows.X), passes=True), hasattr(self, "partial_game_")
        with seeded(0 if going_on else training.seed):
            if going_on:
                set_states(self.generator_states_, device)
            if new and not going_on:
                self._make_networks(training)
                self.partial_game_ = self._game(training, settings)
            elif not going_on or not self.partial_game_.has(method, settings):  # or set_params since
                self._check_same_networks(method, training.rows, "partial_fit")
                self.partial_game_ = self._game(training, settings)
                updates = getattr(self, "updates_", {})
                self.partial_game_.predictor_updates = updates.get("predictor", 0)  # the energy's weight has risen already
                self.partial_game_.loss.updates = updates.get("energy", 0)
            loop = Loop(self.partial_game_, training.rows, None, training.monitor, device=device)
            losses = loop.run_epoch(method.stages[0])
            self.generator_states_: States = states(device)
        self.updates_ = dict(self.partial_game_.updates)
        record = {"epoch": len(self.history_) + 1, **{f"{player}_loss": loss for player, loss in losses.items()}}
        self.history_ = [*self.history_, record]
        self.n_iter_ = len(self.history_)

    def _decide_best(self, scores: dict[str, float]) -> None:
        """Put the rule that scores best on validation rows in force, unless one is asked for."""
        self.decision_scores_ = scores
        self.decision_ = max(scores, key=scores.__getitem__) if self.decision == "auto" else self.decision

    def _weight_unit(self, weight: Any) -> float:
        """The mean weight of the first call of ``partial_fit``, so that the weights of all its calls can be compared."""
        if not hasattr(self, "weight_unit_"):
            self.weight_unit_ = float(np.mean(weight)) or 1.0
        return self.weight_unit_

    def _forget_passes(self) -> None:
        """``partial_fit`` goes on with what is fitted now."""
        for name in ("partial_game_", "weight_unit_"):
            self.__dict__.pop(name, None)

    def _check_batch(self, method: Method, n_rows: int, places: int, width: int, n_outputs: int, smaller: str) -> None:
        """ConfigError where what a batch of rows with so many places (1 for label sets) passes through would fill the memory:
        its features, and as many candidates as the caller has asked for, or as are whole outputs each."""
        cells = min(self._batch_size(n_rows), n_rows) * places
        check_bytes("The features of a batch", cells * width, f"batch_size=, {smaller}")
        own = getattr(self._task.methods.get(method.name, method).negatives, "n", 1)
        asked = getattr(method.negatives, "n", 1) or n_outputs
        few = asked == own and not isinstance(method.negatives, ValueMixtures)
        candidates = cells * n_outputs * (1 if few else asked)
        check_bytes("The candidates of a batch", candidates, f"batch_size=, n_samples=, {smaller}")

    def _check_same_networks(self, method: Method, rows: Rows, who: str) -> None:
        """``who`` goes on with the networks at hand, so they must fit the data and the method."""
        try:
            n_outputs = probabilities(self.predictor_, rows.X[:1], self._device(), relax=None).shape[-1]
        except (RuntimeError, IndexError):  # torch's own words for other shapes
            n_outputs = -1
        if n_outputs != rows.Y.shape[1] or method.has_energy != (self.energy_ is not None):
            raise ConfigError(
                f"{who} goes on with networks fitted to other data or another method; they do not fit "
                f"{rows.X.shape[1]} features, {rows.Y.shape[1]} outputs that vary and method {method.name!r}. "
                "Make a new estimator, or set warm_start=False and fit anew."
            )

    # -- the energy -------------------------------------------------------------------------------

    def _networks(self) -> Networks:
        check_is_fitted(self, "predictor_")
        method, device = self._method(), self._device()
        for network in (self.predictor_, self.energy_):
            bring(network, device)  # set_params may have named another since
        head = getattr(self.predictor_, "head", None)  # what a solver has fitted may have none
        space = self._task.space(len(self.classes_) if head is None else head.out_features, method.cost)
        return Networks(self.predictor_, self.energy_, method, space, device)

    @property
    def density_(self) -> Density:
        """What the fitted energy's exp(-E) estimates."""
        try:
            return self._method().density
        except ConfigError as error:  # of a method that there is not; dir() asks for every property
            raise AttributeError(str(error)) from error

    def inference_settings(self) -> Solver:
        """The method's own inference; where the predictor answers, 50 steps as ``refine`` takes them, the best iterate kept."""
        return self._networks().inference_settings()

    def inference_problem(self, X: Any, bare: bool = False) -> Problem:
        """What inference minimises for these rows as one batch; ConfigError if the method has no energy.

        For methods that answer by the predictor: what ``refine`` minimises, which adds minus the predictor's log-probability
        where the energy is relative to it; ``bare`` leaves that out, as the predictor's loss does. For label sets it is over the
        labels that vary; images have one size, and are taken whole.
        """
        switch()("bare", bare)
        return self._networks().problem(self._inference_inputs(X), bare)

    def infer(self, X: Any, settings: Solver | None = None, **changes: Any) -> Solution:
        """Solve :meth:`inference_problem` of these rows: relaxed outputs, their energies, steps, status.

        The energies are those of :meth:`inference_problem`, not of :meth:`energy`, where the energy is relative to the predictor.
        ``settings``: default :meth:`inference_settings`; ``changes`` are its fields, as starts, steps, tolerance, share of
        :class:`~enstruct.inference.Inference`. ConfigError if the method has no energy.
        """
        optional(is_solver)("settings", settings)
        return self._networks().infer(self._inference_inputs(X), settings, changes)

    def _inference_inputs(self, X: Any) -> Any:
        """X of :meth:`infer` as the networks take it."""
        raise NotImplementedError  # every estimator defines it
