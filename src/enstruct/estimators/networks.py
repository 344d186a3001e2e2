"""The predictor and the energy an estimator asks for; refusals of what would fill the memory, before any of it is allocated.

A slip of the pen in a width, a depth or a size would end the process without a word. The limit is beyond what serves anybody on
one machine, and no judgement of how much memory there is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from enstruct.encoders import MLP, Predictor
from enstruct.encoders.label_texts import LabelTextPredictor
from enstruct.encoders.text import TextEncoder
from enstruct.energies import EnergySpec, build_energy
from enstruct.errors import ConfigError
from enstruct.methods import Method
from enstruct.randomness import redirect, redirected
from enstruct.tasks import LABELS, Task
from enstruct.training.batches import to_features

Pair = tuple[nn.Module, nn.Module | None]
"""(predictor, energy or None)."""


def build_networks(
    method: Method,
    n_labels: int,
    example: Any,
    encoder: nn.Module | Callable[[int], nn.Module] | TextEncoder | None,
    energy: EnergySpec | nn.Module | None,
    architecture: dict[str, Any],
    label_vectors: NDArray[np.float32] | None = None,
) -> Pair:
    """Those of label sets. ``example`` is a row of X, which gives the input's width and kind; ``label_vectors`` (labels, width)
    are of their texts, where the predictor reads them."""

    def fresh() -> nn.Module:
        if encoder is None:
            return MLP(example.shape[1], sparse=hasattr(example, "indptr"), **{**architecture, **method.encoder})
        if isinstance(encoder, TextEncoder):
            return encoder.network()
        own = own_encoder(encoder, example.shape[1])
        width = _width(own, example)
        if not isinstance(getattr(own, "out_features", None), int):
            own.out_features = width  # type: ignore[assignment]
        return own

    def predictor(own: nn.Module) -> Predictor:
        if label_vectors is None:
            return Predictor(own, n_labels)
        return LabelTextPredictor(own, torch.tensor(label_vectors), of_rows=encoder is None)

    return make_networks(method, LABELS, fresh, n_labels, energy, "hidden= or layers=" if encoder is None else None, predictor)


def make_networks(
    method: Method,
    task: Task,
    fresh: Callable[[], nn.Module],
    n_outputs: int,
    energy: Any,
    sizes: str | None,
    predictor_on: Callable[[nn.Module], Predictor] | None = None,
) -> Pair:
    """Newly initialised ones. ``fresh`` makes an encoder, and ``sizes`` names the parameters its size depends on; None: it is the
    caller's own. ``predictor_on`` an encoder makes another predictor than the linear one."""
    spec = energy_spec(method, energy) if method.has_energy else None
    separate = not task.places or (isinstance(spec, EnergySpec) and spec.features == "separate")

    def build(encoder: nn.Module, twin: Callable[[], nn.Module]) -> Pair:
        predictor = Predictor(encoder, n_outputs) if predictor_on is None else predictor_on(encoder)
        if spec is None:
            return predictor, None
        return predictor, build_energy(spec, encoder, twin() if separate else encoder, n_outputs, task.terms)

    if sizes is not None:
        check_networks(lambda: build(fresh(), fresh), sizes)
        with redirected():
            return build(fresh(), fresh)
    with redirected():
        own = fresh()
    stand_in = nn.Identity()  # nobody's own code is run without memory
    stand_in.out_features = own.out_features
    check_networks(lambda: build(stand_in, lambda: stand_in), "the features' width")
    with redirected():
        return build(own, fresh)


def own_encoder(encoder: nn.Module | Callable[[Any], nn.Module], argument: Any, sized: bool = False) -> nn.Module:
    """A user's encoder: a copy of the module, or what the function makes of its ``argument``.

    ConfigError where it must be ``sized``, that is say how wide its features are, and does not.
    """
    own = redirect(copy.deepcopy(encoder) if isinstance(encoder, nn.Module) else encoder(argument))
    if sized and not isinstance(getattr(own, "out_features", None), int):
        raise ConfigError("An encoder of your own says how wide its features are: give it an attribute out_features.")
    return own


def check_places(encoder: nn.Module, x: Any, places: tuple[int, ...], what: str) -> None:
    """ConfigError unless the encoder gives features (places, out_features) for x, which is ``what``."""
    encoder.eval()
    try:
        with torch.no_grad():
            shape = tuple(encoder(x).shape)
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise ConfigError(f"An encoder of your own is given {what}; this one fails on them ({error}).") from error
    wanted = (*places, cast(int, encoder.out_features))
    if shape != wanted:
        raise ConfigError(
            f"An encoder of {what} gives features at every place, in the last dimension: {wanted} here. This one gives {shape}: "
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


MOST_BYTES = 2**31
"""Of a network's weights, which training takes four times and more, and of one array that a batch passes through."""
BYTES = 4
"""Of a number in single precision."""
OF_ENERGY = "the energy (energy_network=: units=, rank=, window=) or the features' width"


def check_bytes(what: str, numbers: int, smaller: str) -> None:
    """ConfigError for more of them, in single precision, than ``MOST_BYTES``. ``smaller``: the parameters to blame."""
    if numbers * BYTES > MOST_BYTES:
        raise ConfigError(
            f"{what} would take more than the {MOST_BYTES // 2**30} GiB of memory that are allowed: make {smaller} smaller."
        )


def check_networks(build: Callable[[], tuple[nn.Module, nn.Module | None]], smaller: str) -> None:
    """ConfigError where the weights of the predictor or of the energy that ``build`` makes come to more than ``MOST_BYTES``.

    They are made without memory and without random numbers, and those that are there already do not count.
    """
    try:
        with torch.device("meta"):
            networks = build()
    except (RuntimeError, TypeError, OverflowError):  # sizes beyond torch's own whole numbers
        return check_bytes("The weights of the network", MOST_BYTES, f"{smaller}, {OF_ENERGY}")
    for network, parameters in zip(networks, (smaller, OF_ENERGY), strict=True):
        weights = () if network is None else network.parameters()
        check_bytes("The weights of the network", sum(weight.numel() for weight in weights if weight.is_meta), parameters)
