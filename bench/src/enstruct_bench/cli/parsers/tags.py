"""Taggers: compare methods on one set; learn references from little supervision."""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers import tags_compare, tags_light

ACTIONS = {"compare": tags_compare, "light": tags_light}


def parser() -> Parser:
    return Parser(description=__doc__)


def add_actions(p: Parser) -> None:
    actions = p.add_subcommands(dest="action", required=True)
    for name, module in ACTIONS.items():
        command = shared.new_parser(module.__doc__ or "")
        module.add_options(command)
        actions.add_subcommand(name, command)
