"""Joint probabilities of models that answer with any labels told: label after label, in a random order a row.

    -log p(y | x) = sum_k -log p(y_(k) | x, y_(1..k-1))

Every order is a distribution; a model trained on masks has as many as there are orders. Where labels are many, ``PLACES`` places
of the order stand for all, one drawn from each of as many equal parts: an unbiased estimate for every row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from enstruct_bench.joint.sides import LogProbability, Model
from enstruct_bench.joint.table import Array
from enstruct_bench.joint.told import cell_losses, random_order

PLACES = 48


def log_probability_in_order(model: Model, X: Any, Y: Array, seed: int = 0, places: int = PLACES) -> LogProbability:
    """The error says nothing of places left out: rows' own spread holds it."""
    n, n_labels = Y.shape
    order = random_order(Y.shape, seed)
    bounds = np.linspace(0, n_labels, min(places, n_labels) + 1)
    rng = np.random.default_rng(seed)
    total = np.zeros(n)
    for low, high in pairwise(bounds):
        at = int(min(low + (high - low) * rng.random(), n_labels - 1)) if places < n_labels else int(low)
        known = np.where(order < at, Y, np.nan).astype(np.float32)
        label = np.argmax(order == at, axis=1)
        losses = cell_losses(model.marginals(X, known), Y)[np.arange(n), label]
        total += (high - low) * losses
    return LogProbability(-total, np.zeros(n))
