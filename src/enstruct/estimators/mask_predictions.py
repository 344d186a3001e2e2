"""The predicting half of the segmenter: probabilities, masks, energies, saving."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.data.images import Images, Masks
from enstruct.data.rows import Rows
from enstruct.decisions.masks import MASK_RULES, at_threshold, greedy
from enstruct.errors import ConfigError, DataError
from enstruct.estimators import persistence
from enstruct.estimators.base import EnergyEstimator
from enstruct.estimators.image_format import Grid, ImageFormat, MaskFormat, as_images, as_masks, resize
from enstruct.estimators.saved_header import OfSegmenter
from enstruct.inference import Solution, Solver
from enstruct.mask_metrics import get_mask_metric
from enstruct.methods import Method
from enstruct.spaces import MaskSpace
from enstruct.tag_metrics import ratio
from enstruct.training.batches import in_order, to_batch
from enstruct.training.predict import predict_by_inference, probabilities
from enstruct.validation import one_of

PLACES = 33
"""Places of training crops along a side at most: every crop is a row, and rows take memory."""
SHARES = (0.0, 0.25, 0.375, 0.5, 0.75, 1.0)
"""Where crops lie in answers, as shares of the room there is: DVN's offsets {0, 2, 3, 4, 6, 8} of 24 x 24 in 32 x 32."""


