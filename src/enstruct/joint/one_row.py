"""The sweeps of :mod:`enstruct.joint.gibbs` for one row, as machine code by Numba where it is installed (extra ``workbench``).

A sweep over T labels, S chains and U units is T S U roots (those of the state as it is are kept) and T S (T [pairs] + 2 U)
products. By PyTorch each label costs some ten calls beside, which for one row are nearly all of it: somebody who waits for one
row's answer waits for these. The random numbers are those of ``gibbs``, and so are the answers, up to rounding. Problems of other
kinds, and blocks of rows, are left to ``gibbs``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.joint import gibbs
from enstruct.joint.clamped import BURN_IN, Clamped, ClampedResidual
from enstruct.joint.gibbs import CHAINS, MOST_SWEEPS, ROUND, TOLERANCE, Estimate, Uniforms

Array = NDArray[Any]


def _sweeps(
    field: Array, pairs: Array, matrix: Array, half: Array, real: Array, uniforms: Array, y: Array, seen: Array, total: Array
) -> None:
    """In place: ``y`` (chains, T), ``seen`` (chains, units) A + C y, ``total`` (T, chains), to which conditionals are added.

    ``uniforms`` (sweeps, T, chains); ``pairs`` (T, T); ``matrix`` (T, units). Pairs and total may be (0, 0): there are none.
    """
    n_sweeps, n_labels, n_chains = uniforms.shape
    n_units, coupled, counted = matrix.shape[1], pairs.shape[0] > 0, total.shape[0] > 0
    roots, other = np.sqrt(seen * seen + np.float32(4)), np.empty(n_units, np.float32)  # as the state is, and with t changed
    for sweep in range(n_sweeps):
        for t in range(n_labels):
            if not real[t]:
                continue
            for c in range(n_chains):
                was = y[c, t]
                z = field[t]
                if coupled:
                    for j in range(n_labels):
                        z += pairs[t, j] * y[c, j]
                change = np.float32(1) - np.float32(2) * was
                rise = np.float32(0)
                for u in range(n_units):
                    changed = seen[c, u] + change * matrix[t, u]
                    other[u] = np.sqrt(changed * changed + np.float32(4))
                    rise += half[u] * (other[u] - roots[c, u])
                z += change * rise
                p = np.float32(1) / (np.float32(1) + np.exp(-z))
                if counted:
                    total[t, c] += p
                now = np.float32(1) if uniforms[sweep, t, c] < p else np.float32(0)
                if now != was:
                    y[c, t] = now
                    for u in range(n_units):
                        seen[c, u] += change * matrix[t, u]
                        roots[c, u] = other[u]


@cache
def _compiled() -> Any:
    """``_sweeps`` as machine code; None without Numba, which is imported only where somebody waits for one row."""
    try:
        import numba
    except ImportError:
        return None
    return numba.njit(cache=True, fastmath=True, nogil=True)(_sweeps)


class _Walk:
    """``chains`` of one row, begun at independent draws with the marginals ``start`` (1, T)."""

    def __init__(self, problem: ClampedResidual, start: Tensor, chains: int, generator: torch.Generator, n_labels: int) -> None:
        self.free, self.uniforms = problem.free, Uniforms(n_labels, chains, generator)
        T, real = problem.free.shape[1], problem.real[0]
        begun = self.uniforms.start(problem.free, start)[0]
        self.real = real.numpy()
        self.y = problem.begun(begun.unsqueeze(0))[0].T.contiguous().numpy()  # (chains, T)
        self.pairs = np.zeros((0, 0), np.float32) if problem.pairs is None else problem.pairs[0].contiguous().numpy()
        field = problem.field[0]
        if problem.matrix is None or problem.offset is None or problem.weights is None:
            self.matrix, self.half = np.zeros((T, 0), np.float32), np.zeros(0, np.float32)
            self.seen = np.zeros((chains, 0), np.float32)
        else:
            half = 0.5 * problem.weights
            field = field + problem.matrix[0] @ half
            self.matrix, self.half = problem.matrix[0].contiguous().numpy(), half.contiguous().numpy()
            self.seen = problem.offset[0].numpy() + self.y @ self.matrix
        self.field = field.contiguous().numpy()

    def sweep(self, times: int, total: Array | None = None) -> None:
        """``total`` (T, chains) gathers the conditionals."""
        drawn = torch.stack([self.uniforms.sweep(self.free)[:, 0] for _ in range(times)]).numpy()
        counted = np.zeros((0, 0), np.float32) if total is None else total
        _compiled()(self.field, self.pairs, self.matrix, self.half, self.real, drawn, self.y, self.seen, counted)


@torch.no_grad()
def marginals(
    problem: Clamped, start: Tensor, generator: torch.Generator, n_labels: int, tolerance: float = TOLERANCE, chains: int = CHAINS
) -> Estimate:
    """As :func:`enstruct.joint.gibbs.marginals`."""
    row = residual_of_one_row(problem)
    if row is None:
        return gibbs.marginals(problem, start, generator, n_labels, tolerance, chains)
    walk = _Walk(row, start, chains, generator, n_labels)
    walk.sweep(BURN_IN)
    total, done, bound = np.zeros((row.free.shape[1], chains), np.float32), 0, np.inf
    while bound > tolerance and done < MOST_SWEEPS:
        walk.sweep(ROUND, total)
        done += ROUND
        bound = float((total / done).std(1, ddof=1).max()) / chains**0.5
    mean = torch.from_numpy((total / done).mean(1)).unsqueeze(0)
    return Estimate(mean, torch.tensor([bound]), torch.tensor([done]))


@torch.no_grad()
def draw(
    problem: Clamped, start: Tensor, n: int, sweeps: int, generator: torch.Generator, n_labels: int, shared: bool = True
) -> Tensor:
    """As :func:`enstruct.joint.gibbs.draw`."""
    row = residual_of_one_row(problem)
    if row is None:
        return gibbs.draw(problem, start, n, sweeps, generator, n_labels, shared)
    walk = _Walk(row, start, n, generator, n_labels)
    walk.sweep(sweeps)
    return torch.from_numpy(walk.y).unsqueeze(0)


def residual_of_one_row(problem: Clamped) -> ClampedResidual | None:
    """The problem, if it is one row of a residual energy, and Numba is there."""
    if isinstance(problem, ClampedResidual) and len(problem.free) == 1 and problem.field.dtype == torch.float32:
        return problem if _compiled() is not None else None
    return None
