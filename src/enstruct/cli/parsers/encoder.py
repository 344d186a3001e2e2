"""Pretrained encoders of texts: fetch one from Hugging Face's hub, or convert one whose weights are pickled.

`enstruct train --encoder` reads what lies on this machine alone: these put it there. Needs enstruct[text].
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    return Parser(description=__doc__)


def add_actions(p: Parser) -> None:
    actions = p.add_subcommands(dest="action", required=True)
    fetched = shared.new_parser(
        "Fetch an encoder into the hub's cache, with a bar, and check its weights by the hub's checksums. Then NAME is what "
        "`enstruct train --encoder` takes."
    )
    fetched.add_argument("name", type=str, help="NAME on the hub, as sentence-transformers/all-MiniLM-L6-v2")
    fetched.add_argument("--revision", type=str | None, default=None, help="a branch, tag or commit of it (default: the latest)")
    fetched.add_argument(
        "--pickled", action="store_true", help="of a repository whose weights are pickled alone: fetch these and convert them"
    )
    actions.add_subcommand("fetch", fetched)
    converted = shared.new_parser(
        "Write model.safetensors beside the pickled weights of an encoder's folder, which are read without running code."
    )
    converted.add_argument("folder", type=Path, help="FOLDER with config.json, weights and a tokenizer")
    actions.add_subcommand("convert", converted)