class MaskPredictions(EnergyEstimator):
    """What a fitted segmenter answers."""

    _header = OfSegmenter

    images_: ImageFormat
    masks_: MaskFormat
    classes_: NDArray[Any]
    threshold_: float | None
    crop: int | None
    metric: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True  # images, and a mask for each
        tags.target_tags.required, tags.target_tags.single_output, tags.target_tags.multi_output = True, False, True
        return tags

    def _output_space(self, method: Method, n_outputs: int, weight: torch.Tensor | None = None) -> MaskSpace:
        return MaskSpace(n_outputs, method.cost)

    def predict_proba(self, images: Any, *, refine: int | None = None) -> Any:
        """(images, height, width, classes), the classes as in ``classes_``; a list where the images differ in size.

        ``refine`` first moves the network's answer by so many steps of inference on the learned energy. ConfigError where
        there is none.
        """
        self._check_fitted()
        return _stacked(self._by_image(as_images(images), refine))

    def predict(self, images: Any, *, decision: str | None = None, refine: int | None = None) -> Any:
        """Masks (images, height, width) in the values of training; a list where the images differ in size.

        ``decision``: "greedy" or "threshold" instead of the one in force; ``refine``: see :meth:`predict_proba`.
        """
        self._check_fitted()
        rule = self.decision_ if decision is None else decision
        one_of("decision", MASK_RULES)("decision", rule)
        return _stacked([self.masks_.decode(self._decide(p[None], rule)[0]) for p in self._by_image(as_images(images), refine)])

    def _decide(self, p: NDArray[Any], rule: str) -> NDArray[np.int64]:
        if rule == "greedy":
            return greedy(p)
        if self.threshold_ is None:
            raise ConfigError("decision='threshold' needs two classes.")
        return at_threshold(p, self.threshold_)

    def _by_image(self, images: list[Grid], refine: int | None) -> list[NDArray[np.float32]]:
        """Probabilities (height, width, classes) of each, images of one size together."""
        out: list[Any] = [None] * len(images)
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, image in enumerate(images):
            groups[image.shape[:2] if self.images_.size is None else self.images_.size].append(i)
        for members in groups.values():
            found = self._answers(self._inputs([images[i] for i in members]), refine)
            for i, p in zip(members, found, strict=True):
                out[i] = resize(p, images[i].shape[:2])
        return out

    def _inputs(self, images: list[Grid]) -> Images:
        whole = Images.whole(self.images_.encode(images))
        return whole if self.crop is None else whole.cropped(*crops(whole.size, self.crop, SHARES))

    def _answers(self, X: Images, refine: int | None = None) -> NDArray[np.float32]:
        """(images, height, width, classes)."""
        how = self._method().inference if refine is None else self._refinement(refine)
        if how is None:
            return probabilities(self.predictor_, X, self._device(), self._space().relax)
        tilted = refine is not None and self._method().relative
        return predict_by_inference(self.predictor_, self._energy_network(), self._space(), how, X, self._device(), tilted=tilted)

    def energy(self, images: Any, masks: Any) -> NDArray[np.float64]:
        """(images,) E(x, y) of given masks; lower is better. With ``crop``, its mean over the image's crops.

        ConfigError if there is no energy, DataError for values that are no classes.
        """
        self._check_fitted()
        energy, grids = self._energy_network().eval(), as_images(images)
        given = as_masks(masks, grids)
        out = []
        with torch.no_grad():
            for image, mask in zip(grids, given, strict=True):  # one by one: sizes may differ
                rows = self._rows_of([image], [mask], SHARES)
                parts = [to_batch(rows.take(index), self._device()) for index in in_order(rows.X)]
                values = [energy(energy.prepare(b.x, b.mask), b.y.unsqueeze(1)) for b in parts]  # type: ignore[operator]
                out.append(float(torch.cat(values).mean()))
        return np.array(out)

    def infer(self, images: Any, settings: Solver | None = None, **changes: Any) -> Solution:
        """Minimise the fitted energy for these images, whole and of one size, as one batch: marginals, energies, steps, status.

        For methods that answer by the predictor: what ``refine`` minimises, which adds minus the predictor's log-probability
        where the energy is relative to it, so that the energies are not those of :meth:`energy`. ``settings``: default
        :meth:`inference_settings`; ``changes`` are its fields. ConfigError if the method has no energy.
        """
        self._check_fitted()
        return self._minimised(Images.whole(self.images_.encode(as_images(images))), settings, changes)

    def score(self, images: Any, masks: Any) -> float:
        """``metric`` of :meth:`predict` at the masks' own size; ignored pixels do not count."""
        self._check_fitted()
        grids = as_images(images)
        truth, rows = as_masks(masks, grids), []
        for p, mask in zip(self._by_image(grids, None), truth, strict=True):
            number = self._decide(p[None], self.decision_)
            rows.append(get_mask_metric(self.metric)(self.masks_.encode([mask]), number, len(self.masks_.classes)))
        return ratio(np.concatenate(rows))

    def _rows_of(self, images: list[Grid], masks: list[Grid], shares: tuple[float, ...] | None) -> Rows:
        """Whole images, or with ``crop`` their crops at these shares of the room; ``None``: every crop there is."""
        pixels = self.images_.encode(images)
        numbers = self.masks_.encode(masks, pixels.shape[1:3])
        known = numbers >= 0
        X = Images.whole(pixels, known=None if known.all() else known)
        Y = Masks.whole(numbers, n_classes=len(self.masks_.classes))
        if self.crop is None:
            return Rows(X, Y)
        size, offsets = crops(X.size, self.crop, shares)
        return Rows(X.cropped(size, offsets), Y.cropped(size, offsets))

    # -- saving -----------------------------------------------------------------------------------

    def save(self, path: Path | str, notes: dict[str, Any] | None = None) -> None:
        """Write a model folder (see :mod:`enstruct.estimators.persistence`), whole or not at all.

        A custom ``encoder``, ``energy_network`` module or ``Method`` is code: the folder names it, and :meth:`load` is given it.
        """
        self._check_fitted()
        held = {
            "images": {"mean": self.images_.mean, "std": self.images_.std, "size": self.images_.size, "most": self.images_.most},
            "masks": {"classes": self.masks_.classes, "ignore": self.masks_.ignore, "binarise": self.masks_.binarise},
            "threshold": self.threshold_,
        }
        self._save(path, held, notes)

    def _check_parameters(self) -> None:
        self._check_choices()

    def _restore(self, header: dict[str, Any], weights: persistence.Weights) -> None:
        images, masks = header["images"], header["masks"]
        mean, std = (np.array(images[name], dtype=np.float32) for name in ("mean", "std"))
        if len(mean) != len(std):
            raise ValueError(f"{len(mean)} means and {len(std)} deviations of channels")
        self.images_ = ImageFormat(mean, std, None if images["size"] is None else tuple(images["size"]), images["most"])
        self.masks_ = MaskFormat(tuple(masks["classes"]), masks["ignore"], masks["binarise"])
        if len(set(self.masks_.classes) - {self.masks_.ignore}) < len(self.masks_.classes):
            raise ValueError("its classes are not different values")
        self.classes_ = np.array(self.masks_.classes)
        self.threshold_ = header["threshold"]
        self._load_record(header)
        self._load_networks(weights, lambda: self._blank_networks(self._method()))

    @property
    def rules_(self) -> tuple[str, ...]:
        """The decisions that apply to this segmenter."""
        return MASK_RULES if self.threshold_ is not None else ("greedy",)


def crops(whole: tuple[int, ...], crop: int, shares: tuple[float, ...] | None) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """(size, offsets) of crops in an image; ``shares`` of the room, or None for all, at most ``PLACES`` a side.

    DataError if crops do not cover the image.
    """
    room = [length - crop for length in whole]
    if min(room) < 0:
        raise DataError(f"An image of {whole[0]}x{whole[1]} is smaller than the crops of {crop}x{crop} the model looks at.")
    if max(whole) > 5 * crop:
        raise DataError(f"An image of {whole[0]}x{whole[1]} is more than five times a crop of {crop}: make crop= larger.")
    every = [share / (PLACES - 1) for share in range(PLACES)]
    steps = [
        range(r + 1) if shares is None and r < PLACES else sorted({round(share * r) for share in shares or every}) for r in room
    ]
    return (crop, crop), [(top, left) for top in steps[0] for left in steps[1]]


def _stacked(grids: list[NDArray[Any]]) -> Any:
    return np.stack(grids) if len({grid.shape for grid in grids}) == 1 else grids
