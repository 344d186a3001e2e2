"""Chains that each row keeps while its energy learns, for persistent contrastive divergence (Tieleman 2008).

They walk among the label sets that the energy holds to be likely given the row and what is told of it, a few sweeps at each step
of training, and so come to where no row's labels are: label sets that the pseudo-likelihood, which sees neighbours of the data
alone, leaves too likely.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.energies.residual import ResidualEnergy
from enstruct.joint.clamped import ClampedResidual
from enstruct.joint.gibbs import sweep
from enstruct.joint.ruled import Compiled, Ruled
from enstruct.rules import RuleSystem
from enstruct.rules.follow import follow

CHAINS, SWEEPS = 2, 3
"""Of a row; and how far they go at a step."""
TELLING = 0.5
"""Share of the rows of which something is told: each a share of its observed labels drawn between none and all."""


class PersistentChains:
    """Of rows with these base logits (rows, labels) and observed labels (rows, labels), NaN where unobserved; under the rules."""

    def __init__(self, logits: Tensor, observed: Tensor, seed: int, rules: RuleSystem | None = None) -> None:
        self._logits, self._observed, self._system = logits, observed, rules
        self._rules = None if rules is None else Compiled(rules)
        self._draws = torch.Generator().manual_seed(seed)
        self.known = torch.full_like(observed, torch.nan)
        """(rows, labels) what is told of each row, with what follows, and NaN where nothing is."""
        self.states = torch.zeros(len(observed), CHAINS, observed.shape[1], dtype=torch.uint8)

    @torch.no_grad()
    def renew(self, energy: ResidualEnergy, rows: Tensor) -> None:
        """Tell other labels of these rows, and begin their chains anew, at draws with the base's marginals."""
        n, n_labels = len(rows), self._observed.shape[1]
        share = self._uniform(n, 1) * (self._uniform(n, 1) < TELLING)
        known = torch.where(self._uniform(n, n_labels) < share, self._observed[rows], torch.nan)
        self.known[rows] = known if self._system is None else torch.from_numpy(follow(self._system, known.numpy()))
        drawn = self._uniform(n, n_labels, CHAINS) < torch.sigmoid(self._logits[rows]).unsqueeze(2)
        y = self._problem(energy, energy.prepare(self._logits[rows]), rows).legal(drawn.to(known.dtype))
        self.states[rows] = y.transpose(1, 2).to(torch.uint8)

    @torch.no_grad()
    def advance(self, energy: ResidualEnergy, state: State, rows: Tensor) -> Tensor:
        """(rows, chains, labels) after some sweeps more; ``state`` is the energy's of these rows."""
        walk = self._problem(energy, state, rows).chains(self.states[rows].transpose(1, 2).to(self._logits.dtype))
        for _ in range(SWEEPS):
            sweep(walk, self._uniform(energy.n_labels, len(rows), CHAINS))
        y = walk.y.transpose(1, 2)
        self.states[rows] = y.to(torch.uint8)
        return y

    def _problem(self, energy: ResidualEnergy, state: State, rows: Tensor) -> Any:
        problem: Any = ClampedResidual.among_all(energy, state, self.known[rows])
        if self._rules is None:
            return problem
        return Ruled(rows, problem, self._rules, self.known[rows], torch.sigmoid(self._logits[rows]), self._draws, shared=False)

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=self._draws)
