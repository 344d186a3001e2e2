"""Which cells are told at a share: those that come first in one random order of each row's labels, so that shares are nested."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enstruct_bench.joint.table import Array

SHARES = (0.0, 0.25, 0.5, 0.75)
CLIP = 1e-4
"""What probabilities of all sides are kept from 0 and 1 by, as the logits of bases are."""


def random_order(shape: tuple[int, int], seed: int) -> NDArray[np.intp]:
    """(rows, labels) each label's place in its row's order."""
    return np.random.default_rng([seed, 30]).random(shape).argsort(1).argsort(1)


def told_share(Y: Array, order: Array, share: float) -> NDArray[np.float32]:
    """Y where the first ``share`` of the labels are told, NaN elsewhere."""
    return np.where(order < round(share * Y.shape[1]), Y, np.nan).astype(np.float32)


def random_told(Y: Array, rng: np.random.Generator) -> NDArray[np.float32]:
    """Y with a share of each row's labels told that is drawn uniformly from [0, 1], NaN elsewhere."""
    return np.where(rng.random(Y.shape) < rng.random((len(Y), 1)), Y, np.nan).astype(np.float32)


def nothing_told(rows: int, labels: int) -> NDArray[np.float32]:
    return np.full((rows, labels), np.nan, dtype=np.float32)


def cell_losses(p: Array, Y: Array, clip: float = CLIP) -> NDArray[np.float64]:
    """(rows, labels) -log of the probability of what is true, in nats."""
    p = np.clip(np.asarray(p, dtype=np.float64), clip, 1 - clip)
    return np.asarray(-np.log(np.where(Y > 0.5, p, 1 - p)))


def asked_loss(p: Array, Y: Array, known: Array) -> float:
    """Mean of the losses over the observed cells that are not told; 0 where all are."""
    asked = np.isnan(known) & ~np.isnan(Y)
    return float(cell_losses(p, Y)[asked].mean()) if asked.any() else 0.0
