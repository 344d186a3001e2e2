"""What every enstruct estimator shares: parameters to method and settings, training, raw predictions.

Subclasses bring the table of methods, the output space, the networks, the output's form and the decision rules.
"""

from __future__ import annotations

import copy
import logging
from dataclasses import fields, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import nn

from enstruct.customise import COUPLING_SETTINGS, LOSS_SETTINGS, customise
from enstruct.data.rows import Rows
from enstruct.energies import EnergySpec
from enstruct.energies.build import refresh_features, transplant
from enstruct.errors import ConfigError, unknown_name
from enstruct.estimators.networks import energy_spec
from enstruct.estimators.parameters import COMPLETE_CALLBACKS, SETTINGS_OF_METHOD, SHARED, Table, check_parameters, is_solver
from enstruct.estimators.saving import SavedEstimator
from enstruct.estimators.sizes import check_bytes
from enstruct.inference import Inference, Solution, Solver, Unrolled
from enstruct.methods import METHODS, Method, Stage, get_method
from enstruct.objectives import Density
from enstruct.randomness import redirected, seeded
from enstruct.spaces.base import RelaxedSpace
from enstruct.training.callbacks import Callback, PrintEpochs
from enstruct.training.game import Game
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.loop import Loop, Monitor
from enstruct.training.predict import Problem, predict_by_inference, probabilities, problem
from enstruct.training.settings import Settings
from enstruct.validation import check_whole, optional, switch

log = logging.getLogger("enstruct")

MOST_EPOCHS, MOST_UPDATES = 200, 5000
PATIENCE_EPOCHS, PATIENCE_UPDATES = 20, 500
"""What "auto" means: epochs, and at least so many updates, since an epoch of a small set is a few batches."""
FULL_SIZE, TINY = 180, 10
"""Training rows from which on that holds: those of 250 rows of which a fifth is held out, and some to spare. Of fewer updates
fall with the square, which scores as well (20 to 150 rows of 40 features), and the epochs where they are not a tenth of it."""


