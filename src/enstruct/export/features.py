"""Features as a classifier's networks take them (:class:`enstruct.estimators.features.Features`), in a graph.

    (x - mean) / scale,     x / scale,     or x idf / |x idf|,     then the columns taken

each in the precision in which scikit-learn takes rows of single precision: trees compare features with thresholds that training
rows are near, so that a last digit may send a row another way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.estimators.features import Features

COMMON = 0.05
"""Share of features other than 0 in rows that are drawn for a model of sparse ones."""


class ScaledFeatures(nn.Module):
    """x (rows, features) -> (rows, columns taken)."""

    def __init__(self, features: Features) -> None:
        super().__init__()
        numbers = features.arrays()
        for name in ("mean", "scale", "idf"):
            value = numbers.get(f"scaler/{name}")
            self.register_buffer(name, None if value is None else torch.from_numpy(np.asarray(value, dtype=np.float64)))
        self.register_buffer("columns", None if features.columns is None else torch.from_numpy(features.columns))
        self.mean: Tensor | None
        self.scale: Tensor | None
        self.idf: Tensor | None
        self.columns: Tensor | None

    def forward(self, x: Tensor) -> Tensor:
        if self.mean is not None and self.scale is not None:
            x = (x - self.mean.float()) / self.scale.float()
        elif self.scale is not None:
            x = x.double() * (1 / self.scale)
        elif self.idf is not None:
            x = x.double() * self.idf
            length = (x * x).sum(1, keepdim=True).sqrt()
            x = x / torch.where(length > 0, length, 1.0)
        x = x.float()
        return x if self.columns is None else x.index_select(1, self.columns)


class FilledFeatures(nn.Module):
    """A module on features, and told labels if it takes such, in which missing features (NaN) are replaced by their ``means``
    (features,) in training."""

    means: Tensor

    def __init__(self, means: NDArray[np.float64], module: nn.Module) -> None:
        super().__init__()
        self.register_buffer("means", torch.from_numpy(means.astype(np.float32)))
        self.module = module

    def forward(self, features: Tensor, known: Tensor | None = None) -> Any:
        filled = torch.where(features.isnan(), self.means, features)
        return self.module(filled) if known is None else self.module(filled, known)


def draw_rows(
    features: Features | None, n_features: int, rows: int, random: np.random.Generator, missing: bool = False
) -> NDArray[np.float32]:
    """(rows, features) of about the scale of those of ``fit``, as far as it is known; every other one sparse where nothing
    centres them. ``missing``: some are NaN."""
    numbers: dict[str, Any] = {} if features is None else features.arrays()
    dense = random.standard_normal((rows, n_features))
    if "scaler/scale" in numbers:
        dense = dense * numbers["scaler/scale"] + numbers.get("scaler/mean", 0.0)
    there = random.random((rows, n_features)) < COMMON
    few = np.where(there, np.abs(dense) if "scaler/idf" in numbers else 1.0, 0.0)
    sparse = "scaler/mean" not in numbers
    sparsely = (np.arange(rows) % 2 == 0)[:, None] & sparse | ("scaler/idf" in numbers)
    X = np.where(sparsely, few, dense).astype(np.float32)
    return np.where(random.random(X.shape) < COMMON, np.float32(np.nan), X) if missing else X
