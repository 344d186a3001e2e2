"""Probabilities of pixels, once boxes and sizes are known to hold of independent pixels.

Outside of its boxes a class has none, and others take what it had. Of a class of which least to most pixels are there, with
N = sum_i y_i,

    p'(y_i = 1) = P(y_i = 1 | least <= N <= most)

by the distribution of N and of N without each pixel, exactly, where N varies by few pixels (EXACT). Where it varies by many,
pixels are as good as independent given how many there are, and all logits move by the number t that gives them the mean

    sum_i p'_i = E[N | least <= N <= most],      p'_i = p_i e^t / (1 - p_i + p_i e^t)

with N's normal approximation about the allowed size c nearest to its mean. Either way N is looked at where pixels are tilted to
the mean c, and weighs exp(-u (n - c)) there, u being that tilt, so that sizes far from what pixels say are not lost in rounding.
Several classes with sizes take turns, approximately. That pieces hang together says nothing here, and neither do preferences:
decisions heed them.
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
EXACT, DEVIATIONS = 60.0, 12
"""Variance of N up to which its distribution is computed, and standard deviations of it that count."""
PIXELS = 2**12
"""At a time, each with a number for every size in the window."""
EPS = 1e-9
"""Pixels that nobody told are no nearer to 0 and 1."""


def sized(p: NDArray[np.float64], least: int, most: int) -> NDArray[np.float64]:
    """(pixels,) of p (pixels,), all in doubt, given that least to most of them are there; as many as can be where that is not to
    be met."""
    n = len(p)
    if least >= n or most <= 0:
        return np.full(n, float(least >= n > 0))
    if least <= 0 and most >= n:
        return p
    z = logit(np.clip(p, EPS, 1 - EPS))
    centre = float(np.clip(expit(z).sum(), least, most))
    u = _tilt(z, centre)
    q = expit(z + u)
    variance = float((q * (1 - q)).sum())
    if variance <= EXACT:
        return _exact(q, u, centre, variance, least, most)
    size = np.arange(least, most + 1) - centre
    weight = -0.5 * size**2 / variance - u * size
    weight = np.exp(weight - weight.max())
    return np.asarray(expit(z + _tilt(z, centre + float(size @ weight / weight.sum()))))


def _exact(q: NDArray[np.float64], u: float, centre: float, variance: float, least: int, most: int) -> NDArray[np.float64]:
    """By the distribution of N within a window of sizes: by its characteristic function, and without each pixel by recursion."""
    half = int(DEVIATIONS * (variance**0.5 + 1))
    first, width = int(centre) - half, 2 * half + 1
    turn = np.exp(2j * np.pi * np.arange(width) / width)
    log_f = sum(
        (np.log(1 - part[:, None] + part[:, None] * turn).sum(0) for part in np.array_split(q, len(q) // PIXELS + 1)),
        start=np.zeros(width, dtype=complex),
    )
    size = first + np.arange(width)
    f = np.fft.fft(np.exp(log_f - 1j * np.angle(turn) * first)).real.clip(min=0) / width
    weight = np.where((size >= least) & (size <= most), np.exp(np.clip(-u * (size - centre), -700, 700)), 0.0)
    out = np.empty(len(q))
    for some in np.array_split(np.arange(len(q)), len(q) // PIXELS + 1):
        there, absent = _with_and_without(q[some], f, weight)
        out[some] = there / (there + absent)
    return out


def _with_and_without(
    q: NDArray[np.float64], f: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(pixels,) sum of ``weight`` over the sizes f that hold each pixel, and that do not.

    f(n) = (1 - q) g(n) + q g(n - 1), g of the other pixels: from below where q is at most a half, from above where it is more.
    """
    there, absent = np.zeros(len(q)), np.zeros(len(q))
    low = q <= 0.5
    a, b = 1 - q[low], q[low]
    g = np.zeros(int(low.sum()))
    for n in range(len(f)):
        there[low] += weight[n] * b * g
        g = ((f[n] - b * g) / a).clip(min=0)
        absent[low] += weight[n] * a * g
    a, b = 1 - q[~low], q[~low]
    g = np.zeros(int((~low).sum()))
    for n in range(len(f) - 1, -1, -1):
        absent[~low] += weight[n] * a * g
        g = ((f[n] - a * g) / b).clip(min=0)
        there[~low] += weight[n] * b * g
    return there, absent


def _tilt(z: NDArray[np.float64], mean: float) -> float:
    """t such that the pixels' logits plus t have this mean number."""
    if abs(expit(z).sum() - mean) < 1e-9:
        return 0.0
    end = FURTHEST + float(np.abs(z).max())
    mean = float(np.clip(mean, expit(z - end).sum(), expit(z + end).sum()))
    return float(brentq(lambda t: expit(z + t).sum() - mean, -end, end, xtol=1e-10))


def without(p: NDArray[np.float64], k: int, share: NDArray[np.float64], free: NDArray[np.intp]) -> NDArray[np.float64]:
    """p (height, width, classes) in which class k has ``share`` (height, width), and the others the rest, as they shared it;
    where they had none, the ``free`` classes."""
    others = np.delete(np.arange(p.shape[2]), k)
    rest = p[..., others].sum(2)
    out = np.zeros_like(p)
    out[..., free] = np.where(rest > 0, 0.0, (1 - share) / len(free))[..., None]
    scale = np.divide(1 - share, rest, out=np.zeros_like(rest), where=rest > 0)
    out[..., others] += p[..., others] * scale[..., None]
    out[..., k] = share
    return out
