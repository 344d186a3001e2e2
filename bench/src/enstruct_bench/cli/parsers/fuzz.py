"""Malformed input by the thousand: whether each is refused in a sentence, or what is made of it is sound.

    readers      files of every kind that is read, spoilt by their grammar and by their bytes
    sizes        large files, and small ones that unpack to large: what reading takes of memory (minutes a file)
    models       saved models whose headers, tensors or files somebody has changed
    parameters   odd values of parameters, data, rules and options of commands
    results      results files, checkpoints and whatever else the programs write for themselves

A defect is an exception that is none of the library's (or, of parameters, a ValueError or TypeError as scikit-learn's contract
has them), a message of more than 300 characters, 20 seconds without an end, more memory than 2 GiB, or what is no data taken for
some. Exit code 1 where there is one; --first NUMBER --count 1 tries it again. See docs/promise.md.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("what", type=str, help="readers, sizes, models, parameters or results")
    p.add_argument("--count", type=int, default=10_000)
    p.add_argument("--seed", type=shared.Seed, default=0)
    p.add_argument("--first", type=int, default=0, help="number of the first trial")
    p.add_argument("--workers", type=int, default=1, help="processes side by side")
    p.add_argument("--json", type=Path | None, default=None, help="file of the table")
    return p
