"""What ``enstruct masks`` does; its options are declared in :mod:`enstruct.cli.parsers.masks`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import Namespace
from PIL import Image
from rich.console import Console
from rich.table import Table

from enstruct.cli import options as shared
from enstruct.cli.inputs import same_source
from enstruct.cli.outputs import check_figures, check_free
from enstruct.cli.tables import say
from enstruct.cli.training import resumable, say_what_is_idle
from enstruct.data.image_folders import (
    NAMED,
    VALIDATION,
    has_parts,
    load_picture_parts,
    load_pictures,
    near_duplicate_pictures,
    read_pictures,
)
from enstruct.errors import ConfigError, DataError
from enstruct.estimators import EnergySegmenter
from enstruct.files import replace_file, write_json
from enstruct.metrics.base import ratio
from enstruct.metrics.masks import MASK_METRICS, class_iou
from enstruct.plots.masks import segmentation_picture


def run(options: Namespace) -> None:
    actions: dict[str, Any] = {
        "train": _train,
        "predict": _predict,
        "evaluate": _evaluate,
        "duplicates": _duplicates,
        "picture": _picture,
    }
    actions[options.action](options[options.action])


def _train(options: Namespace) -> None:
    train = load_pictures(options.data, "train")
    held: tuple[Any, ...] = ()
    if has_parts(options.data):
        validation = load_pictures(options.data, "validation")
        held = (validation.images, validation.truth())
    with resumable(options.out, options.resume, EnergySegmenter) as callbacks:
        segmenter = EnergySegmenter(**shared.model_parameters(options), random_state=options.seed, callbacks=callbacks)
        say_what_is_idle(segmenter)
        segmenter.fit(train.images, train.truth(), *held)
        segmenter.save(options.out, {"source": options.data})
    scores = ", ".join(f"{name} {100 * score:.2f}" for name, score in segmenter.decision_scores_.items())
    say(
        f"{len(train)} images, {len(segmenter.classes_)} classes; {segmenter.n_iter_} epochs; decision {segmenter.decision_}; "
        f"validation {segmenter.metric} {scores}; saved to {options.out}",
    )


def _predict(options: Namespace) -> None:
    segmenter = EnergySegmenter.load(options.model)
    if options.data in NAMED or not _is_plain(options.data):
        data = load_pictures(options.data, options.part)
    else:
        data = read_pictures(options.data, labelled=False)
    if segmenter.classes_.min() < 0 or segmenter.classes_.max() > 255:
        raise DataError(f"The classes {segmenter.classes_.tolist()} do not fit a PNG of 8 bits; use predict from Python.")
    sources = {path.resolve() for path in data.files}
    if options.out.resolve() in {path.parent for path in sources}:
        raise ConfigError(
            f"--out {options.out} would write masks over the images or masks themselves, or beside them: choose another folder."
        )
    endings = (".png", ".npy") if options.probabilities else (".png",)
    check_free((options.out / f"{name}{ending}" for name in data.names for ending in endings), options.overwrite)
    for name, mask in zip(data.names, segmenter.predict(data.images, decision=options.decision), strict=True):
        picture = Image.fromarray(mask.astype(np.uint8))
        replace_file(options.out / f"{name}.png", lambda part, picture=picture: picture.save(part, format="PNG"))  # type: ignore[misc]
    if options.probabilities:
        for name, p in zip(data.names, segmenter.predict_proba(data.images), strict=True):
            replace_file(options.out / f"{name}.npy", lambda part, p=p: _write_array(part, p))  # type: ignore[misc]
    say(f"{len(data)} masks in {options.out}")


TRAINED_ON = ("train", *VALIDATION)
"""Parts that training has looked at."""


def _is_plain(folder: str) -> bool:
    """A folder of images, or one with a folder images: not one with parts."""
    return not any((Path(folder) / part / "images").is_dir() for part in ("train", "test"))


def _write_array(path: Path, values: Any) -> None:
    with open(path, "wb") as file:  # a name would get .npy appended
        np.save(file, values)


def _evaluate(options: Namespace) -> None:
    if options.json is not None:
        check_figures(options.json, options.overwrite, {"images": int, "rules": dict})
    segmenter, data = EnergySegmenter.load(options.model), load_pictures(options.data, options.part)
    truth, n = [segmenter.masks_.encode([mask]) for mask in data.truth()], len(segmenter.classes_)
    table, figures = Table("rule", *MASK_METRICS, "pooled IoU by class"), {}
    for rule in segmenter.rules_:
        predicted = [segmenter.masks_.numbers(mask)[None] for mask in segmenter.predict(data.images, decision=rule)]
        pairs = list(zip(truth, predicted, strict=True))
        scores = {name: ratio(np.concatenate([metric(t, p, n) for t, p in pairs])) for name, metric in MASK_METRICS.items()}
        flat = [np.concatenate([grid.ravel() for grid in grids])[None, None] for grids in (truth, predicted)]
        by_class = class_iou(flat[0], flat[1], n)
        figures[rule] = {**scores, "pooled IoU by class": [None if np.isnan(v) else float(v) for v in by_class]}
        in_force = " (in force)" if rule == segmenter.decision_ else ""
        shown = ", ".join(f"{100 * v:.2f}" for v in by_class)
        table.add_row(rule + in_force, *(f"{100 * score:.2f}" for score in scores.values()), shown)
    console = Console()
    console.print(table)
    say(f"{len(data)} images")
    if same_source(segmenter.notes_, options.data) and not (has_parts(options.data) and options.part not in TRAINED_ON):
        say("these are the images it was trained on, those held out among them: this is no test")
    if options.json is not None:
        write_json(options.json, {"images": len(data), "rules": figures})


def _duplicates(options: Namespace) -> None:
    parts = load_picture_parts(options.data, options.split_seed)
    pairs = near_duplicate_pictures(parts, options.similarity)
    console = Console()
    if pairs:
        table = Table(*pairs[0])
        for pair in pairs:
            table.add_row(*map(str, pair.values()))
        console.print(table)
    across = [pair for pair in pairs if pair["in"] != pair["also in"]]
    say(f"{len(pairs)} pairs, {len(across)} of them across parts: what is tested on, training has seen")


def _picture(options: Namespace) -> None:
    check_free([options.out], options.overwrite)
    segmenter, data = EnergySegmenter.load(options.model), load_pictures(options.data, options.part)
    segmentation_picture(segmenter, data, options.images or list(range(min(4, len(data)))), options.out)
    say(f"picture in {options.out}")
