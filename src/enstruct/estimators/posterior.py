"""Energy-weighted samples of a fitted model, as minimum-Bayes-risk decoding reads them.

Samples use stratified uniforms shared by all rows, y_sl = [u_sl < p_l] with u_.l one point in each of S equal
intervals: every marginal is right to 1/S, a row's samples do not depend on its neighbours, and the same
model gives the same decision every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from enstruct.objectives import Density
from enstruct.spaces import LabelSpace, LabelVectors
from enstruct.training.batches import to_features

CHUNK_CELLS = 4_000_000


@dataclass
class EnergyPosterior:
    """``weigh(X)`` for one fitted pair of networks; ``density`` is the objective's declaration."""

    predictor: nn.Module
    energy: nn.Module
    density: Density
    n_labels: int
    n_samples: int = 300
    device: str = "cpu"

    @torch.no_grad()
    def weigh(self, X: Any) -> Iterator[tuple[sparse.csr_matrix, NDArray[np.float64]]]:
        """Chunk after chunk: samples CSR (rows * S, labels), log-weights (rows, S) at alpha = 1."""
        self.predictor.eval()
        self.energy.eval()
        uniforms = stratified_uniforms(self.n_samples, self.n_labels).to(self.device)
        space = LabelSpace(self.n_labels)
        step = max(1, CHUNK_CELLS // (self.n_samples * self.n_labels))
        for start in range(0, X.shape[0], step):
            x = to_features(X[start : start + step], self.device)
            logits = self.predictor(x)
            y = draw(logits, uniforms)
            log_weight = -self.energy(self.energy.prepare(x), y)  # type: ignore[operator]
            if self.density is Density.JOINT:
                log_weight = log_weight - space.log_prob(y, logits)
            yield to_csr(y), log_weight.double().cpu().numpy()


def stratified_uniforms(n: int, n_labels: int, seed: int = 0) -> Tensor:
    """(n, labels): each column has one point in each of n equal intervals, in random order."""
    rng = np.random.default_rng(seed)
    order = np.argsort(rng.random((n, n_labels)), axis=0)
    return torch.from_numpy(((order + rng.random((n, n_labels))) / n).astype(np.float32))


def draw(logits: Tensor, uniforms: Tensor) -> LabelVectors:
    """logits (rows, labels), uniforms (S, labels) -> vectors (rows, S, labels)."""
    return LabelVectors.from_dense(uniforms.unsqueeze(0) < torch.sigmoid(logits).unsqueeze(1))


def to_csr(y: LabelVectors) -> sparse.csr_matrix:
    """(batch * samples, labels)."""
    shape = (y.batch * y.samples, y.n_labels)
    ones = np.ones(len(y.indices), np.uint8)
    return sparse.csr_matrix((ones, y.indices.cpu().numpy(), y.offsets.cpu().numpy()), shape=shape)
