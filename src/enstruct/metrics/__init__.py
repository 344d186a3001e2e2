"""Metrics of label sets, tag sequences and masks: counts by row, and ratios of their sums (:mod:`enstruct.metrics.base`)."""

from typing import Any

from enstruct.metrics.base import Counts as Counts
from enstruct.metrics.base import Metric as Metric
from enstruct.metrics.base import ratio as ratio
from enstruct.metrics.labels import METRICS as METRICS
from enstruct.metrics.labels import average_precision as average_precision
from enstruct.metrics.labels import calibration_error as calibration_error
from enstruct.metrics.labels import example_f1 as example_f1
from enstruct.metrics.labels import get_metric as get_metric
from enstruct.metrics.labels import hamming_loss as hamming_loss
from enstruct.metrics.labels import log_loss as log_loss
from enstruct.metrics.labels import macro_f1 as macro_f1
from enstruct.metrics.labels import micro_f1 as micro_f1
from enstruct.metrics.labels import rowwise_f1 as rowwise_f1
from enstruct.metrics.labels import subset_accuracy as subset_accuracy
from enstruct.metrics.masks import MASK_METRICS as MASK_METRICS
from enstruct.metrics.tags import TAG_METRICS as TAG_METRICS

example_f1_scorer: Any
micro_f1_scorer: Any
macro_f1_scorer: Any
_SCORED = {"example_f1_scorer": example_f1, "micro_f1_scorer": micro_f1, "macro_f1_scorer": macro_f1}


def __getattr__(name: str) -> object:
    """The scorers, for scikit-learn's searches, made when they are first asked for. AttributeError for other names."""
    if name not in _SCORED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.metrics import make_scorer

    globals()[name] = scorer = make_scorer(_SCORED[name])
    return scorer
