"""Masks: train, predict, evaluate, duplicates, picture.

DATA is a named set (weizmann32) or a folder with ``images`` and ``masks``, files that go by the same names; or with the folders
train, val and test of such.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser
from enstruct.cli.signatures import class_of

NOT_ON_THE_COMMAND_LINE = {"encoder", "energy_network", "verbose", "callbacks"}


def add_pictures(p: Parser) -> None:
    p.add_argument("data", type=str, help="DATA: weizmann32, or a folder with images and masks (or with parts of such)")


def add_segmenter(p: Parser, skip: set[str]) -> None:
    """Every parameter of the segmenter as ``--model.NAME``."""
    segmenter = class_of("enstruct", "estimators.segmenter", "EnergySegmenter")
    p.add_class_arguments(segmenter, "model", skip=NOT_ON_THE_COMMAND_LINE | skip)


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
