"""Comparisons of segmenters: scores are those of whole test images at their own size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from enstruct.data.image_folders import PictureParts, load_picture_parts, near_duplicate_pictures
from enstruct.errors import DataError, unknown_name
from enstruct.estimators import EnergySegmenter
from enstruct.metrics.base import Counts, ratio
from enstruct.metrics.masks import MASK_METRICS
from enstruct.tasks import MASKS
from enstruct_bench.comparison.comparison import COUNTED, Comparison, Parameters
from enstruct_bench.comparison.fingerprint import fingerprint

if TYPE_CHECKING:
    from enstruct_bench.comparison.compare import Compare


PROTOCOLS: dict[str, Parameters] = {"dvn": {"crop": 24}, "whole": {"crop": None}}
"""Of the horses: DVN's (random 24 x 24 crops in training, 36 averaged ones at test); whole images, as the implicit paper."""


@dataclass(frozen=True)
class ComparedPictures(PictureParts):
    """``duplicates``: names of the test images that have a near-duplicate among the training or validation images."""

    duplicates: tuple[str, ...] = ()

    @classmethod
    def of(cls, parts: PictureParts) -> ComparedPictures:
        pairs = near_duplicate_pictures(parts)
        names = {pair["second"] for pair in pairs if pair["also in"] == "test" and pair["in"] != "test"}
        return cls(parts.train, parts.validation, parts.test, tuple(sorted(names)))


class MaskComparison(Comparison):
    task = MASKS
    rules = ("greedy", "chosen")
    columns: ClassVar[Mapping[str, str]] = {
        "method": "method",
        "greedy": "{} greedy",
        "chosen": "{} chosen rule",
        "rules": "rule",
        "without": "chosen, without near-duplicates",
        "pooled": "chosen, pooled IoU",
        "difference": "Δ chosen [95%]",
        **COUNTED,
    }
    differences: ClassVar[Mapping[str, str]] = {"difference": "chosen"}
    shares = ("pooled", "without")
    names: ClassVar[Mapping[str, str]] = {"iou": "IoU", "pooled-iou": "pooled IoU"}

    def read(self, options: Compare) -> Sequence[ComparedPictures]:
        return [ComparedPictures.of(load_picture_parts(options.data, options.split_seed))]

    def setting(self, options: Compare, parts: ComparedPictures, model: Parameters) -> Parameters:
        arrays = (array for part in (parts.train, parts.validation, parts.test) for array in (*part.images, *part.truth()))
        return {"duplicates": list(parts.duplicates), "content": fingerprint(*arrays)}

    def models(self, options: Compare, methods: Sequence[str], model: Parameters) -> tuple[Parameters, Mapping[str, Parameters]]:
        if options.protocol is not None:
            if options.protocol not in PROTOCOLS:
                raise unknown_name("protocol", options.protocol, PROTOCOLS)
            model = {**model, **PROTOCOLS[options.protocol]}
        return super().models(options, methods, model)

    def contents(self, parts: PictureParts) -> list[tuple[Any, Any]]:
        return [(part.images, part.truth()) for part in (parts.train, parts.validation, parts.test)]

    def check_parts(self, parts: PictureParts, model: Parameters) -> None:
        """DataError for test masks with a value that no other mask has."""
        if model.get("classes") is not None or model.get("binarise") is not None:
            return
        known = {int(v) for part in (parts.train, parts.validation) for mask in part.truth() for v in np.unique(mask)}
        for name, mask in zip(parts.test.names, parts.test.truth(), strict=True):
            new = {int(v) for v in np.unique(mask)} - known - {model.get("ignore")}
            if new:
                raise DataError(
                    f"The test mask {name} holds {sorted(new)}, which no training or validation mask has: pass ignore=."
                )

    def counts(self, estimator: EnergySegmenter, truth: Any, answer: Any, metric: str) -> Counts:
        """Image by image, since sizes may differ."""
        n, counts, masks = len(estimator.classes_), MASK_METRICS[metric].counts, estimator.masks_
        pairs = zip(truth, answer, strict=True)
        return Counts.joined([counts(masks.encode([true]), masks.numbers(chosen)[None], n) for true, chosen in pairs])

    def figures(
        self,
        estimator: EnergySegmenter,
        parts: ComparedPictures,
        answers: Mapping[str, Any],
        counts: Mapping[str, Counts],
        metric: str,
    ) -> Parameters:
        new = np.array([name not in parts.duplicates for name in parts.test.names])
        return {
            "threshold": estimator.threshold_,
            "pooled": ratio(self.counts(estimator, parts.test.truth(), answers["chosen"], "pooled-iou")),
            "without": ratio(counts["chosen"].take(new)) if new.any() else None,
        }

    def foot(self, setting: Parameters) -> str:
        duplicates = ", ".join(setting["duplicates"]) or "none"
        return f"Near-duplicates of training or validation images among the test images: {duplicates}."


MASK_COMPARISON = MaskComparison()
