"""The inner problem's second derivatives, by products only: no matrix is ever built.

    product(v) = (∂²theta L_aux + damping I) v          mixed(v) = [∂phi ∂theta L_aux]' v

| kind | product | what the predictor's layers need |
|---|---|---|
| ``ExactCurvature`` | backward through the graph of the first gradient, which is built once and kept | second derivatives |
| ``GaussNewton`` | J' S J v,   J = ∂z/∂theta of the logits z,  S = ∂²L_sup/∂z², supervised loss alone | second derivatives |
| ``FiniteDifferences`` | (∂L(theta + e v) - ∂L(theta - e v)) / 2e,   e = cbrt(machine eps) max(1, ||theta||) / ||v|| | first |

Vectors over theta are flat, (parameters,). The paper takes finite differences; they agree to order e². Gauss-Newton's product
(Schraudolph 2002) leaves out how the network bends, how the energy does, and the anchor, and so is never negative, as the Hessian
of the inner loss is at its optimum and off it need not be; ``mixed`` stays exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

import torch
from torch import Tensor

from enstruct.errors import ConfigError, SecondDerivativeError
from enstruct.hypergradients.bilevel import Bilevel, Gradients, Parameters, filled
from enstruct.randomness import replayed, states

Kind = Literal["exact", "gauss-newton", "finite-difference"]


class Curvature(Protocol):
    """``residual`` is ||∂theta L_aux||, zero at the inner optimum."""

    damping: float
    residual: float

    def product(self, v: Tensor) -> Tensor: ...

    def mixed(self, v: Tensor) -> Gradients: ...


@contextmanager
def second_derivative_errors() -> Iterator[None]:
    """torch's complaints about a missing second derivative, as a SecondDerivativeError."""
    try:
        yield
    except RuntimeError as error:
        text = str(error)
        if "is not implemented" not in text and "once_differentiable" not in text and "double backward" not in text:
            raise
        raise SecondDerivativeError(
            f"The inner loss cannot be differentiated twice ({text.splitlines()[0]}). Use Implicit(hvp='finite-difference'), "
            "which needs first derivatives only, or a layer that has second ones."
        ) from error


def slopes_at(problem: Bilevel, theta: Parameters) -> Parameters:
    """∂theta L_aux, with a graph for second derivatives. SecondDerivativeError."""
    with second_derivative_errors():
        gradients = torch.autograd.grad(problem.inner(theta), theta, create_graph=True, allow_unused=True)
    return filled(gradients, theta)


def product(of: Parameters, by: Parameters, weights: Parameters, retain_graph: bool = False) -> Gradients:
    """sum_i weights_i' d of_i / d by, None where there is no path. SecondDerivativeError."""
    pairs = [(part, weight) for part, weight in zip(of, weights, strict=True) if part.requires_grad]
    if not pairs:  # as the gradient of a linear loss
        return (None,) * len(by)
    parts, weights = zip(*pairs, strict=True)
    with second_derivative_errors():
        return torch.autograd.grad(parts, by, weights, retain_graph=retain_graph, allow_unused=True)


def flat(parts: Parameters) -> Tensor:
    return torch.cat([part.reshape(-1) for part in parts])


def unflat(v: Tensor, like: Parameters) -> Parameters:
    pieces = v.split([p.numel() for p in like])
    return tuple(piece.view_as(p) for piece, p in zip(pieces, like, strict=True))


class ExactCurvature:
    def __init__(self, problem: Bilevel, damping: float = 0.0) -> None:
        self.problem, self.damping = problem, damping
        self.slopes = slopes_at(problem, problem.theta)
        self.residual = float(flat(self.slopes).detach().norm())

    def product(self, v: Tensor) -> Tensor:
        result = flat(filled(self._dotted(v, self.problem.theta), self.problem.theta))
        return result.add_(v, alpha=self.damping) if self.damping else result

    def mixed(self, v: Tensor) -> Gradients:
        return self._dotted(v, self.problem.phi)

    def _dotted(self, v: Tensor, by: Parameters) -> Gradients:
        """The slopes' derivative by ``by``, weighed with v; None where there is no path."""
        return product(self.slopes, by, unflat(v, self.problem.theta), retain_graph=True)


class GaussNewton(ExactCurvature):
    """ConfigError for a problem that does not say its logits and supervised loss."""

    def __init__(self, problem: Bilevel, damping: float = 0.0) -> None:
        super().__init__(problem, damping)
        if problem.logits is None or problem.supervised is None:
            raise ConfigError("hvp='gauss-newton' needs a problem whose logits and supervised loss are told: take hvp='exact'.")
        self.logits = problem.logits(problem.theta)
        self.at = self.logits.detach().requires_grad_()
        loss = problem.supervised(self.at)
        (residuals,) = (
            torch.autograd.grad(loss, self.at, create_graph=True) if loss.requires_grad else (torch.zeros_like(self.at),)
        )
        self.residuals = residuals  # without a supervised loss there is no curvature but the damping
        self.weights = torch.zeros_like(self.logits).requires_grad_()
        with second_derivative_errors():
            back = torch.autograd.grad(self.logits, problem.theta, self.weights, create_graph=True, allow_unused=True)
        self.back = filled(back, problem.theta)  # J'w, linear in w, so that its own derivative along v is J v

    def product(self, v: Tensor) -> Tensor:
        theta = self.problem.theta
        (moved,) = product(self.back, (self.weights,), unflat(v, theta), retain_graph=True)
        (bent,) = (None,) if moved is None else product((self.residuals,), (self.at,), (moved,), retain_graph=True)
        if bent is None:
            return self.damping * v
        result = flat(filled(torch.autograd.grad(self.logits, theta, bent, retain_graph=True, allow_unused=True), theta))
        return result.add(v, alpha=self.damping)


class FiniteDifferences:
    def __init__(self, problem: Bilevel, damping: float = 0.0) -> None:
        self.problem, self.damping = problem, damping
        self.at = flat(problem.theta).detach()
        self.random_state = states(problem.theta[0].device)
        self.residual = float(flat(self._gradient(self.at, problem.theta)).norm())
        self.step = torch.finfo(self.at.dtype).eps ** (1 / 3) * max(1.0, float(self.at.norm()))

    def product(self, v: Tensor) -> Tensor:
        return self._difference(v, lambda at: flat(self._gradient(at, self.problem.theta))) + self.damping * v

    def mixed(self, v: Tensor) -> Gradients:
        phi = self.problem.phi
        return unflat(self._difference(v, lambda at: flat(self._gradient(at, phi))), phi)

    def _difference(self, v: Tensor, gradient: Callable[[Tensor], Tensor]) -> Tensor:
        length = v.norm()
        if length == 0:
            return torch.zeros_like(gradient(self.at))
        reach = self.step / length
        return (gradient(self.at + reach * v) - gradient(self.at - reach * v)) / (2 * reach)

    def _gradient(self, at: Tensor, by: Parameters) -> Parameters:
        """The inner gradient at theta = ``at``, by theta itself or by phi; the same random draws each time, if it makes any."""
        theta = tuple(p.requires_grad_() for p in unflat(at.clone(), self.problem.theta))
        with replayed(self.random_state, at.device):
            inner = self.problem.inner(theta)
        by = theta if by is self.problem.theta else by
        return filled(torch.autograd.grad(inner, by, retain_graph=True, allow_unused=True), by)


CURVATURES: dict[str, Callable[[Bilevel, float], Curvature]] = {
    "exact": ExactCurvature,
    "gauss-newton": GaussNewton,
    "finite-difference": FiniteDifferences,
}
