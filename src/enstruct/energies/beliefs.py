r"""Pairwise energies of beliefs: each pair of labels answers for itself, and only has to agree with what single labels believe.

    E(y) = sum_{i<j} min_b  w_ij b(1, 1) + KL(b || y_i x y_j)          b a table over (0, 1)^2 with the marginals y_i and y_j

On binary y it is the pairwise field sum_{i<j} w_ij y_i y_j. Between, the product y_i y_j, which is a pairwise energy's (SPEN's)
relaxation, gives way to the best belief of the pair, so that with the entropy of single labels taken off, as inference at
temperature 1 does, it is Bethe's free energy, and its stationary points are those of belief propagation (Yedidia, Freeman & Weiss
2001). Structured prediction energy networks on graphs (GSPEN; Graber & Schwing 2019) let an energy see the beliefs of regions so,
inside the local polytope. Of two binary labels only one number is free, r = b(1, 1), and it is known (Welling & Teh 2001):

    r = 2 (1 + a) y_i y_j / (s + sqrt(s^2 - 4 a (1 + a) y_i y_j)),      a = exp(-w_ij) - 1,  s = 1 + a (y_i + y_j)

and at it the slope is what belief propagation sends:  dE/dy_i = sum_j log P(y_j = 0 | y_i = 1) - log P(y_j = 0 | y_i = 0).
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.energies.pairwise import PairwiseEnergy
from enstruct.errors import ConfigError
from enstruct.spaces.label_vectors import Labels, LabelVectors

MOST_LABELS = 512
"""A table of pairs for every output of a batch: above this, hundreds of megabytes each."""
INSIDE = 1e-5
"""Beliefs keep so far from 0 and 1, where the slope is infinite."""
PACE = 50.0
CELLS = 2**15
"""Of tables of pairs that are worked on together."""
STRONGEST = 30.0
"""Odds of e^30 are as good as a rule, and their squares still numbers."""


class BeliefEnergy(PairwiseEnergy):
    """w = 2 S with S symmetric and of zero diagonal, the full table; ConfigError for more than ``MOST_LABELS`` labels.

    It is differentiable once; the slope of :meth:`value_and_gradient`, a formula, once more.
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
        """S (labels, labels), ``PACE`` times what is learnt: a table that begins at 0 has a way to go while features that were
        trained before move on in small steps."""
        return PACE * super().interactions()

    def forward(self, prepared: Tensor | None, y: Labels) -> Tensor:
        plain = super().forward(prepared, y)
        if isinstance(y, LabelVectors):
            return plain  # of binary labels it is all there is
        return plain + self._excess(y)

    def value_and_gradient(self, prepared: Tensor | None, y: Tensor) -> tuple[Tensor, Tensor]:
        value, slope = super().value_and_gradient(prepared, y)
        if not torch.is_grad_enabled():
            excess, steeper, _ = _by_rows(y, 2 * self.interactions(), gains=False)
            return value + excess, slope + steeper
        return value + self._excess(y), slope + _Pairs.of(y, Odds(2 * self.interactions())).slope()

    def _excess(self, y: Tensor) -> Tensor:
        """(batch, samples): what pairs' own beliefs are worth beside products of single ones, with its first derivatives.

        The beliefs are at their minimum, where they have no slope of their own; going back through their formula would cost
        several times as much.
        """
        w = 2 * self.interactions()
        with torch.no_grad():
            value, of_y, of_w = _by_rows(y, w)
        moved = torch.einsum("...ij,ij->...", of_w, w - w.detach()) + ((y - y.detach()) * of_y).sum(-1)
        return value + moved


class Odds:
    """Of a table w what its beliefs need of it: a = exp(-w) - 1, and products of it."""

    def __init__(self, w: Tensor) -> None:
        self.w = w
        self.a = torch.expm1(-w.clamp(-STRONGEST, STRONGEST))
        self.twice, self.fourfold = 2 * (1 + self.a), 4 * self.a * (1 + self.a)


def joint_belief(first: Tensor, second: Tensor, odds: Odds) -> Tensor:
    """r = b(1, 1) of two labels with these beliefs."""
    product, s = first * second, 1 + odds.a * (first + second)
    root = (s.square() - odds.fourfold * product).clamp(min=0).sqrt()
    return odds.twice * product / (s + root)


def _by_rows(y: Tensor, w: Tensor, gains: bool = True) -> tuple[Tensor, Tensor, Tensor]:
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


class _Pairs:
    """The beliefs of all pairs (..., labels, labels) of beliefs q (..., labels).

    A label with itself has w = 0, and so the belief of two that are independent: it adds nothing.
    """

    def __init__(self, q: Tensor, odds: Odds) -> None:
        self.q, self.w = q, odds.w
        tiny = torch.finfo(q.dtype).eps ** 2  # rounding may leave an empty cell a little below 0
        first, second = q.unsqueeze(-1), q.unsqueeze(-2)
        self.both = joint_belief(first, second, odds)
        self.one = (first - self.both).clamp(min=tiny)  # the first alone; its transpose is the second alone
        self.none = (1 - first - second + self.both).clamp(min=tiny)
        self.log_one, self.log_none = self.one.log(), self.none.log()

    @classmethod
    def of(cls, y: Tensor, odds: Odds) -> _Pairs:
        return cls(y.clamp(INSIDE, 1 - INSIDE), odds)

    def gain(self) -> Tensor:
        """(..., labels, labels) r - y_i y_j."""
        return self.both - self.q.unsqueeze(-1) * self.q.unsqueeze(-2)

    def excess(self) -> Tensor:
        """(...,) sum_{i<j} w_ij (r_ij - q_i q_j) + KL, with KL(b || q_i x q_j) = H(q_i) + H(q_j) - H(b)."""
        q, both = self.q, self.both
        cells = both * (self.w + both.clamp(min=torch.finfo(both.dtype).tiny).log())
        cells += 2 * self.one * self.log_one
        tables = (cells + self.none * self.log_none).sum((-2, -1)) - ((q.unsqueeze(-2) @ self.w).squeeze(-2) * q).sum(-1)
        singles = -(q * q.log() + (1 - q) * (-q).log1p()).sum(-1)
        return tables / 2 + q.shape[-1] * singles  # each pair stands there twice

    def slope(self) -> Tensor:
        """(..., labels) of the excess in q: the messages, less what products send."""
        q = self.q
        messages = (self.log_one - self.log_none).sum(-1) + q.shape[-1] * ((-q).log1p() - q.log())
        return messages - (q.unsqueeze(-2) @ self.w).squeeze(-2)
