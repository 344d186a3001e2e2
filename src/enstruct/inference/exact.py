"""Solvers for small or pairwise energies over {0,1}^L: oracles, and the inference of pairwise CRFs.

    enumeration          all 2^L label sets, any energy, L <= 16
    integer-program      min u.y + sum_{i<j} w_ij z_ij,  z_ij = y_i y_j by linear constraints; HiGHS through SciPy
    linear-program       the same with y, z in [0, 1] (the local polytope): a lower bound, y may be fractional
    belief-propagation   loopy sum-product on exp(-E), damped; marginals
    mean-field           q_i <- sigma(-(u_i + sum_j w_ij q_j)), label after label; marginals

The last four read a pairwise energy (local and pairwise terms only) as u (batch, labels) and w (labels, labels), symmetric
with a zero diagonal. Cost augmentation needs a cost that is linear in binary y (Hamming, squared), except for enumeration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast, get_args

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from torch import Tensor

from enstruct.energies.base import State
from enstruct.energies.pairwise import PairwiseEnergy
from enstruct.errors import ConfigError
from enstruct.inference.minimise import Solution, Solver, answered
from enstruct.spaces.base import RelaxedSpace
from enstruct.validation import number, one_of, optional, whole

SolverName = Literal["enumeration", "integer-program", "linear-program", "belief-propagation", "mean-field"]
SOLVERS: tuple[SolverName, ...] = get_args(SolverName)
MOST_LABELS = 16
"""Above this, 2^L label sets are too many to enumerate."""
MOST_CELLS = 2**24
SETTLED = 1e-6
"""Marginals and messages that change less have settled."""
PAIRS = {"pairwise", "beliefs"}
"""Terms that are sum_{i<j} w_ij y_i y_j of binary y; an energy has one of them at most here."""
LINEAR_COSTS = ("hamming-sum", "hamming-mean", "squared")


@dataclass(frozen=True)
class Exact(Solver):
    """A solver as data. ``solver=None``: enumeration up to 16 labels, the integer program above."""

    solver: SolverName | None = None
    iterations: int = 50
    damping: float = 0.5

    def __post_init__(self) -> None:
        optional(one_of("solver", SOLVERS))("solver", self.solver)
        whole(1)("iterations", self.iterations)
        number("damping", self.damping)
        if not 0 <= self.damping < 1:
            raise ConfigError(f"damping must lie in [0, 1), not {self.damping}.")

    @torch.no_grad()
    def solve(self, energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None = None) -> Solution:
        """ConfigError for too many labels, or an energy or a cost the solver cannot read."""
        n_labels = space.centre(1, 1, torch.zeros(()), ()).shape[-1]
        solver = self.solver or ("enumeration" if n_labels <= MOST_LABELS else "integer-program")
        if solver == "enumeration":
            y, converged = enumerate_all(energy, state, space, truth, n_labels), True
        else:
            unary, pairs = pairwise_form(energy, state)
            if truth is not None:
                unary = unary - linear_cost(space, truth, state.mask)
            if state.mask is not None:
                unary = unary.masked_fill(state.mask == 0, torch.inf)
            y, converged = self._pairwise(solver, unary, pairs)
        status = f"{solver} on {len(y)} rows{'' if converged else ', not settled: more iterations or damping may help'}."
        return answered(energy, state, space, truth, y, converged, status)

    def _pairwise(self, solver: SolverName, unary: Tensor, pairs: Tensor) -> tuple[Tensor, bool]:
        if solver == "mean-field":
            return mean_field(unary, pairs, self.iterations)
        if solver == "belief-propagation":
            return belief_propagation(unary, pairs, self.iterations, self.damping)
        program = _Program(pairs.double().cpu().numpy(), integer=solver == "integer-program")
        answers = np.stack([program.solve(row) for row in unary.double().cpu().numpy()])
        return torch.from_numpy(answers).to(unary), True


def enumerate_all(energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None, n_labels: int) -> Tensor:
    """(batch, labels) of the best of all 2^L."""
    if n_labels > MOST_LABELS:
        raise ConfigError(
            f"Enumeration is for at most {MOST_LABELS} labels, not {n_labels}: use the integer program, or its relaxation "
            "Exact('linear-program')."
        )
    like = next(iter(energy.parameters()))
    corners = all_label_sets(n_labels).to(like)
    rows = max(1, MOST_CELLS // corners.numel())
    best = []
    for start in range(0, state.batch, rows):
        index = torch.arange(start, min(start + rows, state.batch), device=like.device)
        part_of_truth = None if truth is None else truth[index]
        best.append(corners[_costs_of_corners(energy, state.rows(index), space, part_of_truth, corners).argmin(1)])
    y = torch.cat(best) if best else corners[:0]
    return y if state.mask is None else y * state.mask


@cache
def all_label_sets(n_labels: int) -> Tensor:
    """(2^L, labels), counting upwards with the last label the lowest digit."""
    digits = torch.arange(n_labels - 1, -1, -1)
    return (torch.arange(2**n_labels).unsqueeze(1) >> digits & 1).float()


def _costs_of_corners(energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None, corners: Tensor) -> Tensor:
    """(batch, 2^L) E(x, y) - Δ(y, truth). What does not depend on the row is computed once, where the energy's terms allow it."""
    y = corners.unsqueeze(0)
    value: Tensor = energy(state, y if getattr(energy, "broadcasts", False) else y.expand(state.batch, -1, -1))
    if truth is None:
        return value
    if getattr(space, "cost_name", "") in LINEAR_COSTS:
        return value - linear_cost(space, truth, state.mask) @ corners.T  # up to a constant of the row
    return value - space.cost(y.expand(state.batch, -1, -1), truth, state.mask)


