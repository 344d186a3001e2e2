"""The parser of the command line: jsonargparse's, with errors of two lines in place of all options and an error below them."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from typing import Any, NoReturn

from jsonargparse import ArgumentParser

NEAR = 0.75
"""How much alike an option must be that was perhaps meant."""


class Parser(ArgumentParser):
    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """What is wrong, an option that was perhaps meant, and where all of them are listed; exit code 2."""
        if not self.exit_on_error:  # jsonargparse tries one reading of a value after another
            super().error(message, ex)
        parser: argparse.ArgumentParser = getattr(ex, "subcommand_parser", None) or self
        message = " ".join(message.split())
        if found := re.fullmatch(r"the following arguments are required: (.+)", message):
            names = [_as_typed(name, parser) for name in found[1].split(", ")]
            parser = names[0][1]
            message = "these are required: " + ", ".join(name for name, _ in names)
        elif found := re.fullmatch(r'expected "(\S+)" to be one of (\{.+\}), but it was not provided\.', message):
            name, parser = _as_typed(found[1], parser)
            message = f"{name} is one of {', '.join(_commands(parser)) or found[2]}"
        elif found := re.fullmatch(r"unrecognized arguments: (\S+).*", message):
            message = f"{message}." + _perhaps(found[1].partition("=")[0], parser)
        message = re.sub(r'Parser key "([\w.]+)":\s+', r"--\1: ", message)
        sys.stderr.write(f"error: {message}\nall options: {parser.prog.replace(' [options]', '')} --help\n")
        sys.exit(2)


def _perhaps(typed: str, parser: argparse.ArgumentParser) -> str:
    names = [option.removeprefix("--") for option in _options(parser) if option.startswith("--")]
    near = difflib.get_close_matches(typed.lstrip("-"), names, n=1, cutoff=NEAR)
    return f" Did you mean --{near[0]}?" if near else ""


def _as_typed(name: str, parser: argparse.ArgumentParser) -> tuple[str, argparse.ArgumentParser]:
    """``train.out`` as it stands on the command line, ``--out``, and the parser of that command."""
    parts = name.split(".")
    while parts and (below := _commands(parser).get(parts[0])) is not None:
        parser, parts = below, parts[1:]
    rest = ".".join(parts)
    return (f"--{rest}" if f"--{rest}" in _options(parser) else rest.upper()), parser


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]


def _commands(parser: argparse.ArgumentParser) -> dict[str, Any]:
    return {
        name: below
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, below in getattr(action, "_name_parser_map", {}).items()
    }
