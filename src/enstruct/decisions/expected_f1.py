r"""Expected-F1 decoding under independent marginals.

For each row, the label set with the largest expected F1 is a set of the k most probable labels, for
some k (Lewis 1995). With the row's marginals sorted, p_1 >= p_2 >= ...,

    E[F1_k] = sum_a P(p_1..p_k have a successes) * 2a * s_k(k + a),     s_k(j) = E[1 / (j + successes of p_{k+1}..)]

and s obeys s_{k-1}(j) = p_k s_k(j + 1) + (1 - p_k) s_k(j)  (Ye, Chai, Lee & Chieu 2012): O(L^2) a row.
F1 of the empty set is 1 when the truth is empty, so E[F1_0] = P(no label).

Beyond the ``HEAD`` most probable labels, the number of further true labels is taken as Poisson with the
same mean; by Le Cam's inequality this changes an expectation by at most 2 sum p_i^2 over that tail.

``sharpness`` a and ``shift`` b recalibrate the marginals first, p -> sigma(a logit p + b), both chosen on
validation rows: overconfident networks choose too few labels otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, gammaln, logit

from enstruct.data.rows import as_indicator
from enstruct.decisions.remembered import Remembered
from enstruct.decisions.thresholds import fitting_rows, ranked_labels, take_labels
from enstruct.metrics import get_metric

HEAD = 256
TABLE = 2**15
"""Numbers in the table of a chunk of rows at most, about: it stays in a core's cache."""
SHARPNESS = (0.6, 0.8, 1.0, 1.25)
SHIFTS = (-0.5, 0.0, 0.5)


@dataclass
class ExpectedF1:
    """``allow_empty=False`` (set in ``fit`` when no row that it is fitted on is empty) always takes at least one label."""

    sharpness: float = 1.0
    shift: float = 0.0
    allow_empty: bool = True

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> ExpectedF1:
        """Sharpness and shift of the marginals p (rows, labels) by which decoding scores best against ``truth``."""
        return self.fit_to(self.remembered(p), np.arange(len(p)), truth, metric, weight)

    def remembered(self, p: NDArray[Any], X: Any = None) -> Remembered:
        """What it decodes of these rows."""

        return Remembered(lambda settings, rows: decode_under(settings, p[rows]), (p.shape[0], p.shape[1]))

    def fit_to(self, sets: Remembered, rows: NDArray[np.intp], truth: Any, metric: str, weight: Any = None) -> ExpectedF1:
        """:meth:`fit` on those rows, ``truth`` and ``weight`` being theirs, of which ``sets`` holds what was decoded."""
        y, score = as_indicator(truth), get_metric(metric)
        self.allow_empty = bool((y.sum(1) == 0).any())
        some = fitting_rows(*y.shape)
        y, weight = y[some], None if weight is None else np.asarray(weight)[some]
        tried = [(sharpness, shift) for sharpness in SHARPNESS for shift in SHIFTS]
        best = -np.inf
        for setting, answers in zip(tried, sets.under([(*each, self.allow_empty) for each in tried], rows[some]), strict=True):
            quality = score(y, answers, weight)
            if quality > best + 1e-9 or (quality > best - 1e-9 and setting == (1.0, 0.0)):
                best, (self.sharpness, self.shift) = quality, setting
        return self

    def of(self, sets: Remembered, rows: NDArray[np.intp]) -> sparse.csr_matrix:
        """:meth:`predict` of those rows."""
        return sets.under([(self.sharpness, self.shift, self.allow_empty)], rows)[0]

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return decode_under([(self.sharpness, self.shift, self.allow_empty)], p)[0]


def recalibrate(p: NDArray[Any], sharpness: float, shift: float) -> NDArray[Any]:
    if sharpness == 1.0 and shift == 0.0:
        return p
    return np.asarray(expit(sharpness * logit(np.clip(p, 1e-7, 1 - 1e-7)) + shift))


def decode(p: NDArray[Any], allow_empty: bool = True) -> sparse.csr_matrix:
    """The best set of every row: marginals (rows, labels) -> indicator (rows, labels)."""
    return decode_under([(1.0, 0.0, allow_empty)], p)[0]


