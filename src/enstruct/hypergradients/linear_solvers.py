"""Solvers of  (H + damping I) v = b  that see H through products alone. ``solve`` is their one verb.

| solver | v | products |
|---|---|---|
| ``Neumann(terms, scale)`` | (1/c) sum_{i<terms} (I - H/c)^i b | terms - 1 |
| ``ConjugateGradient(iterations)`` | the Krylov minimiser of  v'Hv/2 - b'v | iterations |
| ``Diagonal(probes)`` | b / diag(H), the diagonal by Hutchinson probes  E[z * Hz], z = ±1 | probes |
| ``ShermanMorrison(rank)`` | (damping I + Y S⁻¹ Y')⁻¹ b by Sherman-Morrison-Woodbury; Y = HQ, S = Q'Y (Nyström) | rank |
| ``Identity(scale)`` | b / scale | 0 |

n terms of the series are n summands: one is ``Identity``, none drops the implicit part. H is divided by the scale c, so the sum
is too (the paper says neither). The series converges iff every eigenvalue of H lies in (0, 2c), and is cut before its
first growing term; ``scale=None`` takes 1.2 times a power-iteration estimate of the largest one, made afresh every ``REFRESH``
outer steps and raised at once by what the products show. Sources: Lorraine et al. 2020 (Neumann);
Hataya & Yamada 2023 (Nyström); the implicit-training paper's supplement, section 1.1, names the five.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from enstruct.errors import ConfigError, DivergenceError
from enstruct.hypergradients.curvature import Curvature
from enstruct.randomness import drawn_like

REFRESH, POWER_STEPS, MARGIN = 50, 8, 1.2


@dataclass(frozen=True)
class Solved:
    """``status``: "truncated", "converged", "diverging" or "indefinite".

    ``advice``: what to change if it went wrong, as a function, since finding it out takes products of its own.
    """

    v: Tensor
    status: str
    residual: float | None = None
    """||b - (H + damping I) v|| / ||b||, before the last term of a series; None where the solver does not know it."""
    scale: float | None = None
    advice: Callable[[], str] | None = None

    @property
    def figures(self) -> dict[str, float]:
        """What is known of these, for the history."""
        known = {"solver_residual": self.residual, "solver_scale": self.scale}
        return {name: value for name, value in known.items() if value is not None}


class Solver(Protocol):
    def solve(self, curvature: Curvature, b: Tensor, memory: dict[str, float]) -> Solved: ...


def at_least(name: str, value: float, least: float, solver: str) -> None:
    if not value >= least:
        raise ConfigError(f"{solver} needs {name} >= {least}, not {value}.")


def spectral_radius(curvature: Curvature, like: Tensor) -> float:
    """The largest |eigenvalue| of H + damping I by power iteration from a random vector: a lower bound."""
    v = torch.randn(like.shape, **drawn_like(like))
    size = 0.0
    for _ in range(POWER_STEPS):
        v = curvature.product(v / v.norm())
        size = float(v.norm())
        if size == 0:
            break
    return size


@dataclass(frozen=True)
class Neumann:
    """``terms`` summands; ``scale`` c, or None to estimate it."""

    terms: int = 5
    scale: float | None = None

    def __post_init__(self) -> None:
        at_least("terms", self.terms, 0, "Neumann")
        if self.scale is not None and not self.scale > 0:
            raise ConfigError(f"Neumann's scale must be positive (or None to estimate it), not {self.scale}.")

    def solve(self, curvature: Curvature, b: Tensor, memory: dict[str, float]) -> Solved:
        if self.terms == 0:
            return Solved(torch.zeros_like(b), "truncated", 1.0)
        scale = self._scale(curvature, b, memory)
        summand, total = b, b.clone()
        size = start = float(b.norm())
        for _ in range(self.terms - 1):
            product = curvature.product(summand)
            reach = float(product.norm()) / size  # at least this is the spectral radius
            memory["scale"] = max(memory.get("scale", 0.0), MARGIN * reach)
            summand = torch.sub(summand, product, alpha=1 / scale)
            before, size = size, float(summand.norm())
            if size > before:
                advice = partial(self._advice, curvature, b, size / before, scale)
                return Solved(total / scale, "diverging", size / start, scale, advice)
            total += summand
            if size <= 1e-12 * start:
                break
        return Solved(total / scale, "truncated" if size > 1e-6 * start else "converged", size / start, scale)

    def _scale(self, curvature: Curvature, b: Tensor, memory: dict[str, float]) -> float:
        if self.scale is not None:
            return self.scale
        if memory.get("steps_left", 0) <= 0:
            memory["scale"] = MARGIN * spectral_radius(curvature, b) or 1.0
            memory["steps_left"] = REFRESH
        memory["steps_left"] -= 1
        return memory["scale"]

    def _advice(self, curvature: Curvature, b: Tensor, growth: float, scale: float) -> str:
        radius = spectral_radius(curvature, b)
        if radius > 2 * scale:
            return (
                f"the spectral radius is about {radius:.3g}, beyond twice the scale {scale:.3g}; its terms before they grew are "
                f"used. Set scale above {radius / 2:.3g}, or leave it to be estimated"
            )
        below = (growth - 1) * scale
        return (
            f"its terms grow {growth:.3g}-fold at scale {scale:.3g} while the spectral radius is about {radius:.3g}, so "
            f"there are eigenvalues of {-below:.3g} or lower; its terms before they grew are used. Set damping to "
            f"{curvature.damping + below:.3g} or more, take fewer terms or more predictor steps"
        )


@dataclass(frozen=True)
class ConjugateGradient:
    """Stops at ``iterations``, at a relative residual of ``tolerance``, or where it meets a direction of negative curvature."""

    iterations: int = 10
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        at_least("iterations", self.iterations, 1, "ConjugateGradient")

    def solve(self, curvature: Curvature, b: Tensor, memory: dict[str, float]) -> Solved:
        v, r = torch.zeros_like(b), b.clone()
        p, size, start = r, float(r @ r), float(b @ b)
        for _ in range(self.iterations):
            if size <= self.tolerance**2 * start:
                return Solved(v, "converged", (size / start) ** 0.5)
            hp = curvature.product(p)
            bend = float(p @ hp)
            if bend <= 0:
                advice = partial(self._advice, bend / float(p @ p), curvature.damping)
                return Solved(v, "indefinite", (size / start) ** 0.5, advice=advice)
            v = torch.add(v, p, alpha=size / bend)
            r = torch.sub(r, hp, alpha=size / bend)
            before, size = size, float(r @ r)
            p = torch.add(r, p, alpha=size / before)
        return Solved(v, "converged" if size <= self.tolerance**2 * start else "truncated", (size / start) ** 0.5)

    @staticmethod
    def _advice(curvature: float, damping: float) -> str:
        return (
            f"a direction has curvature {curvature:.3g}, so the predictor is not at a minimum of its loss; what was found before "
            f"it is used. Set damping to {damping - curvature:.3g} or more, or take more predictor steps"
        )


@dataclass(frozen=True)
class Diagonal:
    """``probes`` random signs a solve; entries below ``floor`` times the largest are lifted to it, negative ones by magnitude."""

    probes: int = 1
    floor: float = 1e-3

    def __post_init__(self) -> None:
        at_least("probes", self.probes, 1, "Diagonal")
        if not self.floor > 0:
            raise ConfigError(f"Diagonal needs a positive floor, not {self.floor}.")

    def solve(self, curvature: Curvature, b: Tensor, memory: dict[str, float]) -> Solved:
        total = torch.zeros_like(b)
        for _ in range(self.probes):
            z = torch.randint(2, b.shape, **drawn_like(b)) * 2 - 1
            total += z * curvature.product(z)
        size = (total / self.probes).abs()
        return Solved(b / size.clamp(min=self.floor * float(size.max()) or 1.0), "truncated")


@dataclass(frozen=True)
class ShermanMorrison:
    """A Nyström sketch of ``rank`` products, inverted in closed form; exact at full rank as the damping vanishes."""

    rank: int = 5

    def __post_init__(self) -> None:
        at_least("rank", self.rank, 1, "ShermanMorrison")

    def solve(self, curvature: Curvature, b: Tensor, memory: dict[str, float]) -> Solved:
        damping = curvature.damping
        if not damping > 0:
            raise ConfigError("ShermanMorrison inverts damping I + a low-rank matrix: set Implicit(damping=) above 0.")
        sketch, _ = torch.linalg.qr(torch.randn(b.numel(), min(self.rank, b.numel()), **drawn_like(b)))
        y = torch.stack([curvature.product(column) for column in sketch.T], dim=1) - damping * sketch  # H Q
        small = sketch.T @ y
        small = (small + small.T) / 2
        if not torch.isfinite(small).all():
            raise DivergenceError("The inner Hessian is not finite; try smaller learning rates or a smaller energy_weight.")
        # (d I + Y S⁻¹ Y')⁻¹ b = (b - Y (d S + Y'Y)⁻¹ Y' b) / d; S may be singular, the sum rarely is: a pseudo-inverse
        inner = torch.linalg.pinv(damping * small + y.T @ y, hermitian=True) @ (y.T @ b)
        v = (b - y @ inner) / damping
        lowest = float(torch.linalg.eigvalsh(small)[0])
        if lowest < -damping:
            return Solved(
                v, "indefinite", advice=lambda: f"the sketch has curvature {lowest:.3g}; set damping above {-lowest:.3g}"
            )
        return Solved(v, "truncated")


@dataclass(frozen=True)
class Identity:
    """H ≈ ``scale`` I: the cheap limit, one Neumann term of that scale."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise ConfigError(f"Identity's scale must be positive, not {self.scale}.")

    def solve(self, curvature: Curvature, b: Tensor, memory: dict[str, float]) -> Solved:
        return Solved(b / self.scale, "truncated", scale=self.scale)
