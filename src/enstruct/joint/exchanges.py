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
from enstruct.rules.odds import SETTLED, rule_odds


@torch.no_grad()
def exchange_odds(energy: ResidualEnergy, logits: Tensor, y: Tensor, seed: int, rules: RuleSystem | None = None) -> Tensor:
    """m (rows, labels) of the labels as they are, NaN in holes, under rules that rows must not break.

    Holes are filled by draws given all that was observed, as for :func:`enstruct.joint.holes.given_others`; of observed labels
    alone any are exchanged. Under rules that bind, m of a row with holes leaves out what these may be after an exchange alone.
    """
    hole, whole = y.isnan(), Whole(logits, y, seed, rules)
    total = torch.zeros(y.shape, dtype=torch.float64)
    complete, open_ = (torch.nonzero(rows).squeeze(1) for rows in (~hole.any(1), hole.any(1)))
    total[complete] = _of_whole_sets(energy, logits[complete], y[complete], ~hole[complete], rules)
    for k in range(DRAWS if len(open_) else 0):
        whole.redraw(energy, 1 if k else BURN_IN)
        total[open_] += _of_whole_sets(energy, logits[open_], whole.y[open_], ~hole[open_], rules) / DRAWS
    return total.masked_fill(hole, torch.nan)


def _of_whole_sets(energy: ResidualEnergy, logits: Tensor, y: Tensor, observed: Tensor, rules: RuleSystem | None) -> Tensor:
    total = torch.zeros(y.shape, dtype=torch.float64)
    row, label = torch.nonzero((y > 0) & observed, as_tuple=True)  # each pair once
    for some in blocks_of(torch.arange(len(row)), energy):
        i, there = row[some], label[some]
        own = torch.arange(len(some)), there
        without = y[i]  # (noted, labels), as all that follows
        without[own] = 0.0
        odds = energy.flips(energy.prepare(logits[i]), without).double()  # of the noted label too: the second factor with j = i
        difference, out = odds - odds[own].unsqueeze(1), (y[i] > 0) | ~observed[i]
        if rules is not None:  # of a set that breaks what binds they say what mends it: of two that do not it cancels
            of_rules = torch.from_numpy(rule_odds(rules, without.numpy())).double()
            cost = of_rules[own].unsqueeze(1) - of_rules
            difference, out = difference - cost, out | (cost > SETTLED / 2)
        ratio = torch.exp(difference).masked_fill(out, 0.0)
        total.index_put_((i, there), ratio.sum(1))
        total.index_add_(0, i, ratio)  # 0 where a label was noted
    return total
