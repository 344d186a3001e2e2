"""Masks, as the commands read and write them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import Namespace
from numpy.typing import NDArray
from PIL import Image

from enstruct.cli.outputs import check_free
from enstruct.cli.tables import say
from enstruct.cli.task_files import Draw, TaskFiles, Training
from enstruct.data.catalogue import PICTURES
from enstruct.data.image_folders import UNMARKED, VALIDATION, Pictures, has_parts, load_pictures, read_pictures, read_scribbles
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.image_format import MaskFormat
from enstruct.files import replace_file
from enstruct.metrics import Counts, Metric
from enstruct.metrics.masks import class_iou
from enstruct.plots.masks import segmentation_picture
from enstruct.report.masks import masks_page
from enstruct.report.subject import Subject
from enstruct.rules.mask_text import read_mask_rules
from enstruct.rules.masks import MaskRules
from enstruct.tasks import MASKS

TRAINED_ON = ("train", *VALIDATION)
"""Parts that training has looked at."""


class MaskFiles(TaskFiles):
    """Data are :class:`Pictures`; metrics take class numbers, a grid (1, height, width) an image, as images differ in size."""

    task, outputs = MASKS, "classes"
    pictures = ("masks.png",)

    def training(self, options: Namespace) -> Training:
        train = load_pictures(options.data, "train")
        fit: dict[str, Any] = {"X": train.images, "y": train.truth()}
        if has_parts(options.data):
            validation = load_pictures(options.data, "validation")
            fit |= {"X_val": validation.images, "y_val": validation.truth()}
        rules = {} if options.rules is None else {"rules": _counted_rules(options, train)}
        return Training(fit, self.counts(train), {"source": options.data}, rules)

    def read(self, model: Any, options: Namespace, labelled: bool = True) -> Pictures:
        return load_pictures(options.data, options.part)

    def counts(self, data: Pictures) -> dict[str, int]:
        return {"images": len(data)}

    def was_trained_on(self, model: Any, options: Namespace) -> bool:
        return super().was_trained_on(model, options) and (options.part in TRAINED_ON or not has_parts(options.data))

    def read_unanswered(self, model: Any, options: Namespace) -> Pictures:
        """A folder of images alone too; with what is known of them."""
        data = self._unanswered(model, options)
        if options.known is None:
            return data
        if UNMARKED in model.masks_.classes:
            raise ConfigError(
                f"--known: grey {UNMARKED} marks nothing in files, and is a class of this model: tell pixels from Python, "
                "predict(images, known=), or number the classes anew."
            )
        return replace(data, known=read_scribbles(options.known, data))

    def _unanswered(self, model: Any, options: Namespace) -> Pictures:
        if options.data in PICTURES or any((Path(options.data) / part / "images").is_dir() for part in ("train", "test")):
            return self.read(model, options)
        return read_pictures(options.data, labelled=False)

    def check_out(self, options: Namespace) -> None:
        """Which files there will be is known once the images are read."""

    def write(self, model: Any, data: Pictures, options: Namespace) -> None:
        if model.classes_.min() < 0 or model.classes_.max() > 255:
            raise DataError(f"The classes {model.classes_.tolist()} do not fit a PNG of 8 bits; use predict from Python.")
        if options.out.resolve() in {path.resolve().parent for path in data.files}:
            raise ConfigError(
                f"--out {options.out} would write over the images or masks themselves, or beside them: choose another folder."
            )
        endings = (".png", ".npy") if options.probabilities else (".png",)
        check_free((options.out / f"{name}{ending}" for name in data.names for ending in endings), options.overwrite)
        known = None if data.known is None else _marks(model.masks_, data, options.known)
        for name, mask in zip(data.names, model.predict(data.images, decision=options.decision, known=known), strict=True):
            picture = Image.fromarray(mask.astype(np.uint8))
            replace_file(options.out / f"{name}.png", partial(picture.save, format="PNG"))
        if options.probabilities:
            for name, p in zip(data.names, model.predict_proba(data.images, known=known), strict=True):
                replace_file(options.out / f"{name}.npy", partial(np.save, arr=p))
        say(f"{len(data)} masks in {options.out}")

    def truth(self, model: Any, data: Pictures) -> Any:
        return [model.masks_.encode([mask], first=i) for i, mask in enumerate(data.truth())]

    def by_rule(self, model: Any, data: Pictures) -> Iterator[tuple[str, Any]]:
        for rule in model.rules_:
            yield rule, [model.masks_.numbers(mask)[None] for mask in model.predict(data.images, decision=rule)]

    def row_counts(self, model: Any, metric: Metric, truth: Any, predicted: Any) -> Counts:
        pairs, n_classes = zip(truth, predicted, strict=True), len(model.classes_)
        return Counts.joined([metric.counts(t, p, n_classes=n_classes) for t, p in pairs])

    def details(self, model: Any, truth: Any, predicted: Any) -> dict[str, list[float | None]]:
        flat = [np.concatenate([grid.ravel() for grid in grids])[None, None] for grids in (truth, predicted)]
        by_class = class_iou(flat[0], flat[1], len(model.classes_))
        return {"pooled IoU by class": [None if np.isnan(v) else float(v) for v in by_class]}

    def report(self, subject: Subject, data: Pictures, truth: Any, whole: Pictures) -> str:
        return masks_page(subject, data.images, truth, data.names)

    def draw(self, model: Any, data: Pictures, options: Namespace) -> dict[str, Draw]:
        chosen = options.images or list(range(min(4, len(data))))
        return {self.pictures[0]: partial(segmentation_picture, model, data, chosen)}


def _counted_rules(options: Namespace, train: Pictures) -> list[Any]:
    """Of a file, each printed with how many training masks break it."""
    rules, model = read_mask_rules(options.rules), options.model
    masks = MaskFormat.fit(train.truth(), model.classes, model.ignore, model.binarise)
    compiled = MaskRules.of(rules, masks.classes)
    if compiled is not None:
        compiled.check_possible(mask.shape for mask in train.truth())
        for words, broken, about in compiled.counts([masks.encode([mask])[0] for mask in train.truth()]):
            say(f"rule: {words} (broken in {broken} of the {about} masks that it is about)")
    return rules


def _marks(masks: MaskFormat, data: Pictures, folder: Path) -> list[NDArray[np.float64]]:
    """The classes that are marked in each image, NaN elsewhere. DataError, with the image's name, for a grey that is none."""
    marks = [masks.as_classes(grid) for grid in data.known or ()]
    for name, grid, classes in zip(data.names, data.known or (), marks, strict=True):
        if (odd := ~np.isnan(classes) & ~np.isin(classes, masks.classes)).any():
            row, column = np.argwhere(odd)[0]
            raise DataError(
                f"{folder / name}: the grey {grid[row, column]:g} at row {row}, column {column} is none of training's "
                f"({', '.join(map(str, masks.classes[:8]))}): leave what is not marked transparent, or grey {UNMARKED}."
            )
    return marks


FILES = MaskFiles()
