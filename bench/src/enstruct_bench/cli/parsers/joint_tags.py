"""What a tagger's distribution over tag sequences is good for: tags told of some tokens, and wrong tags found.

Part told: every tagger answers by its chain with 0 to 75% of each sentence's tokens told, the same to all; entities and tokens
that are not told count, and whole sentences. Part wrong: errors are planted in 5% of the spans, and taggers by folds rank all
tags (cleanlab beside them where it is installed). Each part has a file of its own (--json), in which finished rows
are not run again.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("data", type=str, help="DATA: conll2003, twitter_pos, cora, or a file")
    p.add_argument("--methods", type=joined, default="cross-entropy,crf", help="names joined by commas")
    p.add_argument("--seeds", type=int, default=1, help="number of seeds, 0 .. N-1")
    p.add_argument("--part", type=str, default="told", help="told or wrong")
    p.add_argument("--epochs", type=int, default=20, help="at most")
    p.add_argument("--embeddings", type=Path, default=None, help="word vectors as text")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished rows in it are not run again")
    return p
