"""Saving and loading, as every estimator does it: parameters, networks, and what the estimator itself has to add.

What stands in a folder is in :mod:`enstruct.estimators.persistence`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from msgspec import Struct
from sklearn.base import BaseEstimator
from torch import nn

from enstruct.errors import ConfigError, ModelFileError
from enstruct.estimators import persistence, saved_values
from enstruct.randomness import seeded

CODE = ("encoder", "energy_network", "method", "inference", "negatives", "hypergradient")
"""Parameters that may be somebody's code, which no model folder holds."""
DAMAGES = (KeyError, TypeError, ValueError, RuntimeError, AttributeError, IndexError, OverflowError)
"""What files raise that are well formed and whose parts do not fit together."""


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
    _header: ClassVar[type[Struct]]

    def _check_built(self, who: str) -> None:
        """ConfigError where networks of the settings of now have other weights than those at hand."""
        raise NotImplementedError  # every estimator defines it

    def _device(self) -> torch.device:
        raise NotImplementedError

    def _save(
        self,
        path: Path | str,
        held: dict[str, Any],
        notes: dict[str, Any] | None,
        tensors: dict[str, torch.Tensor] | None = None,
        not_saved: tuple[str, ...] = ("callbacks",),
    ) -> None:
        """The folder of a fitted model: parameters, networks, history and notes, with what the estimator itself ``held``."""
        self._check_built("save")
        parameters = self.get_params(deep=False)
        custom = [name for name in CODE if parameters[name] is not None and saved_values.is_code(parameters[name])]
        skipped = {*custom, *not_saved}
        header = {
            "estimator": type(self).__name__,
            "parameters": {k: saved_values.encode_parameter(k, v) for k, v in parameters.items() if k not in skipped},
            "custom": custom,
            **held,
            "decision": self.decision_,
            "decision_scores": getattr(self, "decision_scores_", {}),
            "history": self.history_,
            "updates": getattr(self, "updates_", {}),
            "notes": notes if notes is not None else getattr(self, "notes_", {}),
        }
        networks = {
            **{f"predictor/{k}": v for k, v in self.predictor_.state_dict().items()},
            **({} if self.energy_ is None else {f"energy/{k}": v for k, v in self.energy_.state_dict().items()}),
        }
        persistence.write_folder(path, header, {**networks, **(tensors or {})})

    def _load_record(self, header: dict[str, Any]) -> None:
        """What :meth:`_save` writes for every estimator."""
        self.history_, self.updates_, self.notes_ = header["history"], header["updates"], header["notes"]
        self.n_iter_ = max(1, len(self.history_))
        self.decision_, self.decision_scores_ = header["decision"], header["decision_scores"]

    @classmethod
    def load(cls, path: Path | str, **custom: Any) -> Self:
        """A saved model. ``custom`` passes what was code: encoder=, energy_network=, method=, inference=, negatives=,
        hypergradient=; or another device=.

        Raises ModelFileError, and ConfigError for a device that is not here.
        """
        return persistence.steadily(path, lambda folder: cls._loaded(folder, custom))

    @classmethod
    def _loaded(cls, folder: Path, custom: dict[str, Any]) -> Self:
        header = persistence.read_header(folder)
        parameters = persistence.parameters_for(cls, header, cls._header, folder, custom)
        try:
            model = cls(**{**parameters, **custom})
            model._check_parameters()
        except (ConfigError, TypeError) as error:
            raise ModelFileError(f"{folder} is damaged or does not fit its own description ({error}).") from error
        model._device()
        weights = persistence.Weights(folder, header.get("weights"))
        try:
            model._restore(header, weights)
            if model.decision_ not in model.rules_:
                raise ValueError(f"the decision {model.decision_!r} is none of its rules")
        except ModelFileError:
            raise
        except DAMAGES as error:
            raise ModelFileError(f"{folder} is damaged or does not fit its own description ({error}).") from error
        return model

    def _check_parameters(self) -> None:
        """ConfigError for a parameter that cannot be meant, whatever the data."""
        raise NotImplementedError  # every estimator defines it

    def _restore(self, header: dict[str, Any], weights: persistence.Weights) -> None:
        """The attributes of a fitted estimator from a checked header; one of ``DAMAGES`` for what does not fit together."""
        raise NotImplementedError  # every estimator knows what it has saved

    def _load_networks(self, weights: persistence.Weights, build: Callable[[], tuple[nn.Module, nn.Module | None]]) -> None:
        """Networks with the saved weights. ``build`` makes them; that is tried first where it takes no memory, so that sizes that
        the weights do not have end in a ModelFileError."""
        if self.encoder is None and not isinstance(self.energy_network, nn.Module):
            for name in ("layers", "levels"):
                if getattr(self, name, 0) > len(weights.shapes):
                    raise ModelFileError(f"{weights.path} has not the weights of {getattr(self, name)} {name}.")
            with seeded(0), torch.device("meta"):
                predictor, energy = build()
            weights.check_modules(predictor=predictor, energy=energy)
        with seeded(0):
            self.predictor_, self.energy_ = build()
        tensors = weights.read()
        self.predictor_.load_state_dict(persistence.under(tensors, "predictor/"))
        self.predictor_.to(self._device())
        if self.energy_ is not None:
            self.energy_.load_state_dict(persistence.under(tensors, "energy/"))
            self.energy_.to(self._device())
