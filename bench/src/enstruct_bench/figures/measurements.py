"""What a global energy measures, and which labels it keeps apart (SPEN's Figures 1 and 5: the measurement matrix).

Pairs of labels that never stand together in these rows should be those the energy keeps apart: ``never_together_auc`` is how
often such a pair has more interaction energy than one that does stand together (1: all blocks of exclusive labels are found,
0.5: by chance; None where every pair or none does).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from enstruct.data.rows import as_indicator
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.plots.labels import Measured, draw_measured, measured
from enstruct_bench.figures.interactions import label_names


def measure(model: NetworkClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """``Y``: indicators (rows, labels). ConfigError if the energy has no global term."""
    truth = as_indicator(Y)
    found = measured(model, label_names(model), truth)
    truth = truth[:, model.data_.constants.varying].toarray().astype(float)
    upper = np.triu_indices(len(found.names), 1)
    never = (truth.T @ truth)[upper] == 0
    return {
        "rows": len(truth),
        "labels": len(found.names),
        "measurements": len(found.matrix),
        "pairs": len(never),
        "never_together": int(never.sum()),
        "never_together_auc": float(roc_auc_score(never, found.pairs[upper])) if 0 < never.sum() < len(never) else None,
        "names": found.names,
        "matrix": _rounded(found.matrix),
        "interactions": _rounded(found.pairs),
    }


def _rounded(table: NDArray[Any]) -> list[list[float]]:
    return [[float(f"{value:.4g}") for value in row] for row in table]


def draw(figures: dict[str, Any], path: Path) -> None:
    draw_measured(Measured(np.array(figures["matrix"]), np.array(figures["interactions"]), figures["names"]), path)
