"""The options of train, predict and evaluate for label sets."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.options import add_switch
from enstruct.cli.parser import Parser

LEARNT = "Missing cells take the mean of all rows of the file: rows that training holds out later are among them."
WRITTEN = """Writes one line a row, labels separated by tabs; to a .jsonl file, objects with labels and probabilities. Labels
that are empty or hold tabs, line breaks or characters that the output's encoding lacks are refused in lines:
a .jsonl file holds any."""
RULES = "one that the model has fitted"
DRAWN = "measurement_matrix.png, which labels the energy keeps apart,"


def add_data(p: Parser) -> None:
    shared.add_data(p, remembered=" (default: as in training)")


def add_train(p: Parser) -> None:
    shared.add_data(p)
    p.add_argument(
        "--auto",
        type=float,
        default=None,
        help="minutes to try methods and average nets in; what does best on rows held out is saved, whatever --model.method",
    )


def add_predict(p: Parser) -> None:
    p.add_argument("--out", type=Path, default=None, help="file to write (default: standard output)")
    p.add_argument("--top_k", type=int, default=None, help="the k most probable labels instead")
    add_switch(p, "unlabelled", "the file has no labels")


def add_evaluate(p: Parser) -> None:
    """Nothing of its own."""
