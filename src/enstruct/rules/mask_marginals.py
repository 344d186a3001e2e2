"""Probabilities of pixels, once boxes and sizes are known to hold of independent pixels.

Outside of its boxes a class has none, and others take what it had. Of a class k whose pixels are least to most of N = sum_i y_i

    p'(y_i = 1) = p_i e^t / (1 - p_i + p_i e^t),     t such that  sum_i p'_i = E[N | least <= N <= most]

which pixels of independent classes have up to terms of 1 over their number (they are as good as independent, given how many there
are): the mean is that of N's normal approximation about the size c nearest to its mean that is allowed, tilted back,

    E[N | ...] = sum_n n w_n / sum_n w_n,    w_n = exp(-(n - c)^2 / 2 s^2 - u (n - c)),    least <= n <= most

with u and s of the pixels tilted to the mean c. Several classes with sizes take turns. That pieces hang together says nothing
here, and neither do preferences: decisions heed them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

TURNS = 4
"""Of classes with sizes, where they are several."""
FURTHEST = 60.0
"""Nats of tilting at most: probabilities are 0 and 1 then."""
SURE = 1e-9
"""Probabilities nearer than that to 0 or 1 stay."""


def sized(p: NDArray[np.float64], least: int, most: int) -> NDArray[np.float64]:
    """(pixels,) of p (pixels,), given that least to most of them are there; as many as can be where that is not to be met."""
    free = (p > SURE) & (p < 1 - SURE)
    sure, n = int((p >= 1 - SURE).sum()), int(free.sum())
    least, most = max(least - sure, 0), min(most - sure, n)
    if not n:
        return p
    out, few = p.copy(), logit(p[free])
    if least >= n or most <= 0:
        out[free] = float(least >= n)
        return out
    out[free] = expit(few + _tilt(few, _mean(few, least, most)))
    return out


def _mean(few: NDArray[np.float64], least: int, most: int) -> float:
    """E[N | least <= N <= most]."""
    centre = float(np.clip(expit(few).sum(), max(least, 0.5), min(most, len(few) - 0.5)))
    tilt = _tilt(few, centre)
    there = expit(few + tilt)
    n = np.arange(least, most + 1) - centre
    weight = -0.5 * n**2 / (there * (1 - there)).sum() - tilt * n
    weight = np.exp(weight - weight.max())
    return centre + float(n @ weight / weight.sum())


def _tilt(few: NDArray[np.float64], mean: float) -> float:
    """t such that the pixels' logits plus t have this mean number."""
    if abs(expit(few).sum() - mean) < 1e-9:
        return 0.0
    end = FURTHEST + float(np.abs(few).max())
    return float(brentq(lambda t: expit(few + t).sum() - mean, -end, end, xtol=1e-10))


def without(p: NDArray[np.float64], k: int, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """p (height, width, classes) in which class k has ``share`` (height, width), and the others the rest, as they shared it."""
    others = np.delete(np.arange(p.shape[2]), k)
    rest = p[..., others].sum(2)
    even = np.where(rest > 0, 0.0, 1 / len(others))
    out = np.empty_like(p)
    scale = np.divide(1 - share, rest, out=np.zeros_like(rest), where=rest > 0)
    out[..., others] = p[..., others] * scale[..., None] + (even * (1 - share))[..., None]
    out[..., k] = share
    return out
