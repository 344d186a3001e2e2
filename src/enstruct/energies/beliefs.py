r"""Pairwise energies of beliefs: each pair of labels answers for itself, and only has to agree with what single labels believe.

    E(y) = sum_{i<j} min_b  w_ij b(1, 1) + KL(b || y_i x y_j)          b a table over (0, 1)^2 with the marginals y_i and y_j

On binary y it is the pairwise field sum_{i<j} w_ij y_i y_j. Between, the product y_i y_j, which is a pairwise energy's (SPEN's)
relaxation, gives way to the best belief of the pair, so that with the entropy of single labels taken off, as inference at
temperature 1 does, it is Bethe's free energy, and its stationary points are those of belief propagation (Yedidia, Freeman & Weiss
2001). Structured prediction energy networks on graphs (GSPEN; Graber & Schwing 2019) let an energy see the beliefs of regions so,
inside the local polytope. Of two binary labels only one number is free, b(1, 1), and it is known (Welling & Teh 2001). Of labels
that attract each other, w <= 0, and with a = exp(-w) - 1, it is

    b(1, 1) = 2 (1 + a) y_i y_j / (1 + a (y_i + y_j) + sqrt((1 + a (y_i - y_j))^2 + 4 a y_j (1 - y_i)))

without a difference in it, and so is b(0, 0), of 1 - y; what is left are two numbers whose difference y_i - y_j and product
b(1, 1) b(0, 0) / (1 + a) are known. Labels that repel each other are labels that attract each other once one of them is turned
around. At these beliefs the slope is what belief propagation sends:

    dE/dy_i = sum_j log P(y_j = 0 | y_i = 1) - log P(y_j = 0 | y_i = 0)
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from enstruct.energies.pairwise import PairwiseEnergy
from enstruct.errors import ConfigError
from enstruct.spaces.label_vectors import Labels, LabelVectors

MOST_LABELS = 512
"""Training keeps a table of pairs for every output of a batch: 34 MB for 32 of so many labels, four times as much for twice."""
INSIDE = 1e-5
"""Beliefs keep so far from 0 and 1, where the slope is infinite."""
PACE = 50.0
"""How much faster than the rest of the energy the table learns."""
CELLS = 2**15
"""Of tables of pairs that are worked on together."""
STRONGEST = 30.0
"""Odds of e^30 are as good as a rule, and their squares still numbers."""


class BeliefEnergy(PairwiseEnergy):
    """w = 2 S with S symmetric and of zero diagonal, the full table; ConfigError for more than ``MOST_LABELS`` labels.

    It is differentiable twice, in labels and in the table.
    """

    name = "beliefs"

    def __init__(self, n_labels: int) -> None:
        if n_labels > MOST_LABELS:
            raise ConfigError(
                f"The energy term 'beliefs' holds every pair of labels of every output: it is for at most {MOST_LABELS} labels, "
                f"not {n_labels}; take 'pairwise' or 'conditional-pairwise'."
            )
        super().__init__(n_labels, rank=None, diagonal=False)

    def interactions(self) -> Tensor:
        """S (labels, labels), ``PACE`` times its parameters: it begins at 0 and has a way to go while features that were trained
        before move on in small steps."""
        return PACE * super().interactions()

    def forward(self, prepared: Tensor | None, y: Labels) -> Tensor:
        plain = super().forward(prepared, y)
        if isinstance(y, LabelVectors):
            return plain  # of binary labels it is all there is
        return plain + cast(Tensor, _Excess.apply(y, 2 * self.interactions()))

    def value_and_gradient(self, prepared: Tensor | None, y: Tensor) -> tuple[Tensor, Tensor]:
        value, slope = super().value_and_gradient(prepared, y)
        w = 2 * self.interactions()
        if not torch.is_grad_enabled():
            excess, steeper, _ = _by_rows(y, w, gains=False)
            return value + excess, slope + steeper
        return value + cast(Tensor, _Excess.apply(y, w)), slope + _Pairs.of(y, Odds(w)).slope()


class _Excess(torch.autograd.Function):
    """(batch, samples): what pairs' own beliefs are worth beside products of single ones.

    The beliefs are at their minimum, where they have no slope of their own, so that first derivatives are those with the beliefs
    held fixed; going back through their formula, as second ones must, costs several times as much.
    """

    @staticmethod
    def forward(ctx: Any, y: Tensor, w: Tensor) -> Tensor:
        value, of_y, of_w = _by_rows(y, w, gains=ctx.needs_input_grad[1])
        ctx.save_for_backward(y, w, of_y, of_w)
        return value

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        y, w, of_y, of_w = ctx.saved_tensors
        if torch.is_grad_enabled():  # somebody differentiates these
            pairs = _Pairs.of(y, Odds(w))
            of_y, of_w = pairs.slope(), pairs.gain() / 2
        by_w = torch.einsum("bs,bsij->ij", gradient, of_w) if ctx.needs_input_grad[1] else None
        return gradient.unsqueeze(-1) * of_y, by_w


def _by_rows(y: Tensor, w: Tensor, gains: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Of outputs y (batch, samples, labels) the excess, its slopes in y and, (batch, samples, labels, labels), in w.

    A few outputs at a time: tables of pairs that stay in the processor's cache are three times as fast.
    """
    rows, n_labels = y.flatten(0, 1), y.shape[-1]
    value, of_y = rows.new_empty(len(rows)), torch.empty_like(rows)
    of_w = rows.new_empty(len(rows) if gains else 0, n_labels, n_labels)
    step, odds = max(1, CELLS // w.numel()), Odds(w)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        pairs = _Pairs.of(rows[some], odds)
        value[some], of_y[some] = pairs.excess(), pairs.slope()
        if gains:
            torch.mul(pairs.gain(), 0.5, out=of_w[some])
    return value.view(y.shape[:2]), of_y.view(y.shape), of_w.view(*y.shape[:2], n_labels, n_labels) if gains else of_w


class Odds:
    """Of a table w what its beliefs need of it: which pairs repel each other, and a of each once these are turned around."""

    def __init__(self, w: Tensor) -> None:
        self.w, self.repel = w, w > 0
        self.a = torch.expm1(w.abs().clamp(max=STRONGEST))


class _Pairs:
    """The beliefs of all pairs (..., labels, labels) of beliefs q (..., labels): ``agree``, ``alone``, ``other``, ``neither`` are
    b(1, 1), b(1, 0), b(0, 1), b(0, 0) of labels that attract each other, and of those that repel each other once the second is
    turned around, b(1, 0), b(1, 1), b(0, 0), b(0, 1).

    A label with itself has w = 0, and so the belief of two that are independent: it adds nothing.
    """

    def __init__(self, q: Tensor, odds: Odds) -> None:
        self.q, self.w, self.repel = q, odds.w, odds.repel
        a, first, second = odds.a, q.unsqueeze(-1), q.unsqueeze(-2)
        apart = first - second
        rest = (1 - torch.maximum(first, second)) - torch.minimum(first, second)  # exact where one is nearly sure
        rest, apart = torch.where(self.repel, -apart, rest), torch.where(self.repel, -rest, apart)
        second = torch.where(self.repel, 1 - second, second)
        few = rest >= 0  # the smaller of b(1, 1) and b(0, 0) by the formula, the larger by what they differ by
        one, two = torch.where(few, first, 1 - first), torch.where(few, second, 1 - second)
        root = ((1 + a * (one - two)).square() + 4 * a * two * (1 - one)).sqrt()
        small = 2 * (1 + a) * one * two / (1 + a * (one + two) + root)
        large = small + rest.abs()
        product = small * large / (1 + a)
        wide = (apart.abs() + (apart.square() + 4 * product).sqrt()) / 2
        thin = product / wide
        self.agree, self.neither = torch.where(few, small, large), torch.where(few, large, small)
        self.alone, self.other = torch.where(apart >= 0, wide, thin), torch.where(apart >= 0, thin, wide)
        self.logs = self.agree.log(), self.alone.log(), self.other.log(), self.neither.log()

    @classmethod
    def of(cls, y: Tensor, odds: Odds) -> _Pairs:
        return cls(y.clamp(INSIDE, 1 - INSIDE), odds)

    @property
    def both(self) -> Tensor:
        """b(1, 1)."""
        return torch.where(self.repel, self.alone, self.agree)

    def gain(self) -> Tensor:
        """(..., labels, labels) b(1, 1) - q_i q_j."""
        return self.both - self.q.unsqueeze(-1) * self.q.unsqueeze(-2)

    def excess(self) -> Tensor:
        """(...,) sum_{i<j} w_ij (b_ij(1, 1) - q_i q_j) + KL, with KL(b || q_i x q_j) = H(q_i) + H(q_j) - H(b)."""
        q = self.q
        cells = zip((self.agree, self.alone, self.other, self.neither), self.logs, strict=True)
        tables = sum((cell * log for cell, log in cells), start=self.w * self.gain()).sum((-2, -1))
        singles = -(q * q.log() + (1 - q) * (-q).log1p()).sum(-1)
        return tables / 2 + q.shape[-1] * singles  # each pair stands there twice

    def slope(self) -> Tensor:
        """(..., labels) of the excess in q: the messages, less what products send."""
        q, (agree, alone, other, neither) = self.q, self.logs
        odds = torch.where(self.repel, agree - other, alone - neither).sum(-1)  # of b(1, 0) and b(0, 0)
        return odds + q.shape[-1] * ((-q).log1p() - q.log()) - (q.unsqueeze(-2) @ self.w).squeeze(-2)
