"""Masks: train, predict, evaluate, duplicates, picture.

DATA is a named set (weizmann32) or a folder with ``images`` and ``masks``, files that go by the same names; or with the folders
train, val and test of such.
"""

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
from enstruct.cli.outputs import add_overwrite, check_figures, check_free
from enstruct.cli.parser import Parser
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
from enstruct.mask_metrics import MASK_METRICS, class_iou
from enstruct.plots.masks import segmentation_picture
from enstruct.tag_metrics import ratio

NOT_ON_THE_COMMAND_LINE = {"encoder", "energy_network", "verbose", "callbacks"}


def add_pictures(p: Parser) -> None:
    p.add_argument("data", type=str, help="DATA: weizmann32, or a folder with images and masks (or with parts of such)")


def add_segmenter(p: Parser, skip: set[str]) -> None:
    """Every parameter of the segmenter as ``--model.NAME``."""
    p.add_class_arguments(EnergySegmenter, "model", skip=NOT_ON_THE_COMMAND_LINE | skip)


def parser() -> Parser:
    return Parser(description=__doc__)


def add_actions(p: Parser) -> None:
    actions = p.add_subcommands(dest="action", required=True)
    train = shared.new_parser("Train a segmenter and save it. Ctrl-C leaves OUT.checkpoint; --resume goes on from there.")
    add_pictures(train)
    train.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    train.add_argument("--resume", type=bool, nargs="?", const=True, default=False, help="go on from OUT.checkpoint")
    train.add_argument("--seed", type=shared.Seed, default=0)
    add_segmenter(train, skip={"random_state"})
    actions.add_subcommand("train", train)
    predict = shared.new_parser("Write a mask for every image of a folder, as PNG in the values of the training masks.")
    _add_model(predict)
    predict.add_argument("--out", type=Path, required=True, help="folder to write the masks to")
    add_overwrite(predict)
    predict.add_argument("--decision", type=str, default=None, help="greedy or threshold instead of the chosen rule")
    predict.add_argument("--probabilities", type=bool, nargs="?", const=True, default=False, help="also NAME.npy, every class")
    actions.add_subcommand("predict", predict)
    evaluate = shared.new_parser("Score a saved segmenter on images with masks, under every decision rule.")
    _add_model(evaluate)
    evaluate.add_argument("--json", type=shared.json_file, default=None, help="also write the figures to this file")
    add_overwrite(evaluate)
    actions.add_subcommand("evaluate", evaluate)
    duplicates = shared.new_parser("Pairs of images that are nearly the same, across the parts of a set and within them.")
    add_pictures(duplicates)
    duplicates.add_argument("--similarity", type=float, default=0.99, help="correlation of small grey versions")
    duplicates.add_argument("--split_seed", type=shared.Seed, default=0, help="of the 60/20/20 split, for sets without parts")
    actions.add_subcommand("duplicates", duplicates)
    picture = shared.new_parser("Draw images with their true and predicted masks, and the energies of both.")
    _add_model(picture)
    picture.add_argument(
        "--images", type=list[int], default=[], help="numbers of the images to draw, as [0,5] (default: the first four)"
    )
    picture.add_argument("--out", type=Path, default=Path("pictures/masks.png"), help="the picture")
    add_overwrite(picture)
    actions.add_subcommand("picture", picture)


def _add_model(p: Parser) -> None:
    p.add_argument("model", type=Path, help="folder written by `enstruct masks train`")
    add_pictures(p)
    p.add_argument("--part", type=str, default="test", help="of a set with parts")


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
