"""One cell of a comparison of segmenters, and their table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from enstruct.data.image_folders import PictureParts, near_duplicate_pictures
from enstruct.errors import DataError
from enstruct.estimators import EnergySegmenter
from enstruct.metrics.base import Counts, ratio
from enstruct.metrics.masks import MASK_METRICS, get_mask_metric
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.ratios import ratio_kind, stacked
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.summary import WHOLE, formatted

PROTOCOLS: dict[str, dict[str, Any]] = {"dvn": {"crop": 24}, "whole": {"crop": None}}
"""Of the horses: DVN's (random 24 x 24 crops in training, 36 averaged ones at test); whole images, as the implicit paper."""
PERCENTS = ("pooled", "without")
COLUMNS = {
    "method": "method",
    "greedy": "{} greedy",
    "chosen": "{} chosen rule",
    "rules": "rule",
    "without": "chosen, without near-duplicates",
    "pooled": "chosen, pooled IoU",
    "difference": "Δ chosen [95%]",
    "epochs": "epochs",
    "predictor_updates": "F updates",
    "energy_updates": "E updates",
    "fit_seconds": "fit s",
    "predict_seconds": "predict s",
}


MASK_CELLS = ratio_kind(MASK_METRICS, PERCENTS)


def leaked(parts: PictureParts) -> list[str]:
    """Names of the test images that have a near-duplicate among the training or validation images."""
    pairs = near_duplicate_pictures(parts)
    names = {pair["second"] for pair in pairs if pair["also in"] == "test" and pair["in"] != "test"}
    return sorted(names)


def run_mask_cell(
    method: str,
    parts: PictureParts,
    seed: int,
    model: dict[str, Any],
    callbacks: Sequence[Callback] = (),
    duplicates: Sequence[str] = (),
) -> Cell:
    """Train, choose epochs and the decision on the validation images, score on the test ones at their own size.

    ``duplicates``: test images that a second score leaves out.
    """
    _check_test_values(parts, model)
    given = {**model, "method": method, "random_state": seed, "callbacks": list(callbacks)}
    segmenter = EnergySegmenter().set_params(**given)
    begin = time.perf_counter()
    validation = parts.validation
    segmenter.fit(parts.train.images, parts.train.truth(), X_val=validation.images, y_val=validation.truth())
    fit_seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    chosen = segmenter.predict(parts.test.images)
    predict_seconds = time.perf_counter() - begin
    greedy = segmenter.predict(parts.test.images, decision="greedy")
    counts = {
        "greedy": image_counts(segmenter, parts, greedy, segmenter.metric),
        "chosen": image_counts(segmenter, parts, chosen, segmenter.metric),
        "pooled": image_counts(segmenter, parts, chosen, "pooled-iou"),
    }
    new = np.array([name not in duplicates for name in parts.test.names])
    record = {
        "method": method,
        "seed": seed,
        "metric": segmenter.metric,
        "decision": segmenter.decision_,
        "threshold": segmenter.threshold_,
        "score": {rule: ratio(counts[rule]) for rule in ("greedy", "chosen")},
        "validation": segmenter.decision_scores_,
        "pooled": ratio(counts["pooled"]),
        "without": ratio(counts["chosen"].take(new)) if new.any() else None,
        "epochs": segmenter.n_iter_,
        "predictor_updates": segmenter.updates_["predictor"],
        "energy_updates": segmenter.updates_["energy"],
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
    }
    return Cell(record, {name: stacked(each) for name, each in counts.items()})


def _check_test_values(parts: PictureParts, model: dict[str, Any]) -> None:
    """DataError before any training for test masks with a value that no other mask has."""
    if model.get("classes") is not None or model.get("binarise") is not None:
        return
    known = {int(v) for part in (parts.train, parts.validation) for mask in part.truth() for v in np.unique(mask)}
    for name, mask in zip(parts.test.names, parts.test.truth(), strict=True):
        new = {int(v) for v in np.unique(mask)} - known - {model.get("ignore")}
        if new:
            raise DataError(f"The test mask {name} holds {sorted(new)}, which no training or validation mask has: pass ignore=.")


def image_counts(segmenter: EnergySegmenter, parts: PictureParts, predicted: Any, metric: str) -> Counts:
    """Of the test images; one by one, since sizes may differ."""
    n, counts = len(segmenter.classes_), get_mask_metric(metric).counts
    pairs = zip(parts.test.truth(), predicted, strict=True)
    return Counts.joined([counts(segmenter.masks_.encode([t]), segmenter.masks_.numbers(p)[None], n) for t, p in pairs])


def mask_titles(metric: str) -> list[str]:
    return [title.format({"iou": "IoU", "pooled-iou": "pooled IoU"}.get(metric, metric)) for title in COLUMNS.values()]


def formatted_mask_row(row: dict[str, Any]) -> list[str]:
    """The cells of a printed row, in the order of ``COLUMNS``."""
    return formatted(row, COLUMNS, whole=("epochs", *WHOLE, "fit_seconds"))
