"""Few labelled references and many unlabelled ones, with a reward from written rules (the citation task).

DATA is cora, or a file of inline-tagged references of at least 250; --others adds unlabelled references (marks in them are
ignored). Prints token accuracy on 200 held-out references for each number of labelled ones, over draws, beside the published
figures. With --json, finished cells are kept, and running the command again goes on.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("data", type=str, help="DATA: cora, or a file of inline-tagged references")
    p.add_argument("--others", type=list[str], default=[], help="files of further references, taken without their tags")
    p.add_argument(
        "--methods", type=joined, default="cross-entropy,rules,ge,r-spen,sg-spen,dvn,implicit-cd", help="joined by commas"
    )
    p.add_argument("--labelled", type=list[int], default=[5, 10, 50], help="numbers of labelled references")
    p.add_argument("--draws", type=int, default=5, help="of the labelled references, each with its own seed")
    p.add_argument("--epochs", type=int, default=10, help="at most, of each stage over the unlabelled references")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished cells in it are not run again")
    shared.add_model(p, {"method", "random_state", "metric", "decision", "scheme", "classes"}, "tags")
    return p
