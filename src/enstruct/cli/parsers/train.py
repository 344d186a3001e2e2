"""Train a classifier on a file or a named data set and save it.

Ctrl-C leaves the checkpoint of the last finished epoch in OUT.checkpoint; --resume goes on from there and
ends at the same model as an uninterrupted run. With --auto MINUTES methods are tried and nets averaged within that time, and what
does best on held-out rows is saved (:class:`enstruct.AutoMultiLabelClassifier`). Missing cells take the mean of all rows of the
file: rows that training holds out later are among them.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    shared.add_data(p)
    p.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    p.add_argument("--resume", type=bool, nargs="?", const=True, default=False, help="go on from OUT.checkpoint")
    p.add_argument("--seed", type=shared.Seed, default=0)
    p.add_argument("--tuned", type=Path, default=None, help="settings of the method, as `enstruct-bench tune --json` wrote them")
    p.add_argument("--auto", type=float, default=None, help="minutes to choose and average in; --model.method is left aside")
    shared.add_model(p, skip={"random_state"})
    return p
