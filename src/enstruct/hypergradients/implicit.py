"""Implicit differentiation: theta is taken for the inner optimum, and the optimum's own condition is differentiated.

    ∂theta L_aux(theta*(phi), phi) = 0   =>   d theta*/d phi = -[∂²theta L_aux]⁻¹ ∂phi ∂theta L_aux
    dL_prim/dphi = ∂phi L_prim - [∂phi ∂theta L_aux]' v,      (∂²theta L_aux + damping I) v = ∂theta L_prim

(Shankar & Piratla, eq. 4; derivation in docs/bilevel.md.) The theorem assumes ∂theta L_aux = 0; ``inner_residual`` in the report
says how far from it the step was. Cost: the solver's products, one mixed product, one gradient; memory does not grow with the
number of inner steps. A solver that fails is never hidden: ``solver_failed`` marks the step in the history, and the first time in
a fit it is logged with what to change; a result that is not finite is a DivergenceError.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from enstruct.errors import ConfigError, unknown_name
from enstruct.hypergradients.bilevel import Bilevel, Coupling, Hypergradient, Player, added, check_reaction, explicit, norm, ratio
from enstruct.hypergradients.curvature import CURVATURES, Kind, flat
from enstruct.hypergradients.linear_solvers import Neumann, Solved, Solver

log = logging.getLogger("enstruct")


@dataclass(frozen=True)
class Implicit(Coupling):
    """``Implicit(solver)``. ``hvp``: "exact", "gauss-newton" or "finite-difference" products
    (:mod:`enstruct.hypergradients.curvature`).

    ``damping`` >= 0 is added to the inner Hessian. The predictor moves first, ``predictor_steps`` (T_inner) times.
    """

    solver: Solver = field(default_factory=Neumann)
    hvp: Kind = "exact"
    damping: float = 0.0
    update_first: Player = field(default="predictor", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not hasattr(self.solver, "solve"):
            raise ConfigError(f"Implicit takes a linear solver such as Neumann(), not {self.solver!r}.")
        if self.hvp not in CURVATURES:
            raise unknown_name("kind of Hessian-vector product", self.hvp, CURVATURES)
        if not self.damping >= 0:
            raise ConfigError(f"damping must not be negative, not {self.damping}.")

    def gradient(self, problem: Bilevel) -> Hypergradient:
        outer, plain, by_theta = explicit(problem, problem.theta)
        if not problem.theta:
            return Hypergradient(plain, outer)
        curvature = CURVATURES[self.hvp](problem, self.damping)
        if norm(by_theta) == 0:  # no candidate is felt, as behind an inactive hinge
            return Hypergradient(plain, outer, self._report(curvature.residual, 0.0))
        solved = self.solver.solve(curvature, flat(by_theta), problem.memory)
        reaction = curvature.mixed(solved.v)
        self._tell(solved, problem.memory)
        check_reaction(reaction, "damping, fewer terms or iterations")
        report = self._report(curvature.residual, ratio(reaction, plain), solved)
        return Hypergradient(added(plain, reaction, -1.0), outer, report)

    @staticmethod
    def _report(residual: float, implicit_ratio: float, solved: Solved | None = None) -> dict[str, float]:
        failed = solved is not None and solved.advice is not None
        known = {} if solved is None else solved.figures
        return {"implicit_ratio": implicit_ratio, "inner_residual": residual, "solver_failed": float(failed), **known}

    def _tell(self, solved: Solved, memory: dict[str, float]) -> None:
        """Log a failing solver once a fit."""
        if solved.advice is not None and not memory.get("told"):
            memory["told"] = 1.0
            log.warning("%s on the inner Hessian is %s: %s.", type(self.solver).__name__, solved.status, solved.advice())
