"""Compare methods on one set of masks: same images, same split, same decisions; with intervals.

With --json, finished cells are kept, and running the command again goes on.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct.cli.parsers.masks import add_pictures


def add_options(p: Parser) -> None:
    add_pictures(p)
    p.add_argument("--methods", type=shared.joined, default="cross-entropy,seal-regression-s", help="names joined by commas")
    p.add_argument("--seeds", type=int, default=3, help="number of seeds, 0 .. N-1")
    p.add_argument("--reference", type=str, default=None, help="method the differences are to (default: the first)")
    p.add_argument("--split_seed", type=shared.Seed, default=0, help="of the 60/20/20 split, for sets without parts")
    p.add_argument("--protocol", type=str, default=None, help="dvn (24x24 crops) or whole; default: as --model.crop says")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished cells in it are not run again")
    shared.add_model(p, {"method", "random_state"}, "masks")
