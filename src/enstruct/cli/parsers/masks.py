"""The options of train, predict and evaluate for masks."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli.options import add_switch
from enstruct.cli.parser import Parser

LEARNT = "The folders train and val of a set that has them are trained on and validated by."
WRITTEN = "Writes a PNG for every image of a folder, in the values of the training masks."
RULES = "greedy or threshold"
DRAWN = "masks.png, images with their true and predicted masks and the energies of both,"


def add_pictures(p: Parser) -> None:
    p.add_argument(
        "data",
        type=str,
        help="DATA: weizmann32; a folder with images and masks, files that go by the same names; or one with the folders train, "
        "val and test of such",
    )


def add_data(p: Parser) -> None:
    add_pictures(p)
    p.add_argument("--part", type=str, default="test", help="of a set with parts")


def add_train(p: Parser) -> None:
    add_pictures(p)
    p.add_argument(
        "--rules",
        type=Path,
        default=None,
        help="a text file of rules that bind every mask, a line each: connected 1; size 1: 5% to 40%; within 1: rows 10% to 90%",
    )


def add_predict(p: Parser) -> None:
    p.add_argument("--out", type=Path, required=True, help="folder to write the masks to")
    add_switch(p, "probabilities", "also NAME.npy, every class")
    p.add_argument(
        "--known",
        type=Path,
        default=None,
        help="folder of pixels that are known already: for any of the images a PNG of its name and size, in the greys of the "
        "training masks where something is marked, transparent or of the grey 127 elsewhere. They come back as marked",
    )


def add_evaluate(p: Parser) -> None:
    p.add_argument(
        "--images", type=list[int], default=[], help="numbers of the images to draw, as [0,5] (default: the first four)"
    )
