"""Compare methods on one tagged set: same sentences, same words, same tags, same decisions; with intervals.

Methods that begin with cross-entropy all start from the tagger of the row "cross-entropy" of their seed, and go on for --epochs
at most in each stage. With --json, finished cells are kept, and running the command again goes on.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct.cli.parsers.tags import add_tagged


def add_options(p: Parser) -> None:
    add_tagged(p)
    p.add_argument("--methods", type=shared.joined, default="cross-entropy,crf,seal-nce", help="names joined by commas")
    p.add_argument("--seeds", type=int, default=3, help="number of seeds, 0 .. N-1")
    p.add_argument("--reference", type=str, default=None, help="method the differences are to (default: the first)")
    p.add_argument("--split_seed", type=shared.Seed, default=0, help="of the 60/20/20 split, for sets without parts")
    p.add_argument("--epochs", type=int, default=10, help="at most, of each stage after cross-entropy")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished cells in it are not run again")
    shared.add_model(p, {"method", "random_state"}, "tags")
