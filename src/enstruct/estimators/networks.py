"""The predictor and the energy an estimator asks for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn

from enstruct.encoders import MLP, Predictor
from enstruct.energies import EnergySpec, build_energy
from enstruct.errors import ConfigError
from enstruct.estimators.sizes import bounded
from enstruct.methods import Method
from enstruct.randomness import redirect, redirected
from enstruct.training.batches import to_features

OF_ENERGY = "the energy (energy_network=: units=, rank=, window=) or the features' width"


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
            settings = {**architecture, **method.encoder}
            return bounded(lambda: MLP(example.shape[1], sparse=sparse, **settings), "hidden= or layers=")
        own = own_encoder(encoder, example.shape[1])
        width = _width(own, example)
        if not isinstance(getattr(own, "out_features", None), int):
            own.out_features = width  # type: ignore[assignment]
        return own

    with redirected():
        predictor = _predictor(fresh(), n_labels)
        if not method.has_energy:
            return predictor, None
        twin = fresh()
        spec = energy_spec(method, energy)
        return predictor, bounded(lambda: build_energy(spec, predictor.encoder, twin, n_labels), OF_ENERGY)


def place_networks(
    method: Method,
    fresh: Callable[[], nn.Module],
    n_classes: int,
    energy: EnergySpec | nn.Module | None,
    terms: tuple[str, ...],
) -> tuple[nn.Module, nn.Module | None]:
    """(predictor, energy or None) of outputs with a class at every place: tokens, pixels. ``fresh`` makes an encoder."""
    with redirected():
        predictor = _predictor(fresh(), n_classes)
        if not method.has_energy:
            return predictor, None
        spec = energy_spec(method, energy)
        own_features = isinstance(spec, EnergySpec) and spec.features == "separate"
        twin = fresh() if own_features else predictor.encoder
        return predictor, bounded(lambda: build_energy(spec, predictor.encoder, twin, n_classes, terms), OF_ENERGY)


def _predictor(encoder: nn.Module, n_outputs: int) -> Predictor:
    return bounded(lambda: Predictor(encoder, n_outputs), "the features' width")


def own_encoder(encoder: nn.Module | Callable[[Any], nn.Module], given: Any, sized: bool = False) -> nn.Module:
    """A user's encoder, copied or made from what a callable is given.

    ConfigError where it must be ``sized``, that is say how wide its features are, and does not.
    """
    if not callable(encoder):
        raise ConfigError(f"encoder must be a module, or a function that makes one, not {encoder!r}.")
    own = redirect(copy.deepcopy(encoder) if isinstance(encoder, nn.Module) else encoder(given))
    if sized and not isinstance(getattr(own, "out_features", None), int):
        raise ConfigError("An encoder of your own says how wide its features are: give it an attribute out_features.")
    return own


def check_places(encoder: nn.Module, x: Any, places: tuple[int, ...], what: str) -> None:
    """ConfigError unless the encoder gives features (places, out_features) for x, which is ``what``."""
    encoder.eval()
    try:
        with torch.no_grad():
            found = tuple(encoder(x).shape)
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise ConfigError(f"An encoder of your own is given {what}; this one fails on them ({error}).") from error
    wanted = (*places, cast(int, encoder.out_features))
    if found != wanted:
        raise ConfigError(
            f"An encoder of {what} gives features at every place, in the last dimension: {wanted} here. This one gives {found}: "
            "mend its output, or its out_features."
        )


def energy_spec(method: Method, energy: EnergySpec | nn.Module | None) -> EnergySpec | nn.Module:
    """What the user asked for, else the method's own settings."""
    if energy is None:
        return EnergySpec(**method.energy)
    own = copy.deepcopy(energy)
    return redirect(own) if isinstance(own, nn.Module) else own


def _width(module: nn.Module, example: Any) -> int:
    """Width of a user module's features, found by passing one row through it."""
    module.eval()
    try:
        with torch.no_grad():
            features = module(to_features(example))
    except RuntimeError as error:
        raise ConfigError(
            f"An encoder of your own is given rows in single precision, (batch, {example.shape[1]}); this one fails on one "
            f"({error}). In double precision it must be made single: encoder.float()."
        ) from error
    if features.ndim != 2:
        raise ConfigError(f"An encoder must give features (batch, width); this one gives {tuple(features.shape)}.")
    return int(features.shape[1])
