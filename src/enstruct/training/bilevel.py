"""One batch of the two-player game as a bilevel problem that a coupling can differentiate through.

    outer(theta) = mean_b L_E(E(x, y), E(x, ȳ(theta)))            candidates from the predictor, with their gradient
    inner(theta) = mean_b CE(F_theta(x), y) + w E(x, F_theta(x))   + anchor

Both see one forward pass of the predictor and one prepared state of the energy. Dropout is on, as in the loss that the predictor
minimises, with one mask for the whole outer step, so that what is differentiated is a fixed function; batch normalisation goes
by its running statistics and does not move them. The energy stays in training mode. Weight decay is no part of L_aux.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from enstruct.encoders.sparse_mlp import twice_differentiable
from enstruct.errors import SecondDerivativeError
from enstruct.hypergradients import Bilevel
from enstruct.hypergradients.bilevel import Parameters
from enstruct.randomness import generator, repeatable
from enstruct.training.batches import Batch
from enstruct.training.learned_loss import LearnedLoss, weighted_mean


class Outputs:
    """theta -> logits on one batch under one dropout mask, remembered for the theta last asked for."""

    def __init__(self, predictor: nn.Module, names: list[str], x: Any) -> None:
        self.predictor, self.names, self.x = predictor, names, x
        self.seed = int(torch.randint(2**31, (), generator=generator("cpu")))
        self._last: tuple[Parameters, Tensor] | None = None

    def __call__(self, theta: Parameters) -> Tensor:
        if self._last is None or self._last[0] is not theta:
            with repeatable(self.seed, theta[0].device):
                logits = functional_call(self.predictor, dict(zip(self.names, theta, strict=True)), (self.x,))
            self._last = (theta, cast(Tensor, logits))
        return self._last[1]


def batch_problem(
    predictor: nn.Module, loss: LearnedLoss, batch: Batch, energy_weight: float, anchor: dict[str, Tensor]
) -> Bilevel:
    """The problem at the networks' present weights."""
    named = {name: p for name, p in predictor.named_parameters() if p.requires_grad}
    outputs = Outputs(predictor, list(named), batch.x)
    loss.network.train()
    state = loss.prepare(batch)

    def outer(theta: Parameters) -> Tensor:
        return weighted_mean(loss.energy_loss(batch, outputs(theta), state), batch.weight)

    def inner(theta: Parameters) -> Tensor:
        auxiliary = weighted_mean(loss.auxiliary_loss(batch, outputs(theta), energy_weight, state), batch.weight)
        return auxiliary + loss.method.predictor_loss.anchor_weight * drift(dict(zip(named, theta, strict=True)), anchor)

    def supervised(logits: Tensor) -> Tensor:
        return weighted_mean(loss.auxiliary_loss(batch, logits, 0.0, None), batch.weight)

    return Bilevel(outer, inner, tuple(named.values()), loss.parameters(), loss.memory, outputs, supervised)


def drift(weights: dict[str, Tensor], anchor: dict[str, Tensor]) -> Tensor | float:
    """``||theta - theta_0||²`` over what the anchor holds; 0 without one."""
    return sum(((weights[name] - start).square().sum() for name, start in anchor.items() if name in weights), start=0.0)


@contextmanager
def differentiating(predictor: nn.Module, x: Any) -> Iterator[None]:
    """The predictor as bilevel problems take it; a missing second derivative is laid at its layer's door."""
    norms = [layer for layer in predictor.modules() if isinstance(layer, nn.modules.batchnorm._NormBase)]
    modes = [layer.training for layer in norms]
    for layer in norms:
        layer.training = False
    try:
        with twice_differentiable(predictor):
            try:
                yield
            except SecondDerivativeError as error:
                raise SecondDerivativeError(f"{error} {find_offending_layer(predictor, x)}") from error
    finally:
        for layer, mode in zip(norms, modes, strict=True):
            layer.training = mode


def find_offending_layer(predictor: nn.Module, x: Any) -> str:
    """The predictor's first layer that fails a second derivative on what it is given here; else it must be the energy."""
    seen: list[tuple[str, nn.Module, tuple[Any, ...], dict[str, Any]]] = []
    hooks = [
        layer.register_forward_pre_hook(partial(_note, seen, name), with_kwargs=True)
        for name, layer in predictor.named_modules()
        if not list(layer.children())
    ]
    try:
        predictor(x)
    finally:
        for hook in hooks:
            hook.remove()
    for name, layer, args, named in seen:
        if not _twice(layer, args, named):
            return f"The layer is the predictor's {name!r} ({type(layer).__name__})."
    return "No single layer of the predictor fails: look for an operation between its layers, or in the energy."


def _note(seen: list[Any], name: str, layer: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    seen.append((name, layer, args, named))


def _twice(layer: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    inputs = [x.detach().requires_grad_() if _continuous(x) else x for x in args]
    learning = [*(p for p in layer.parameters() if p.requires_grad), *(x for x in inputs if _continuous(x))]
    if not learning:
        return True
    try:
        out = layer(*inputs, **named)
        first = out[0] if isinstance(out, tuple) else out
        slopes = torch.autograd.grad(first.pow(3).sum(), learning, create_graph=True, allow_unused=True)
        total = sum(slope.square().sum() for slope in slopes if slope is not None)
        if isinstance(total, Tensor) and total.requires_grad:
            torch.autograd.grad(total, learning, allow_unused=True)
    except RuntimeError:
        return False
    return True


def _continuous(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point() and x.layout == torch.strided
