"""The predictor and the energy an estimator asks for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from enstruct.encoders import MLP, Predictor
from enstruct.energies import EnergySpec, build_energy
from enstruct.errors import ConfigError
from enstruct.methods import Method
from enstruct.training.batches import to_features


def build_networks(
    method: Method,
    n_labels: int,
    example: Any,
    encoder: nn.Module | Callable[[int], nn.Module] | None,
    energy: EnergySpec | nn.Module | None,
    architecture: dict[str, Any],
) -> tuple[nn.Module, nn.Module | None]:
    """(predictor, energy or None). ``example`` is a row of X, which gives the input's width and kind."""

    def fresh() -> nn.Module:
        if encoder is None:
            sparse = hasattr(example, "indptr")
            return MLP(example.shape[1], sparse=sparse, **{**architecture, **method.encoder})
        own = copy.deepcopy(encoder) if isinstance(encoder, nn.Module) else encoder(example.shape[1])
        if not isinstance(getattr(own, "out_features", None), int):
            own.out_features = _width(own, example)  # type: ignore[assignment]
        return own

    predictor = Predictor(fresh(), n_labels)
    if not method.has_energy:
        return predictor, None
    spec = energy_spec(method, energy)
    if not isinstance(spec, (EnergySpec, nn.Module)):
        raise ConfigError(f"energy must be an EnergySpec, an nn.Module or None, not {type(spec).__name__}.")
    return predictor, build_energy(spec, predictor.encoder, fresh(), n_labels)


def energy_spec(method: Method, energy: EnergySpec | nn.Module | None) -> EnergySpec | nn.Module:
    """What the user asked for, else the method's own settings."""
    return copy.deepcopy(energy) if energy is not None else EnergySpec(**method.energy)


def _width(module: nn.Module, example: Any) -> int:
    """Width of a user module's features, found by passing one row through it."""
    module.eval()
    with torch.no_grad():
        features = module(to_features(example))
    if features.ndim != 2:
        raise ConfigError(f"An encoder must give features (batch, width); this one gives {tuple(features.shape)}.")
    return int(features.shape[1])
