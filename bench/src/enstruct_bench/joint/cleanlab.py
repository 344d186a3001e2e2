"""cleanlab's suspects among labels (Northcutt et al. 2021; Thyagarajan et al. 2022), from the same cross-fitted marginals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import MissingExtraError
from enstruct_bench.joint.table import Array

KINDS = ("issues", "adjusted")


def cleanlab_quality(p: Array, Y: Array, kind: str) -> NDArray[np.float64]:
    """(rows, labels), the lower the more suspect. MissingExtraError without cleanlab.

    kind : "issues", the cells that ``find_label_issues`` names for their class first, the others after them, either by
        self-confidence (p of the label as given); "adjusted", normalised margins less the class's own mean confidence.
    """
    try:
        from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class
        from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class
    except ImportError as error:
        raise MissingExtraError("This row needs cleanlab: pip install --group peers.") from error
    labels = [np.flatnonzero(row).tolist() for row in Y]
    if kind == "adjusted":
        scores = get_label_quality_scores_per_class(labels, p, method="normalized_margin", adjust_pred_probs=True)
        return np.asarray(scores, dtype=np.float64)
    suspects = np.asarray(find_multilabel_issues_per_class(labels, p, n_jobs=1))
    return np.where(Y > 0.5, p, 1 - p) - suspects