def decode_under(settings: Sequence[Any], p: NDArray[Any]) -> list[sparse.csr_matrix]:
    """Likewise after each recalibration (sharpness, shift, whether a set may be empty), all of which leave labels in the order in
    which they are ranked once."""
    at_once = max(1, TABLE // (2 * min(p.shape[1], HEAD)))
    if len(p) <= at_once:
        return _decode_chunk(settings, p)
    by_mass = np.argsort(p.sum(1), kind="stable")  # rows of a chunk then need sets of about the same largest size
    parts = [_decode_chunk(settings, p[by_mass[i : i + at_once]]) for i in range(0, len(p), at_once)]
    back = np.argsort(by_mass)
    return [sparse.vstack(of_setting, format="csr")[back] for of_setting in zip(*parts, strict=True)]


def _decode_chunk(settings: Sequence[Any], p: NDArray[Any]) -> list[sparse.csr_matrix]:
    order, ranked = ranked_labels(p, min(p.shape[1], HEAD))
    moved = [recalibrate(ranked, sharpness, shift) for sharpness, shift, _ in settings]
    tails = [np.zeros(len(p)) for _ in settings]
    if p.shape[1] > HEAD:
        sums = [recalibrate(p, sharpness, shift).sum(1) for sharpness, shift, _ in settings]
        tails = [np.maximum(whole - head.sum(1), 0.0) for whole, head in zip(sums, moved, strict=True)]
    sizes = [
        _best_sizes(head.astype(np.float64), tail.astype(np.float64), empty)
        for head, tail, (*_, empty) in zip(moved, tails, settings, strict=True)
    ]
    return [take_labels(order, of_setting, p.shape[1]) for of_setting in sizes]


def _best_sizes(p: NDArray[np.float64], tail: NDArray[np.float64], allow_empty: bool) -> NDArray[np.intp]:
    """(rows,) how many of the most probable labels, ``HEAD`` at most. p (rows, T) sorted, ``tail`` (rows,) the others' mean.

    k labels have E[F1] <= E[2|Y| / (k + |Y|)] <= 2 m / (k + m), m = E|Y| (Jensen's inequality), so that none beyond
    m (2 / v - 1) can beat a value of v. Few rows need more than 4 m of them.
    """
    if not len(p):
        return np.zeros(0, dtype=np.intp)
    mean = p.sum(1) + tail
    limit = int(min(p.shape[1], np.ceil(4 * mean.max()) + 8))
    expected = expected_f1_by_size(p, tail, limit)
    if not allow_empty:
        expected[:, 0] = -1.0
    size, value = expected.argmax(1), expected.max(1)
    needed = np.minimum(np.ceil(mean * (2 / np.maximum(value, 1e-12) - 1)), p.shape[1])
    if (short := np.flatnonzero(needed > limit)).size:
        more = expected_f1_by_size(p[short], tail[short], int(needed[short].max()))
        more[:, 0] = expected[short, 0]
        size[short] = more.argmax(1)
    return size


def expected_f1_by_size(p: NDArray[np.float64], tail: NDArray[np.float64], limit: int) -> NDArray[np.float64]:
    """(rows, ``limit`` + 1) E[F1] of the k most probable labels, k = 0..limit <= T; p (rows, T) sorted, ``tail`` as above."""
    rows = len(p)
    by_rank = np.ascontiguousarray(p.T)  # rows last: every step below works on whole contiguous pieces, in place
    inverse = _inverse_moments(by_rank, tail, limit)
    expected = np.empty((rows, limit + 1))
    expected[:, 0] = np.exp(np.log1p(-np.minimum(p, 1 - 1e-12)).sum(1) - tail)
    counts = np.zeros((limit + 1, rows))  # P(a successes among the k best)
    counts[0] = 1.0
    twice = 2.0 * np.arange(limit + 1)
    step = np.empty_like(counts)
    for k in range(1, limit + 1):
        q, part = by_rank[k - 1], step[:k]
        np.subtract(counts[:k], counts[1 : k + 1], out=part)
        part *= q
        counts[1 : k + 1] += part
        counts[0] *= 1 - q
        expected[:, k] = np.einsum("a,ar,ar->r", twice[1 : k + 1], counts[1 : k + 1], inverse[k])
    return expected


def _inverse_moments(by_rank: NDArray[np.float64], tail: NDArray[np.float64], limit: int) -> list[NDArray[np.float64]]:
    """s_k(j) for k = 0..limit, from sorted marginals (T, rows): entry k is (k, rows), s_k(k + 1) to s_k(2k).

    At size k nothing beyond j = k + min(k, limit) is needed by it or by a smaller one, so that the table shrinks as k does.
    """
    T = len(by_rank)
    s = np.ascontiguousarray(_tail_inverse(tail, T + limit).T)  # entry j - 1: E[1 / (j + tail)]
    step = np.empty_like(s)
    kept: list[NDArray[np.float64]] = [s[:0]] * (limit + 1)
    for k in range(T, 0, -1):
        if k <= limit:
            kept[k] = s[k : 2 * k].copy()
        needed = k - 1 + min(k - 1, limit)
        part = step[:needed]
        np.subtract(s[1 : needed + 1], s[:needed], out=part)
        part *= by_rank[k - 1]
        s[:needed] += part
    return kept


def _tail_inverse(mean: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """(rows, width) E[1 / (j + N)], N ~ Poisson(mean), for j = 1..width."""
    j = np.arange(1, width + 1, dtype=np.float64)
    if not mean.any():
        return np.tile(1 / j, (len(mean), 1))
    top = int(mean.max() + 10 * np.sqrt(mean.max()) + 10)
    n = np.arange(top + 1, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_pmf = np.where(mean[:, None] > 0, n * np.log(mean[:, None]) - mean[:, None] - gammaln(n + 1), -np.inf)
    pmf = np.where(mean[:, None] > 0, np.exp(log_pmf), n == 0)  # (rows, top + 1)
    return np.asarray(pmf @ (1 / (j[None, :] + n[:, None])))
