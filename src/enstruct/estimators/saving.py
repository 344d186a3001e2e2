"""Saving and loading, as every estimator does it: parameters, networks, and what the estimator itself has to add.

What stands in a folder is in :mod:`enstruct.estimators.persistence`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from enstruct.baselines import SOLVED
from enstruct.encoders.text import TextEncoder
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, ModelFileError
from enstruct.estimators import persistence, saved_values
from enstruct.estimators.saved_header import Common
from enstruct.estimators.texts import lying
from enstruct.methods import Method
from enstruct.randomness import redirected, seeded

CODE = ("encoder", "energy_network", "method")
"""Parameters that may be somebody's code, which no model folder holds."""


class SavedEstimator(BaseEstimator):
    """``_header``: what the header of its folder may hold (:mod:`enstruct.estimators.saved_header`)."""

    predictor_: nn.Module
    energy_: nn.Module | None
    encoder: Any
    energy_network: Any
    decision_: str
    decision_scores_: dict[str, float]
    history_: list[dict[str, Any]]
    n_iter_: int
    updates_: dict[str, int]
    notes_: dict[str, Any]
    n_features_in_: int
    built_with_: dict[str, Any]
    _header: ClassVar[type[Common]]
    _of_networks: ClassVar[tuple[str, ...]] = ()
    """Parameters that networks are made of, beside the energy's."""

    _not_saved: ClassVar[tuple[str, ...]] = ("callbacks",)
    """Parameters that training has used up."""

    def save(self, path: Path | str, notes: dict[str, Any] | None = None) -> None:
        """Write a model folder (see :mod:`enstruct.estimators.persistence`), whole or not at all.

        What is code, as a custom ``encoder``, ``energy_network`` module or ``method`` of other parts than enstruct's, is named
        there and must be passed to :meth:`load`. ``notes`` (plain JSON values) travel along and come back as ``notes_``.
        Raises SaveError, ModelFileError; ConfigError for settings that the networks were not made with.
        """
        check_is_fitted(self, "predictor_")
        method = self._method()
        self._check_built(method, "save")
        if method.has_energy != (self.energy_ is not None):
            raise ConfigError(
                "save: the networks were made by another method than the estimator has now: set it back, or fit anew."
            )
        record, tensors = self._record()
        parameters = self.get_params(deep=False)
        custom = [name for name in CODE if parameters[name] is not None and saved_values.is_code(parameters[name])]
        skipped = {*custom, *self._not_saved}
        header = {
            "estimator": type(self).__name__,
            "parameters": {k: saved_values.encode_parameter(k, v) for k, v in parameters.items() if k not in skipped},
            "custom": custom,
            **record,
            "decision": self.decision_,
            "decision_scores": self.decision_scores_,
            "history": self.history_,
            "updates": getattr(self, "updates_", {}),
            "notes": notes if notes is not None else getattr(self, "notes_", {}),
        }
        networks = {
            **{f"predictor/{k}": v for k, v in self.predictor_.state_dict().items()},
            **({} if self.energy_ is None else {f"energy/{k}": v for k, v in self.energy_.state_dict().items()}),
        }
        persistence.write_folder(path, header, {**networks, **tensors})

    def _record(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """What the estimator itself has to keep: parts of the header, and tensors."""
        raise NotImplementedError  # every estimator defines it

    def _check_built(self, method: Method, who: str) -> None:
        """ConfigError for settings that the networks at hand were not made with, and for what could not be loaded."""
        if method.solver is not None:
            if method.solver not in SOLVED:
                raise ConfigError(f"What the solver {method.solver!r} fitted cannot be saved: it is not one of enstruct's.")
            return  # it makes what it needs of the data
        asked = self._built_with(method)
        made = getattr(self, "built_with_", asked)  # a solver's fit has none
        if changed := [name for name, value in asked.items() if made.get(name) != value]:
            raise ConfigError(
                f"{who}: the networks were made with another {', '.join(changed)} than the estimator has now (set_params after "
                "fit?): set it back, or fit anew."
            )

    def _built_with(self, method: Method) -> dict[str, Any]:
        """The settings that networks are made of."""
        own = {} if self._network_encoder() is not None else {name: getattr(self, name) for name in self._of_networks}
        energy = EnergySpec(**method.energy) if self.energy_network is None else self.energy_network
        encoder = self.encoder
        names = ("tuning", "pooling", "size", "label_texts", "layers")
        read = [getattr(encoder, name) for name in names] if isinstance(encoder, TextEncoder) else None
        return {**own, "energy_network": energy, "encoder": read}

    def _network_encoder(self) -> Any:
        """What the networks' own encoder is made by, None where it is the default: a frozen encoder of texts makes their rows."""
        return None if isinstance(self.encoder, TextEncoder) and self.encoder.frozen else self.encoder

    def _method(self) -> Method:
        raise NotImplementedError

    def _device(self) -> torch.device:
        raise NotImplementedError

    @classmethod
    def load(cls, path: Path | str, **custom: Any) -> Self:
        """A saved model. ``custom`` passes what was code: encoder=, energy_network=, method=; where a TextEncoder lies now,
        encoder="folder"; or another device=.

        Raises ModelFileError, and ConfigError for a device that is not here.
        """
        return persistence.steadily(path, lambda folder: cls._loaded(folder, custom))

    @classmethod
    def _loaded(cls, folder: Path, custom: dict[str, Any]) -> Self:
        header, parameters = persistence.header_of(cls, cls._header, folder)
        if missing := [name for name in header.custom if name not in custom]:
            raise ModelFileError(f"{folder} was trained with custom {', '.join(missing)}: pass {missing[0]}=... to load.")
        custom = {**custom, **lying(parameters, custom.get("encoder"))}
        with persistence.fitting_parts(folder):
            model = cls(**{**parameters, **custom})
            method = model._check_parameters()
        model._device()
        weights = persistence.Weights(folder, header.weights)
        model.decision_, model.decision_scores_ = header.decision, header.decision_scores
        with persistence.fitting_parts(folder):
            model._restore(header, weights)
            if model.decision_ not in model.rules_:
                raise ValueError(f"the decision {model.decision_!r} is none of its rules")
        model.history_, model.updates_, model.notes_ = header.history, header.updates, header.notes
        model.n_iter_, model.built_with_ = max(1, len(model.history_)), model._built_with(method)
        return model

    def _check_parameters(self) -> Method:
        """The method's row. ConfigError for a parameter that cannot be meant, whatever the data."""
        raise NotImplementedError  # every estimator defines it

    def _restore(self, header: Any, weights: persistence.Weights) -> None:
        """The attributes of a fitted estimator from a checked header; any error for what does not fit together."""
        raise NotImplementedError  # every estimator knows what it has saved

    def _load_networks(
        self, weights: persistence.Weights, build: Callable[[], tuple[nn.Module, nn.Module | None]]
    ) -> dict[str, torch.Tensor]:
        """Networks with the saved weights; returns all tensors of the folder.

        ``build`` makes them; that is tried first where it takes no memory, so that sizes that the weights do not have end in a
        ModelFileError.
        """
        method = self._method()
        if method.solver is not None:
            return self._load_solved(method, weights)
        ours = self._network_encoder() is None and not isinstance(self.energy_network, nn.Module)
        if ours:
            for name in ("layers", "levels"):
                if getattr(self, name, 0) > len(weights.shapes):
                    raise ModelFileError(f"{weights.path} has not the weights of {getattr(self, name)} {name}.")
            with seeded(0), torch.device("meta"):
                predictor, energy = build()
            weights.check_modules(predictor=predictor, energy=energy)
        with seeded(0):
            self.predictor_, self.energy_ = build()
        tensors = weights.read(finite=ours)  # modules of others may hold what is infinite, as a mask
        self.predictor_.load_state_dict(persistence.under(tensors, "predictor/"))
        self.predictor_.to(self._device())
        if self.energy_ is not None:
            self.energy_.load_state_dict(persistence.under(tensors, "energy/"))
            self.energy_.to(self._device())
        return tensors

    def _load_solved(self, method: Method, weights: persistence.Weights) -> dict[str, torch.Tensor]:
        """What a solver has fitted, which makes its own network of the saved arrays."""
        if method.solver not in SOLVED:
            raise ModelFileError(f"What the solver {method.solver!r} fitted cannot be loaded: it is not one of enstruct's.")
        tensors = weights.read()
        n_features = weights.shapes.get("columns", (self.n_features_in_,))[0]
        with seeded(0), redirected():
            solved = SOLVED[method.solver].restored(
                persistence.under(tensors, "predictor/"), n_features, weights.shapes["varying"][0]
            )
        self.predictor_, self.energy_ = solved.to(self._device()), None
        return tensors
