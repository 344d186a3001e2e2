"""Segmenters: compare methods on one set of masks."""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers import masks_compare


def parser() -> Parser:
    return Parser(description=__doc__)


def add_actions(p: Parser) -> None:
    actions = p.add_subcommands(dest="action", required=True)
    compare = shared.new_parser(masks_compare.__doc__ or "")
    masks_compare.add_options(compare)
    actions.add_subcommand("compare", compare)
