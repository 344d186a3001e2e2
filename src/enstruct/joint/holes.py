"""Holes in label sets, filled by draws from an energy: in training, and where a given label is asked about.

Training is by stochastic EM (Celeux and Diebolt 1985):

    E step   y_hole ~ exp(-E(x, y)) given the observed labels: a Gibbs sweep an epoch, from where the last one left off
    M step   gradient steps on the pseudo-likelihood of the observed labels, given all others as drawn

Couplings then are those of whole label sets, which is what chains that answer run through. Were holes left silent in training,
couplings would stand for detours over holes as well, and be counted twice where chains fill these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint.clamped import ClampedResidual
from enstruct.joint.gibbs import sweep
from enstruct.joint.ruled import Compiled, Ruled
from enstruct.rules import RuleSystem
from enstruct.rules.odds import rule_odds

CELLS = 2**24
"""Numbers (rows, labels, units) that a block of rows takes at most."""
BURN_IN, DRAWS = 10, 20
"""Sweeps before anything is asked, and how often the holes are filled, a sweep apart, for :func:`given_others`."""


class Whole:
    """``y`` (rows, labels): what was observed, and draws in its holes, at first from the base's marginals."""

    def __init__(self, logits: Tensor, observed: Tensor, seed: int, rules: RuleSystem | None = None) -> None:
        self._fresh = True
        self._rules = None if rules is None else Compiled(rules)
        self._logits, self._hole = logits, observed.isnan()
        self._draws = torch.Generator().manual_seed(seed)
        self._some = torch.nonzero(self._hole.any(1)).squeeze(1)
        self.y = observed
        if len(self._some):
            drawn = torch.rand(observed.shape, generator=self._draws) < torch.sigmoid(logits)
            self.y = torch.where(self._hole, drawn.to(observed.dtype), observed)

    @torch.no_grad()
    def redraw(self, energy: ResidualEnergy, sweeps: int = 1) -> bool:
        """Of rows with holes, so many sweeps over these, under the rules. Whether there are any."""
        if not len(self._some):
            return False
        for rows in blocks_of(self._some, energy):
            known = self.y[rows].masked_fill(self._hole[rows], torch.nan)
            problem: Any = ClampedResidual.among_all(energy, energy.prepare(self._logits[rows]), known)
            if self._rules is not None:
                problem = Ruled(rows, problem, self._rules, known, torch.sigmoid(self._logits[rows]), self._draws, shared=False)
            y = self.y[rows].unsqueeze(2)
            chains = problem.chains(problem.legal(y) if self._fresh else y)
            for _ in range(sweeps):
                sweep(chains, torch.rand(energy.n_labels, len(rows), 1, generator=self._draws))
            self.y[rows] = chains.y.squeeze(2)
        self._fresh = False
        return True


@torch.no_grad()
def given_others(energy: ResidualEnergy, logits: Tensor, y: Tensor, seed: int, rules: RuleSystem | None = None) -> Tensor:
    """(rows, labels) p(y_i | x, the row's other observed labels) of the labels as they are, NaN in holes, under rules that rows
    must not break.

    With holes h it is the harmonic mean of conditionals,  1 / p(y_i | y_others) = E[1 / p(y_i | y_others, h)],  h drawn given
    all that was observed, y_i too.
    """
    hole, whole = y.isnan(), Whole(logits, y, seed, rules)
    draws = DRAWS if bool(hole.any()) else 1
    inverse = torch.zeros(y.shape, dtype=torch.float64)
    for k in range(draws):
        whole.redraw(energy, 1 if k else BURN_IN)
        for rows in blocks_of(torch.arange(len(y)), energy):
            odds = energy.flips(energy.prepare(logits[rows]), whole.y[rows])
            if rules is not None:
                odds = odds + torch.from_numpy(rule_odds(rules, whole.y[rows].numpy()))
            signed = (2 * whole.y[rows] - 1) * odds
            inverse[rows] += (1 + torch.exp(-signed.double())) / draws
    return (1 / inverse).masked_fill(hole, torch.nan)


def blocks_of(rows: Tensor, energy: ResidualEnergy) -> Sequence[Tensor]:
    """Of these numbers of rows so many at a time that all log-odds of their labels take no more than CELLS numbers."""
    units = 1 if energy.matrix is None else energy.matrix.shape[1]
    return rows.split(max(1, CELLS // (energy.n_labels * units)))
