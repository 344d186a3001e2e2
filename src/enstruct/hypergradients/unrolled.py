"""Unrolled differentiation: the predictor looks ``steps`` gradient steps ahead, and L_prim is taken there.

    theta_0 = theta,   theta_{t+1} = theta_t - rate ∂theta L_aux(theta_t, phi)
    dL_prim/dphi = ∂phi L_prim(theta_k, phi) + (d theta_k / d phi)' ∂theta L_prim(theta_k, phi)

The steps ahead are virtual: the predictor's own updates are its optimiser's. Memory grows with ``steps``. Where theta is the
inner optimum and L_aux quadratic, k steps of rate 1/c equal k terms of the Neumann series with scale c (Lorraine et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from enstruct.errors import ConfigError
from enstruct.hypergradients.bilevel import (
    Bilevel,
    Coupling,
    Hypergradient,
    Parameters,
    Player,
    added,
    check_reaction,
    explicit,
    norm,
    ratio,
)
from enstruct.hypergradients.curvature import product, slopes_at


@dataclass(frozen=True)
class Unrolled(Coupling):
    """``Unrolled(k)``. ``rate``: step size of the virtual gradient descent. The predictor moves first, as in Algorithm 1."""

    steps: int = 1
    rate: float = 0.1
    update_first: Player = field(default="predictor", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps < 1:
            raise ConfigError(f"Unrolled needs at least one inner step, not {self.steps}; Alternating() takes none.")
        if not self.rate > 0:
            raise ConfigError(f"The rate of unrolled steps must be positive, not {self.rate}.")

    def gradient(self, problem: Bilevel) -> Hypergradient:
        ahead, residual = self._look_ahead(problem)
        there = tuple(p.detach().requires_grad_() for p in ahead)
        outer, plain, by_theta = explicit(problem, there)
        if not ahead:
            return Hypergradient(plain, outer)
        reaction = product(ahead, problem.phi, by_theta)  # (d theta_k / d phi)' ∂theta L_prim
        check_reaction(reaction, "a smaller rate, fewer steps")
        report = {"implicit_ratio": ratio(reaction, plain), "inner_residual": residual}
        return Hypergradient(added(plain, reaction), outer, report)

    def _look_ahead(self, problem: Bilevel) -> tuple[Parameters, float]:
        """theta_k with its graph, and ||∂theta L_aux|| where it started."""
        theta, residual = problem.theta, 0.0
        for step in range(self.steps if theta else 0):
            slopes = slopes_at(problem, theta)
            residual = residual if step else norm(slopes)
            theta = tuple(p - self.rate * slope for p, slope in zip(theta, slopes, strict=True))
        return theta, residual
