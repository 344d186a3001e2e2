"""A toy where the explicit gradient vanishes and the implicit one does not: a nearly singular inner Hessian.

    inner    L_aux(theta, phi)  = (theta_1 - 1)² / 2 + curvature theta_2² / 2 - phi theta_2
    outer    L_prim(theta, phi) = (theta_2 - 1)² / 2            theta_2*(phi) = phi / curvature

phi does not appear in L_prim, so ∂phi L_prim = 0: an alternating energy has "fully optimised" its loss and stops, however hard
its landscape is for the predictor. The hypergradient is (theta_2* - 1) / curvature, which grows as the Hessian comes closer to
singular (the implicit-training paper's Appendix D). Shown for falling curvature, at phi = curvature / 2: the exact value, and
what each coupling finds. A truncated series sees at most terms / c of 1 / curvature, which is what its damping amounts to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from enstruct.hypergradients import Alternating, Bilevel, ConjugateGradient, Coupling, Implicit, Neumann, Unrolled
from enstruct.hypergradients.bilevel import Parameters
from enstruct.plots.labels import panels, save

CURVATURES = tuple(10.0**-k for k in range(6))
COUPLINGS: dict[str, Coupling] = {
    "alternating": Alternating(),
    "unrolled 5": Unrolled(5, rate=0.8),
    "neumann 5": Implicit(Neumann(5)),
    "neumann 100": Implicit(Neumann(100)),
    "conjugate gradient": Implicit(ConjugateGradient(2)),
}


def problem(curvature: float) -> Bilevel:
    """At the inner optimum for phi = curvature / 2, where theta_2* = 1/2."""
    phi = torch.tensor([curvature / 2], dtype=torch.float64, requires_grad=True)
    theta = torch.tensor([1.0, 0.5], dtype=torch.float64, requires_grad=True)

    def inner(at: Parameters) -> torch.Tensor:
        (t,) = at
        return ((t[0] - 1).square() + curvature * t[1].square()) / 2 - (phi * t[1]).sum()

    def outer(at: Parameters) -> torch.Tensor:
        return (at[0][1] - 1).square() / 2

    return Bilevel(outer, inner, (theta,), (phi,))


def measure() -> dict[str, Any]:
    """The hypergradient by curvature; the gradient's size, since the sign is negative throughout."""
    curve: list[dict[str, float]] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for curvature in CURVATURES:
            gradients = {name: coupling.gradient(problem(curvature)).gradient[0] for name, coupling in COUPLINGS.items()}
            sizes = {name: 0.0 if g is None else float(g.abs().sum()) for name, g in gradients.items()}
            curve.append({"curvature": curvature, "exact": 0.5 / curvature, **sizes})
    return {"curve": curve}


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, (axes,) = panels(1)
    curve = figures["curve"]
    for name in ("exact", *COUPLINGS):
        style = {"color": "black", "ls": "--"} if name == "exact" else {"marker": "o"}
        axes.plot([point["curvature"] for point in curve], [point[name] for point in curve], label=name, **style)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1e-1)
    axes.invert_xaxis()
    axes.set(title="nearly singular inner Hessian", xlabel="smallest curvature", ylabel="|dL_prim / dphi|")
    save(figure, path)
