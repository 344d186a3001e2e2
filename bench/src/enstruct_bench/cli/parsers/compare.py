"""Compare methods on one data set: same split, same budget, same stopping rule, same decision rules.

DATA are label sets (a catalogue name or a file), tagged sentences (conll2003, twitter_pos, cora, or a file such as .conll or
.tagged) or masks (weizmann32, or a folder); --task labels, tags or masks says it where the name does not. These are the options
for label sets; `enstruct-bench compare --task tags --help` and `--task masks --help` show the others.

Prints per method the example-F1 (with --model.metric hamming: the Hamming accuracy) at 0.5, at the tuned threshold and under
the decision rule chosen on validation rows, and paired differences to the first method (or --reference) with 95% intervals.
The method "auto" chooses and averages on these validation rows; "auto-folds" is given training and validation rows together, as
`enstruct train --auto` is; "auto:cross-entropy" and "auto-folds:cross-entropy" average that method alone.
With --split K-fold, or K-split, each fold or draw stands for a seed. With --json, every finished cell is kept, and running the
command again goes
on where it stopped. A run that diverges is said to, and the others go on.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    shared.add_data(p)
    add_comparison(p, "labels", "binary-relevance,extra-trees,cross-entropy,seal-nce")
    p.add_argument(
        "--split",
        type=str,
        default="auto",
        help="auto (60/20/20, or three parts as published), published (train/test), K-fold, K-split",
    )
    p.add_argument("--tuned", type=Path, default=None, help="settings of each method, as `enstruct-bench tune --json` wrote them")
    return p


def add_comparison(p: Parser, task: str, methods: str) -> None:
    """What comparisons of all tasks have; ``methods``: those compared where none are named."""

    def this_task(name: str) -> str:
        if name != task:
            raise ArgumentTypeError(f"DATA is read as {task}: say --task {name} on the command line")
        return name

    p.add_argument("--task", type=shared.Reader("labels, tags or masks", this_task), default=task, help="what DATA are")
    p.add_argument("--methods", type=joined, default=methods, help="names joined by commas")
    p.add_argument("--seeds", type=int, default=3, help="number of seeds, 0 .. N-1")
    p.add_argument("--reference", type=str, default=None, help="method the differences are to (default: the first)")
    p.add_argument("--split_seed", type=shared.Seed, default=0, help="of the 60/20/20 split, which all seeds share")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished cells in it are not run again")
    p.add_argument(
        "--workers", type=int, default=1, help="processes that fit side by side, each with as many threads as this one"
    )
    shared.add_model(p, {"method", "random_state"}, task)