def seed_of(random_state: Any) -> int:
    """A number drawn from it. ConfigError for what is no seed and no RandomState."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ConfigError(f"random_state: {error}") from error


class EnergyEstimator(SavedEstimator):
    """Common machinery; not used on its own."""

    _methods: ClassVar[dict[str, Method]] = METHODS
    _parameters: ClassVar[Table] = SHARED
    _most_epochs, _most_updates = MOST_EPOCHS, MOST_UPDATES
    _patience_epochs, _patience_updates = PATIENCE_EPOCHS, PATIENCE_UPDATES
    _full_size = FULL_SIZE

    def _store(self, given: dict[str, Any]) -> None:
        """Keep the parameters of ``__init__`` as they are, the one thing that scikit-learn lets it do."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def _new_networks(self, method: Method, train: Rows) -> tuple[nn.Module, nn.Module | None]:
        """(predictor, energy or None), newly initialised."""
        raise NotImplementedError  # every estimator defines it

    def _blank_networks(self, method: Method) -> tuple[nn.Module, nn.Module | None]:
        """Networks for saved weights, of estimators that have a class at every place."""
        raise NotImplementedError

    def _output_space(self, method: Method, n_outputs: int, weight: torch.Tensor | None = None) -> RelaxedSpace:
        """``weight``: of the labels in the supervised loss, for spaces that have it."""
        raise NotImplementedError  # every estimator defines it

    def _method(self) -> Method:
        check_parameters(self, self._parameters, ("method", *SETTINGS_OF_METHOD))
        return customise(
            get_method(self.method, self._methods),
            negatives=self.negatives,
            n_samples=self.n_samples,
            cost=self.cost,
            hypergradient=self.hypergradient,
            sample_gradient=self.sample_gradient,
            inference=self.inference,
            **{name: getattr(self, name) for name in (*LOSS_SETTINGS, *COUPLING_SETTINGS)},
        )

    def _settings(self, n_rows: int) -> Settings:
        batch_size = int(self.batch_size)
        steps = -(-n_rows // batch_size)
        patience = self._epochs("n_iter_no_change", self._patience_epochs, self._patience_updates, n_rows, steps)
        return Settings(
            learning_rate=self.learning_rate,
            energy_learning_rate=self.energy_learning_rate,
            optimizer=self.optimizer,
            weight_decay=self.weight_decay,
            clip=self.clip,
            energy_clip=self.energy_clip,
            batch_size=batch_size,
            max_epochs=self._epochs("max_iter", self._most_epochs, self._most_updates, n_rows, steps),
            patience=patience,
            plateau=max(1, patience // 3),
            tol=self.tol,
        )

    def _epochs(self, name: str, epochs: int, updates: int, n_rows: int, steps: int) -> int:
        """The parameter's own number, or for "auto" ``epochs``, and on small data as many as make ``updates``; on fewer rows than
        the full size fewer of both."""
        given, full = getattr(self, name), self._full_size
        if not isinstance(given, str):
            return int(given)
        n = min(n_rows, full)
        return max(-(-min(TINY * n, full) * epochs // full), -(-n * n * updates // (full * full * steps)))

    def _seed(self) -> int:
        return seed_of(self.random_state)

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

    def _train(self, train: Rows, validation: Rows | None, monitor: Monitor, positive_weight: Any, seed: int) -> Game | None:
        """Fit ``predictor_`` and ``energy_``, and record ``history_``, ``n_iter_`` and ``updates_``.

        Returns the game that was played, for further passes; None where a solver fitted the predictor.
        """
        method = self._method()
        if method.solver is not None:
            with seeded(seed), redirected():
                predictor = method.solver(train, validation, positive_weight, seed, self.metric, self._should_stop)
            self.predictor_, self.energy_ = predictor.to(self._device()), None
            self.history_, self.n_iter_, self.updates_ = [], 1, {"energy": 0, "predictor": 0}
            return None
        optional(COMPLETE_CALLBACKS)("callbacks", self.callbacks)
        with seeded(seed):
            game = self._make_game(method, train, positive_weight)
            loop = Loop(
                game,
                train,
                validation,
                monitor,
                self._callbacks(),
                self._before_stage,
                self._device(),
                self._first_stage(method),
            )
            self.history_ = loop.run().history
        self.n_iter_, self.updates_ = max(1, len(self.history_)), dict(game.updates)
        return game

    def _check_batch(self, n_rows: int, places: int, width: int, n_outputs: int, smaller: str) -> None:
        """ConfigError where what a batch of rows with so many places (1 for label sets) passes through would fill the memory:
        its features, and as many candidates as the caller has asked for."""
        cells = min(int(self.batch_size), n_rows) * places
        check_bytes("The features of a batch", cells * width, f"batch_size=, {smaller}")
        check_bytes("The candidates of a batch", cells * n_outputs * (self.n_samples or 1), f"batch_size=, n_samples=, {smaller}")

    def _first_stage(self, method: Method) -> int:
        """Where training begins."""
        return 0

    def _refine_on(self, validation: Rows, game: Game, monitor: Monitor, seed: int) -> None:
        """``validation_epochs`` passes of the predictor alone over the validation rows; the energy stays as it is."""
        with seeded(seed):
            loop = Loop(game, validation, None, monitor, device=self._device())
            for number in range(self.validation_epochs):
                losses = loop.run_epoch(Stage(predictor=True, energy=False))
                log.info("pass %d over the validation rows %s", number + 1, losses)

    def _make_game(self, method: Method, train: Rows, positive_weight: Any) -> Game:
        if getattr(self, "warm_start", False) and hasattr(self, "predictor_"):
            self._check_built("warm_start=True")
            self._check_same_task(method, train, "warm_start=True")
            self.predictor_, self.energy_ = copy.deepcopy((self.predictor_, self.energy_))  # a failure leaves those at hand
        else:
            self.predictor_, self.energy_ = self._new_networks(method, train)
        return self._game_of_networks(method, train, positive_weight)

    def _game_of_networks(self, method: Method, train: Rows, positive_weight: Any) -> Game:
        """A game of the networks at hand."""
        n_labels = train.Y.shape[1]
        if not any(True for _ in self.predictor_.parameters()):
            raise ConfigError("The predictor at hand has nothing that a network's training could change (trees?): fit anew.")
        device = self._device()
        self.predictor_.to(device)
        if self.energy_ is not None:
            self.energy_.to(device)
        weight = None if positive_weight is None else torch.as_tensor(positive_weight, dtype=torch.float32, device=device)
        space = self._output_space(method, n_labels, weight)
        loss = LearnedLoss(method, space, self.energy_, n_labels, self._settings(len(train)), self.predictor_)
        return Game(self.predictor_, loss)

    def _check_same_task(self, method: Method, train: Rows, who: str) -> None:
        """``who`` goes on with the networks at hand, so they must fit the data and the method."""
        try:
            n_outputs = probabilities(self.predictor_, train.X[:1], self._device(), relax=None).shape[1]
        except (RuntimeError, IndexError):  # torch's own words for other shapes
            n_outputs = -1
        if n_outputs != train.Y.shape[1] or method.has_energy != (self.energy_ is not None):
            raise ConfigError(
                f"{who} goes on with networks fitted to other data or another method; they do not fit "
                f"{train.X.shape[1]} features, {train.Y.shape[1]} labels that vary and method {method.name!r}. "
                "Make a new estimator, or set warm_start=False and fit anew."
            )

    def _check_built(self, who: str) -> None:
        """ConfigError where networks of the settings of now have other weights than those at hand."""
        if self.encoder is not None:
            return  # one's own is what its owner makes of it
        with seeded(0):
            asked = self._blank_networks(self._method())
        for mine, theirs in zip((self.predictor_, self.energy_), asked, strict=True):
            now, then = ({} if each is None else {k: v.shape for k, v in each.state_dict().items()} for each in (theirs, mine))
            if now != then:
                raise ConfigError(
                    f"{who}: the networks were made with other settings than the estimator has now (set_params after fit?): "
                    "set them back, or fit anew."
                )

    def _callbacks(self) -> list[Callback]:
        return [*([PrintEpochs()] if self.verbose else ()), *(() if self.callbacks is None else self.callbacks)]

    def _should_stop(self) -> bool:
        return any(callback.should_stop() for callback in self._callbacks() if isinstance(callback, Callback))

    def _before_stage(self, stage: Stage) -> None:
        """What an energy takes from the predictor before a stage: its latest copied features, or all of its local part."""
        if self.energy_ is None:
            return
        spec = energy_spec(self._method(), self.energy_network)
        if stage.transplant:
            transplant(self.energy_, self.predictor_)
        elif stage.energy and (not stage.predictor or "features" in stage.clamped) and isinstance(spec, EnergySpec):
            refresh_features(self.energy_, cast(nn.Module, self.predictor_.encoder), spec.features)

    def _logits(self, X: Any, refine: int | None = None, double: bool = False) -> NDArray[Any]:
        """(rows, modelled labels) of validated, scaled rows, or (tokens, tags); ``refine``: steps of inference."""
        how = self._method().inference if refine is None else self._refinement(refine)
        dtype = torch.float64 if double else torch.float32
        if how is None:
            learns = any(True for _ in self.predictor_.parameters())  # trees have one precision
            predictor = copy.deepcopy(self.predictor_).double() if double and learns else self.predictor_
            return probabilities(predictor, X, self._device(), relax=None, dtype=dtype)
        predictor, energy = self.predictor_, self.energy_
        if double:  # copied together: the energy may read the predictor's features
            predictor, energy = copy.deepcopy((predictor, energy))
            predictor.double()
            if energy is not None:
                energy.double()
        space = self._space()
        tilted = refine is not None and self._method().relative
        y = predict_by_inference(predictor, energy, space, how, X, self._device(), dtype=dtype, tilted=tilted)
        return np.asarray(space.unrelax(torch.from_numpy(y)).numpy())

    def _space(self) -> RelaxedSpace:
        return self._output_space(self._method(), cast(int, self.predictor_.head.out_features))  # type: ignore[union-attr]

    def _refinement(self, steps: int) -> Unrolled:
        method = self._method()
        if self.energy_ is None:
            raise ConfigError(f"Method {method.name!r} has no energy to refine with.")
        if not any(stage.predictor for stage in method.stages):
            raise ConfigError(f"Method {method.name!r} trains no predictor whose answer could be refined.")
        check_whole(1, refine=steps)
        return method.refinement(steps)

    @property
    def density_(self) -> Density:
        """What the fitted energy's exp(-E) estimates."""
        return self._method().density

    def inference_settings(self) -> Solver:
        """The method's own inference; where the predictor answers, 50 steps as ``refine`` takes them, the best iterate kept."""
        own = self._method().inference
        if own is not None:
            return own
        steps = self._refinement(50)
        return Inference(steps.rule, ("predictor",), steps.steps, temperature=steps.temperature, as_value=steps.as_value)

    def _problem(self, X: Any, bare: bool = False) -> Problem:
        """Of validated rows. ``bare``: without the predictor's log-probability, to which some energies are relative."""
        switch()("bare", bare)
        tilted = not bare and self._method().inference is None and self._method().relative
        return problem(self.predictor_, self._energy_network(), self._space(), X, self._device(), tilted=tilted)

    def _minimised(self, X: Any, settings: Solver | None, changes: dict[str, Any]) -> Solution:
        """What ``infer`` answers of validated rows."""
        optional(is_solver)("settings", settings)
        given = cast(Any, self.inference_settings() if settings is None else settings)
        known = {field.name for field in fields(given)}
        for name in changes:
            if name not in known:
                raise unknown_name(f"setting of {type(given).__name__}", name, known)
        return self._problem(X).solve(replace(given, **changes))

    def _energy_network(self) -> nn.Module:
        if self.energy_ is None:
            raise ConfigError(f"Method {self._method().name!r} has no energy.")
        return self.energy_

    def _check_fitted(self) -> None:
        check_is_fitted(self, "predictor_")
