"""Find the given labels that are probably wrong, and go through them in a browser, or list them in a file.

Every label of every row of DATA gets its quality, the probability that its value is right, by models that have not seen the row
and by how many labels of DATA are seen to be noted wrongly. Without --out a page shows them, the least likely first, each with
the reason in words: accept what the model holds for right, keep what is given, or correct any other label of the row. Every
answer is written to --log at once, and when the page is closed by Ctrl-C the corrected data to --corrected. The same command goes
on where it ended.

With --out FILE.csv they are listed there instead, with the columns row (from 0, the first below the header), label, value (1 or 0
as it is given) and quality. Unknown labels (empty cells, ? in ARFF, NaN) are not listed. Of label sets only.
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
    p.add_argument("--out", type=Path | None, default=None, help="CSV file to list them in, in place of the page")
    p.add_argument(
        "--top",
        type=int | None,
        default=None,
        help="the N least likely alone (default: all; on the page those below a half, 2000 at most)",
    )
    shared.add_base(p, "auto", "auto, or a method: what gives the marginals on which an energy learns how labels hang together")
    p.add_argument("--log", type=Path | None, default=None, help="file of the answers (default: DATA.review.jsonl)")
    p.add_argument("--corrected", type=Path | None, default=None, help="corrected data to write (default: DATA.corrected.csv)")
    shared.add_page(p)
    p.add_argument("--seed", type=shared.Seed, default=0)
    add_overwrite(p)
    return p
