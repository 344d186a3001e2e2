"""What told pixels are worth: simulated clicks until a mask has 90% IoU, beside GrabCut and random walker.

A click tells the true class in the middle of the largest error, to every side by its own answer; 20 at most. Needs OpenCV and
scikit-image (pip install './bench[clicks]'). With --json finished seeds are kept, and running the command again goes on.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("data", type=str, help="DATA: a named set of pictures")
    p.add_argument("--seeds", type=int, default=1, help="number of seeds, 0 .. N-1")
    p.add_argument(
        "--sides", type=joined, default="field,painted,grabcut,grabcut+box,grabcut+net,walker", help="and field-pl, field-gibbs"
    )
    p.add_argument("--size", type=int | None, default=None, help="that images are resized to for the network")
    p.add_argument("--epochs", type=int, default=60, help="at most")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished seeds in it are not run again")
    return p
