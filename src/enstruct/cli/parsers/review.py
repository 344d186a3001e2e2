"""List the given labels that are probably wrong: those least likely given the features and the row's other labels.

Every label of every row of DATA gets its quality, the probability of the value that it has, by models that have not seen the
row. Writes a CSV file, the least likely first, with the columns row (from 0, the first below the header), label, value (1 or 0 as
it is given) and quality. Unknown labels (empty cells, ? in ARFF, NaN) are not listed. Of label sets only.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    shared.add_data(p)
    shared.add_text(p)
    shared.add_encoder(p)
    p.add_argument("--out", type=Path, required=True, help="CSV file to write")
    p.add_argument("--top", type=int | None, default=None, help="the N least likely alone (default: all)")
    shared.add_base(p, "auto", "auto, or a method: what gives the marginals on which an energy learns how labels hang together")
    p.add_argument("--seed", type=shared.Seed, default=0)
    add_overwrite(p)
    return p
