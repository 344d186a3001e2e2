"""Two labels of a set exchanged: how likely it is that one that was noted stands for another that was not.

    m_i = sum over j of p(y^ij | x) / p(y | x)        y^ij: y with i and j exchanged, one of which is there and one is not

Given all others a label cannot tell of this: where rows have one label mostly, a wrong one speaks for itself, as without it there
would be none, and against the right one, as with it there would be two. The ratios go by the set without both,

    p(y^ij) / p(y)  =  p(y without i) / p(y)  *  p(y^ij) / p(y without i)          i noted, j not

of which a row has as many as labels that are there, and each gives the second factor of all j at once.
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint.holes import BURN_IN, DRAWS, Whole, blocks_of
from enstruct.rules import RuleSystem
from enstruct.rules.odds import rule_odds


@torch.no_grad()
def exchange_odds(energy: ResidualEnergy, logits: Tensor, y: Tensor, seed: int, rules: RuleSystem | None = None) -> Tensor:
    """m (rows, labels) of the labels as they are, NaN in holes, under rules that rows must not break.

    Holes are filled by draws given all that was observed, as for :func:`enstruct.joint.holes.given_others`; of observed labels
    alone any are exchanged.
    """
    hole, whole = y.isnan(), Whole(logits, y, seed, rules)
    draws = DRAWS if bool(hole.any()) else 1
    total = torch.zeros(y.shape, dtype=torch.float64)
    for k in range(draws):
        whole.redraw(energy, 1 if k else BURN_IN)
        total += _of_whole_sets(energy, logits, whole.y, ~hole, rules) / draws
    return total.masked_fill(hole, torch.nan)


def _of_whole_sets(energy: ResidualEnergy, logits: Tensor, y: Tensor, observed: Tensor, rules: RuleSystem | None) -> Tensor:
    total = torch.zeros(y.shape, dtype=torch.float64)
    row, label = torch.nonzero((y > 0) & observed, as_tuple=True)
    for some in blocks_of(torch.arange(len(row)), energy):
        i, there = row[some], label[some]
        place = torch.arange(len(some))
        out = place, there
        without = y[i]
        without[out] = 0.0
        odds = _log_odds(energy, logits[i], without, rules)  # of the noted label too: the second factor with j = i
        ratio = torch.exp(odds - odds[out].unsqueeze(1)).masked_fill((y[i] > 0) | ~observed[i], 0.0)
        total.index_put_((i, there), ratio.sum(1))
        total.index_add_(0, i, ratio)
    return total


def _log_odds(energy: ResidualEnergy, logits: Tensor, y: Tensor, rules: RuleSystem | None) -> Tensor:
    """(rows, labels) of each label, given all others of y. Of a set that breaks what binds they say what mends it, so that in
    ratios of two sets that do not it cancels."""
    odds = energy.flips(energy.prepare(logits), y).double()
    return odds if rules is None else odds + torch.from_numpy(rule_odds(rules, y.numpy())).double()
