"""A network on (x, told labels) with the training of C-Tran (Lanchantin et al. 2021): random masks, loss on what they hide.

Two hidden layers with ReLU and dropout; told labels come as 1, -1 and, untold, 0, with a share told that is uniform in [0, 1] a
row and drawn anew every time. Dropout and epochs are chosen by the log-loss of asked cells on held-out rows. Unobserved cells are
neither told nor asked. With a ``tell`` that tells nothing it is a network with masked binary cross-entropy. Features that do not
fit into memory as a dense array stay sparse, with weights of their own beside those of the told labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from enstruct.baselines.extra_trees import fits_densely
from enstruct.encoders.sparse_mlp import SparseLinear, csr_batch
from enstruct.randomness import redirected, seeded
from enstruct_bench.joint.in_order import log_probability_in_order
from enstruct_bench.joint.sides import LogProbability, Marginal, TwoFits
from enstruct_bench.joint.table import Array, Table
from enstruct_bench.joint.told import asked_loss, random_told

HIDDEN, DROPOUTS, RATE, DECAY, BATCH = 256, (0.3, 0.6), 1e-3, 1e-4, 64
EPOCHS, PATIENCE = 150, 10
BLOCK = 2**24

Tell = Callable[[Array, np.random.Generator], NDArray[np.float32]]
"""Label sets (rows, labels) -> what is told of them, NaN elsewhere."""


@dataclass(frozen=True)
class Scale:
    """Columns of x less their means, over their deviations, 1 where they never vary; sparse ones as they are."""

    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]

    @classmethod
    def of(cls, X: Any) -> Scale:
        if sparse.issparse(X):
            return cls(np.zeros(X.shape[1], np.float32), np.ones(X.shape[1], np.float32))
        scaler = StandardScaler().fit(X)
        return cls(scaler.mean_.astype(np.float32), scaler.scale_.astype(np.float32))

    def __call__(self, X: Any) -> Tensor:
        dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)
        return torch.from_numpy((dense - self.mean) / self.deviation)


class Beside(nn.Module):
    """A linear layer of sparse features and told labels."""

    def __init__(self, n_features: int, n_labels: int, n_out: int) -> None:
        super().__init__()
        self.features, self.told = SparseLinear(n_features, n_out), nn.Linear(n_labels, n_out, bias=False)

    def forward(self, x: Tensor, told: Tensor) -> Tensor:
        return torch.as_tensor(self.features(x) + self.told(told))


@dataclass(frozen=True)
class MaskedNetwork(Marginal):
    network: nn.Sequential
    scale: Scale

    def logits(self, X: Any, known: Array) -> Tensor:
        told = torch.from_numpy(np.nan_to_num(2 * known - 1).astype(np.float32))
        if isinstance(self.network[0], Beside):
            return torch.as_tensor(self.network[1:](self.network[0](csr_batch(X), told)))
        return torch.as_tensor(self.network(torch.cat([self.scale(X), told], 1)))

    def marginals(self, X: Any, known: Array) -> NDArray[np.float64]:
        self.network.eval()
        size = max(1, BLOCK // (X.shape[1] + known.shape[1]))
        with torch.no_grad():
            blocks = [self.logits(X[k : k + size], known[k : k + size]) for k in range(0, len(known), size)]
        return np.asarray(torch.sigmoid(torch.cat(blocks).double()).numpy())

    def log_probability(self, X: Any, Y: Array) -> LogProbability:
        return log_probability_in_order(self, X, Y)


def fit_masked_network(table: Table, seed: int, tell: Tell = random_told) -> TwoFits:
    train, held = table.training, table.held
    known = tell(table.Y[held], np.random.default_rng([seed, 1]))
    X_held, Y_held = table.X[held], table.Y[held]

    def loss(model: MaskedNetwork) -> float:
        return asked_loss(model.marginals(X_held, known), Y_held, known)

    tried = []
    for dropout in DROPOUTS:
        judge = _new(table.X[train], table.n_labels, dropout, seed)
        best, state, epochs = np.inf, {}, 0
        for epoch, _ in enumerate(_epochs(judge, table.X[train], table.Y[train], EPOCHS, seed, tell), 1):
            value = loss(judge)
            if value < best:
                best, epochs = value, epoch
                state = {name: tensor.clone() for name, tensor in judge.network.state_dict().items()}
            elif epoch - epochs >= PATIENCE:
                break
        judge.network.load_state_dict(state)
        tried.append((best, epochs, dropout, judge))
    _, epochs, dropout, judge = min(tried, key=lambda one: one[0])
    model = _new(table.X, table.n_labels, dropout, seed)
    for _ in _epochs(model, table.X, table.Y, epochs, seed, tell):
        pass
    return TwoFits(judge, model, X_held)


def _new(X: Any, n_labels: int, dropout: float, seed: int) -> MaskedNetwork:
    with seeded(seed), redirected():
        first = nn.Linear(X.shape[1] + n_labels, HIDDEN) if fits_densely(X) else Beside(X.shape[1], n_labels, HIDDEN)
        layers = [first, nn.ReLU(), nn.Dropout(dropout), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Dropout(dropout)]
        network = nn.Sequential(*layers, nn.Linear(HIDDEN, n_labels))
    return MaskedNetwork(network, Scale.of(X))


def _epochs(model: MaskedNetwork, X: Any, Y: NDArray[np.float32], epochs: int, seed: int, tell: Tell) -> Iterator[None]:
    """Trains, and yields after every epoch."""
    optimizer = torch.optim.AdamW(model.network.parameters(), lr=RATE, weight_decay=DECAY)
    rng = np.random.default_rng(seed)
    for epoch in range(epochs):
        with seeded(seed + epoch), redirected():
            model.network.train()
            for rows in np.array_split(rng.permutation(len(Y)), max(1, len(Y) // BATCH)):
                known = tell(Y[rows], rng)
                each = F.binary_cross_entropy_with_logits(
                    model.logits(X[rows], known), torch.from_numpy(np.nan_to_num(Y[rows])), reduction="none"
                )
                asked = torch.from_numpy(np.isnan(known) & ~np.isnan(Y[rows]))
                loss = each[asked].sum() / max(1, int(asked.sum()))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        yield
