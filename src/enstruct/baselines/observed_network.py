"""One network for all labels, trained by the cross-entropy of observed cells, whose labels share what they learn of x.

Two hidden layers on standardised features (sparse ones as they are); the standardisation goes into the first layer in the end, so
that the network takes rows as they come. It begins with small weights and drops out after both layers, or with larger ones
and drops out between them: the former learns less of noise, the latter more of many features that are mostly 0. Which, how much
is dropped out, and for how many epochs it is trained, are those of the lowest loss on rows left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from enstruct.encoders import MLP, Predictor
from enstruct.encoders.boosted import as_tensor
from enstruct.randomness import redirected, seeded

HIDDEN, RATE, DECAY, BATCH = 256, 1e-3, 1e-5, 32
EPOCHS, PATIENCE = 300, 8
HELD = 10
"""Without rows that are left out one training row in so many says when to stop."""


class Setting(NamedTuple):
    """``small``: whether weights are small in the beginning, and the last layer drops out as well."""

    dropout: float
    small: bool = True


SETTINGS = (Setting(0.5), Setting(0.7), Setting(0.2), Setting(0.5, small=False))
"""In the order in which they are tried."""


class ObservedNetwork(Predictor):
    """Logits of dense or CSR rows."""

    def __init__(self, n_features: int, n_labels: int, setting: Setting = SETTINGS[0], hidden: int | None = None) -> None:
        hidden, last = HIDDEN if hidden is None else hidden, setting.dropout if setting.small else 0.0
        super().__init__(MLP(n_features, hidden, 2, setting.dropout, "relu", sparse=True, last_dropout=last), n_labels)
        self.setting = setting
        layers: Any = [*self.encoder.linears, self.head] if setting.small else []  # type: ignore[misc]
        for layer, inputs in zip(layers, (n_features, hidden, hidden), strict=False):
            nn.init.uniform_(layer.weight, -(inputs**-0.5), inputs**-0.5)

    @classmethod
    def restored(cls, tensors: dict[str, Tensor], n_features: int, n_labels: int) -> Self:
        """From its own ``state_dict``, of as many hidden units as that has. RuntimeError if it is of other sizes."""
        with seeded(0), redirected():
            network = cls(n_features, n_labels, hidden=max(1, len(tensors["encoder.linears.0.bias"])))
        network.load_state_dict(tensors)
        return network.eval()

    @torch.no_grad()
    def take_up(self, mean: Tensor, deviation: Tensor) -> None:
        """Take rows as they come from now on, in place of rows less their mean, over their deviation."""
        first: Any = self.encoder.linears[0]  # type: ignore[index]
        first.weight /= deviation[:, None]
        first.bias -= mean @ first.weight


def fit_observed_network(
    X: Any,
    Y: NDArray[np.float32],
    weight: NDArray[np.float64],
    left_out: tuple[Any, NDArray[np.float32]] | None,
    seed: int,
    is_late: Callable[[], bool] = lambda: False,
    settings: Sequence[Setting] = SETTINGS,
) -> ObservedNetwork:
    """``Y`` (rows, labels) with NaN where unobserved; ``left_out``: rows (X, Y) that say when to stop. ``settings``: the first is
    trained, others are tried until ``is_late``; a lower dropout than all of its kind only where the lowest so far is the best."""
    if left_out is None:
        order = np.random.default_rng([seed, 2]).permutation(len(Y))
        held, rows = np.split(order, [max(1, len(Y) // HELD)]) if len(Y) > 1 else (order, order)
        judges, X, Y, weight = Judges(X[held], Y[held], weight[held]), X[rows], Y[rows], weight[rows]
    else:
        judges = Judges(*left_out, np.ones(len(left_out[1])))
    n_features = X.shape[1]
    mean, deviation = torch.zeros(n_features), torch.ones(n_features)
    if not sparse.issparse(X):
        scaler = StandardScaler().fit(X)  # a column that never varies here, and does in other rows, has a deviation of 1
        mean, deviation = torch.as_tensor(scaler.mean_).float(), torch.as_tensor(scaler.scale_).float()

    def trained(setting: Setting) -> tuple[ObservedNetwork, float]:
        return _trained(X, Y, weight, judges, seed, setting, mean, deviation)

    (best, lowest), tried = trained(settings[0]), [settings[0]]
    for setting in settings[1:]:
        alike = [other.dropout for other in tried if other.small == setting.small]
        if is_late() or (alike and setting.dropout < min(alike) < best.setting.dropout):
            continue
        network, value = trained(setting)
        tried.append(setting)
        best, lowest = (network, value) if value < lowest else (best, lowest)
    best.take_up(mean, deviation)
    return best.eval()


class Judges(NamedTuple):
    """Rows that say when to stop."""

    X: Any
    Y: NDArray[np.float32]
    weight: NDArray[np.float64]


def _trained(
    X: Any,
    Y: NDArray[np.float32],
    weight: NDArray[np.float64],
    judges: Judges,
    seed: int,
    setting: Setting,
    mean: Tensor,
    deviation: Tensor,
) -> tuple[ObservedNetwork, float]:
    """The network of the epoch with the lowest loss on rows left out, and that loss."""
    with seeded(seed):
        with redirected():  # a little an operation, which training would pay for nothing
            network = ObservedNetwork(X.shape[1], Y.shape[1], setting)
        optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
        rng = np.random.default_rng(seed)
        weights, judging = (torch.as_tensor(each, dtype=torch.float32)[:, None] for each in (weight, judges.weight))
        lowest, kept, at = np.inf, network.state_dict(), 0
        for epoch in range(1, EPOCHS + 1):
            network.train()
            for rows in np.array_split(rng.permutation(len(Y)), max(1, len(Y) // BATCH)):
                optimizer.zero_grad()
                _loss(network(_scaled(X[rows], mean, deviation)), Y[rows], weights[rows]).backward()
                optimizer.step()
            network.eval()
            with torch.no_grad():
                value = float(_loss(network(_scaled(judges.X, mean, deviation)), judges.Y, judging))
            if value < lowest:
                lowest, at = value, epoch
                kept = {name: tensor.clone() for name, tensor in network.state_dict().items()}
            elif epoch - at >= PATIENCE:
                break
    network.load_state_dict(kept)
    return network, lowest


def _scaled(X: Any, mean: Tensor, deviation: Tensor) -> Tensor:
    return as_tensor(X) if sparse.issparse(X) else (as_tensor(X) - mean) / deviation


def _loss(logits: Tensor, Y: NDArray[np.float32], weight: Tensor) -> Tensor:
    """Mean over observed cells."""
    y = torch.from_numpy(Y)
    observed = ~y.isnan()
    each = F.binary_cross_entropy_with_logits(logits, torch.nan_to_num(y), reduction="none") * weight
    return each[observed].sum() / observed.sum().clamp(min=1)
