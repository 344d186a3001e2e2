"""Label rows in a browser, with a model at your side: what you tell of a row moves all its other answers at once.

    enstruct label MODEL DATA --out answers.jsonl          of label sets (by the method joint), tags or masks
    enstruct label --new DATA --labels a,b,c --out answers.jsonl          from nothing: a model is fitted as answers come in

Serves a page on this machine alone and prints its address, which holds a random token; Ctrl-C ends it. Every answer is written to
OUT and on the disk before the page says so; the same command goes on where it ended. `enstruct answers OUT --out FILE` makes data
of the answers, for `enstruct train`. Label sets that DATA give in part count as told. Needs `pip install 'enstruct[workbench]'`.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("model", type=Path | None, nargs="?", default=None, help="folder written by `enstruct train`")
    p.add_argument("data", type=str | None, nargs="?", default=None, help="DATA: what the model reads")
    p.add_argument("--new", type=str | None, default=None, help="DATA of which nothing is learnt yet: .csv, .jsonl and others")
    p.add_argument("--out", type=Path, required=True, help="file of answers (.jsonl) to write, or to go on with")
    p.add_argument(
        "--labels",
        type=str | None,
        default=None,
        help="with --new: names of the labels joined by commas, columns of DATA or not; else as for `enstruct predict`",
    )
    p.add_argument("--drop", type=shared.NAMES, default=[], help="tables, ARFF: columns to leave out, as [a,b]")
    shared.add_text(p, " (default: as in training)")
    shared.add_moved_encoder(p)
    p.add_argument(
        "--pictures", type=str | None, default=None, help="tables: the column with the path of each row's picture, shown"
    )
    p.add_argument(
        "--order",
        type=str,
        default="teaching",
        help="teaching: first the rows whose answers teach most; random; given: as they stand",
    )
    p.add_argument("--rules", type=Path | None, default=None, help="with --new: rules that bind every answer, as for train")
    p.add_argument("--minutes", type=float, default=0.5, help="with --new: that each fit may look for a base (default: 0.5)")
    shared.add_page(p)
    p.add_argument("--seed", type=shared.Seed, default=0)
    return p
