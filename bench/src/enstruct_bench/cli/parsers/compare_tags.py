"""Compare methods on one tagged set: same sentences, same words, same tags, same decisions; with intervals.

Methods that begin with cross-entropy all start from the tagger of the row "cross-entropy" of their seed, and go on for --epochs
at most in each stage. With --json, finished cells are kept, and running the command again goes on.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.compare import add_comparison


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("data", type=str, help="DATA: conll2003, twitter_pos, cora, or a file")
    add_comparison(p, "tags", "cross-entropy,crf,seal-nce")
    p.add_argument("--columns", type=list[int], default=[], help="further CoNLL columns as features, as [1,2]")
    p.add_argument("--epochs", type=int, default=10, help="at most, of each stage after cross-entropy")
    return p