def pairwise_form(energy: Any, state: State) -> tuple[Tensor, Tensor]:
    """u (batch, labels) and w (labels, labels) with E = u.y + sum_{i<j} w_ij y_i y_j on binary y."""
    terms = {term.name: term for term in getattr(energy, "terms", [])}
    if not terms or set(terms) - {"local", *PAIRS} or len(set(terms) & PAIRS) > 1:
        raise ConfigError(
            f"This solver reads energies of local and pairwise terms, not {sorted(terms) or type(energy).__name__}; "
            "use EnergySpec(terms=('local', 'pairwise'))."
        )
    prepared = dict(zip((term.name for term in energy.terms), state.terms, strict=True))
    local = prepared.get("local")
    if not set(terms) & PAIRS:
        unary = cast(Tensor, local).detach()
        return unary, unary.new_zeros(unary.shape[1], unary.shape[1])
    pairwise = cast(PairwiseEnergy, next(terms[name] for name in PAIRS if name in terms))
    table = pairwise.interactions().detach()
    unary = pairwise.linear + table.diagonal()
    unary = unary.expand(state.batch, -1) if local is None else unary + local.detach()
    return unary, 2 * (table - torch.diag(table.diagonal()))


def linear_cost(space: RelaxedSpace, truth: Tensor, mask: Tensor | None) -> Tensor:
    """c (batch, labels) with Δ(y, truth) = Δ(0, truth) + c.y on binary y."""
    if getattr(space, "cost_name", "") not in LINEAR_COSTS:
        raise ConfigError("This solver needs a cost that is linear in binary y: 'hamming-sum', 'hamming-mean' or 'squared'.")
    ends = torch.stack([torch.zeros_like(truth), torch.ones_like(truth)], dim=1)
    n_labels = truth.shape[1] if mask is None else mask.sum(1, keepdim=True)
    unit = space.cost(ends, 1 - truth, mask).sum(1, keepdim=True) / n_labels
    return unit * (1 - 2 * truth)


class _Program:
    """The linear constraints of one table of pairs; only the unaries change from row to row."""

    def __init__(self, pairs: NDArray[np.float64], integer: bool) -> None:
        n = len(pairs)
        self.first, self.second = np.nonzero(np.triu(pairs, 1))
        self.weights, self.n = pairs[self.first, self.second], n
        m = len(self.weights)
        z, one, zero = np.arange(m), np.ones(m), np.zeros(m)
        rows = np.concatenate([z, z, z + m, z + m, z + 2 * m, z + 2 * m, z + 2 * m])
        columns = np.concatenate([n + z, self.first, n + z, self.second, self.first, self.second, n + z])
        values = np.concatenate([one, -one, one, -one, one, one, -one])  # z <= y_i, z <= y_j, y_i + y_j - z <= 1
        table = sparse.csr_matrix((values, (rows, columns)), shape=(3 * m, n + m))
        self.constraints = LinearConstraint(table, ub=np.concatenate([zero, zero, one])) if m else ()
        self.integrality = np.concatenate([np.full(n, float(integer)), zero])

    def solve(self, unary: NDArray[np.float64]) -> NDArray[np.float64]:
        hole = np.isinf(unary)
        upper = np.ones(self.n + len(self.weights))
        upper[: self.n][hole] = 0
        objective = np.concatenate([np.where(hole, 0, unary), self.weights])
        answer = milp(objective, integrality=self.integrality, bounds=Bounds(0, upper), constraints=self.constraints)
        if answer.x is None:
            raise ConfigError(f"HiGHS found no answer: {answer.message}")
        y = np.clip(answer.x[: self.n], 0, 1)
        return np.asarray(y.round() if self.integrality.any() else y)


def mean_field(unary: Tensor, pairs: Tensor, sweeps: int) -> tuple[Tensor, bool]:
    """(batch, labels) marginals by coordinate ascent from the unaries' own; whether they settled."""
    q = torch.sigmoid(-unary)
    for _ in range(sweeps):
        before = q.clone()
        for label in range(q.shape[1]):
            q[:, label] = torch.sigmoid(-(unary[:, label] + q @ pairs[label]))
        if float((q - before).abs().max()) < SETTLED:
            return q, True
    return q, False


def belief_propagation(unary: Tensor, pairs: Tensor, iterations: int, damping: float) -> tuple[Tensor, bool]:
    """(batch, labels) marginals by damped loopy sum-product; exact where the pairs form a forest.

    Messages are log-odds m[b, i, j] of label i towards label j:
    m = log(1 + e^{h - w_ij}) - log(1 + e^h), with h the log-odds of i from everything but j.
    """
    messages = torch.zeros(len(unary), *pairs.shape, dtype=unary.dtype, device=unary.device)
    linked = (pairs != 0).to(unary.dtype)
    for _ in range(iterations):
        cavity = (-unary + messages.sum(1)).unsqueeze(2) - messages.transpose(1, 2)  # (batch, from, to)
        fresh = (F.softplus(cavity - pairs) - F.softplus(cavity)) * linked
        change = float((fresh - messages).abs().max())
        messages = damping * messages + (1 - damping) * fresh
        if change < SETTLED:
            return torch.sigmoid(-unary + messages.sum(1)), True
    return torch.sigmoid(-unary + messages.sum(1)), False
