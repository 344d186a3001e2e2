"""Feedback-propagation (Wang, Yamaguchi & Ordonez 2018) on the library's cross-entropy network.

At prediction the hidden layer h of the trained network is moved until the told labels come out, and the others are read off it:

    h* = argmin_h  sum_told cross-entropy(y_i, sigma(W h + b)_i) + anchor / 2 * |h - h(x)|^2,     p = sigma(W h* + b)

by gradient steps from h(x), as in the paper's layer-wise variant. How many, at which of ``RATES``, is chosen by the log-loss of
asked cells on held-out rows; no steps at all are among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct_bench.joint.sides import Marginal, TwoFits
from enstruct_bench.joint.table import Array, Table
from enstruct_bench.joint.told import asked_loss, random_told

STEPS, RATES = (0, 5, 20, 60), (0.05, 0.3)
ANCHOR = 0.1


@dataclass(frozen=True)
class FeedbackProp(Marginal):
    """``network`` is fitted; ``steps`` of ``rate``."""

    network: NetworkClassifier
    steps: int = 0
    rate: float = 0.0

    def marginals(self, X: Any, known: Array) -> NDArray[np.float64]:
        head: Any = self.network.predictor_.head
        weight, bias = head.weight.detach().float(), head.bias.detach().float()
        h = moved(hidden(self.network, X), weight, bias, known, self.steps, self.rate)
        return np.asarray(torch.sigmoid(h @ weight.T + bias).double().numpy())


def hidden(network: NetworkClassifier, X: Any) -> torch.Tensor:
    """(rows, units) what the network's last layer reads."""
    seen: list[torch.Tensor] = []
    head: Any = network.predictor_.head
    hook = head.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].detach().float()))
    try:
        network.predict_proba(X)
    finally:
        hook.remove()
    return torch.cat(seen)


def moved(h: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, known: Array, steps: int, rate: float) -> torch.Tensor:
    """h after so many gradient steps of the sum above."""
    told = torch.as_tensor(np.nan_to_num(known), dtype=torch.float32)
    counts = torch.as_tensor(~np.isnan(known), dtype=torch.float32)
    start = h
    for _ in range(steps):
        slope = (torch.sigmoid(h @ weight.T + bias) - told) * counts  # of the cross-entropy in the logits
        h = h - rate * (slope @ weight + ANCHOR * (h - start))
    return h


def fit_feedback(table: Table, seed: int) -> TwoFits:
    train, held = table.training, table.held
    X_held, Y_held = table.X[held], table.Y[held]
    known = random_told(Y_held, np.random.default_rng([seed, 1]))
    judge, model = (_network(X, Y, seed) for X, Y in ((table.X[train], table.Y[train]), (table.X, table.Y)))

    def loss(setting: tuple[int, float]) -> float:
        return asked_loss(FeedbackProp(judge, *setting).marginals(X_held, known), Y_held, known)

    best = min(((steps, rate) for steps in STEPS for rate in RATES), key=loss)
    return TwoFits(FeedbackProp(judge, *best), FeedbackProp(model, *best), X_held)


def _network(X: Any, Y: Array, seed: int) -> NetworkClassifier:
    return NetworkClassifier(method="cross-entropy", early_stopping=True, random_state=seed).fit(X, Y.astype(np.int64))
