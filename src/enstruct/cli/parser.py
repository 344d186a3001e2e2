"""The parser of the command line: jsonargparse's, with errors of two lines in place of all options and an error below them."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import yaml
from jsonargparse import ActionConfigFile, ArgumentParser, Namespace, get_loader, set_loader

from enstruct.errors import MOST_CHARACTERS, shortened
from enstruct.estimators.renamed import COLUMNS, RENAMED

NEAR = 0.75
"""How much alike an option must be that was perhaps meant."""
DEEPEST = 20
"""Lists within lists in a value or a file of options; none has more than three."""
_read = get_loader("yaml")


def _load(text: str) -> Any:
    """A value, or a file of options. YAMLError for all that it cannot be: the parser says then which option it was given to."""
    within: list[str | None] = []  # anchors (&NAME) of what is not closed yet
    for event in yaml.parse(text, Loader=yaml.SafeLoader):  # which does not recurse, as building the lists does
        if isinstance(event, yaml.CollectionStartEvent):
            within.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            within.pop()
        if len(within) > DEEPEST or (isinstance(event, yaml.AliasEvent) and event.anchor in within):
            raise yaml.YAMLError(f"lists are nested more than {DEEPEST} deep")
    try:
        return _read(text)
    except ValueError as error:  # numbers of thousands of digits
        raise yaml.YAMLError(str(error)) from error


set_loader("yaml", _load, exceptions=(yaml.YAMLError,))


def read_options(path: Path) -> Any:
    """What is in a file of options, or, where it is no file, in what was given in its place: `{seed: 3}`.

    OSError, ValueError or YAMLError for what cannot be read.
    """
    return _load(str(path) if str(path).startswith("{") and not path.exists() else path.read_text(encoding="utf-8"))


class Parser(ArgumentParser):
    files: ClassVar[list[str]] = []
    """Of options, read by now: an error may be of what is in them."""
    like_this = ""
    """What the command needs beside --help to show the options of this parser."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)  # the beginning of an option may be that of another task's

    def parse_args(self, *args: Any, **kwargs: Any) -> Namespace:  # type: ignore[override]
        """As jsonargparse's. Of errors that are none of its own too two lines are left."""
        try:
            options = super().parse_args(*args, **kwargs)
        except (ValueError, OverflowError, RecursionError, OSError) as error:
            self.error(f"An option, or a file of options, cannot be read: {error}.")
        for name, value in options.items():
            if isinstance(value, int) and abs(value) > sys.maxsize:
                self.error(f"--{name}: a number of more than 64 bits.")
        return options

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """As argparse's; what is wrong with a file of options is said before any of them is taken."""
        if isinstance(action, ActionConfigFile) or action.metavar == "CONFIG":
            for name in arg_strings:
                self._check_file(Path(name), "" if isinstance(action, ActionConfigFile) else action.dest)
        return super()._get_values(action, arg_strings)

    def _check_file(self, path: Path, group: str) -> None:
        """Of options, all of them or those of a group as ``model``. Two lines and exit code 2 for one that cannot be taken."""
        try:
            content = read_options(path)
        except (OSError, ValueError, yaml.YAMLError) as error:
            self.error(f"{path} is no file of options that can be read: {error}.")
        self.files.append(str(path))
        self._check_options(content, group, path)

    def _check_options(self, content: Any, group: str, path: Path) -> None:
        if not isinstance(content, dict):
            what = f"{group} is" if group else "it is"
            self.error(f"{path} has to hold names and values, as `NAME: VALUE` in each line; {what} {content!r}.")
        known = {action.dest for action in self._actions if action.dest != "help"}
        for key, value in content.items():
            name = f"{group}.{key}" if group else str(key)
            is_group = any(other.startswith(f"{name}.") for other in known)
            if name not in known and not is_group:
                self.error(f"{path}: there is no option {name}.{_perhaps(name, self)}")
            if is_group and isinstance(value, str):
                self._check_file(path.parent / value, name)
            elif is_group:
                self._check_options(value, name, path)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """What is wrong, an option that was perhaps meant, and where all of them are listed; exit code 2."""
        if not self.exit_on_error:  # jsonargparse tries one reading of a value after another
            super().error(message, ex)
        parser: argparse.ArgumentParser = getattr(ex, "subcommand_parser", None) or self
        message = " ".join(message.split())
        if match := re.fullmatch(r"the following arguments are required: (.+)", message):
            names = [_as_typed(name, parser) for name in match[1].split(", ")]
            parser = names[0][1]
            message = "these are required: " + ", ".join(name for name, _ in names)
        elif match := re.fullmatch(r'expected "(\S+)" to be one of (\{.+\}), but it was not provided\.', message):
            name, parser = _as_typed(match[1], parser)
            message = f"{name} is one of {', '.join(_commands(parser)) or match[2]}"
        elif match := re.fullmatch(r"unrecognized arguments: (\S+).*", message):
            message = f"{message}." + _perhaps(match[1].partition("=")[0], parser)
        message = re.sub(r'Parser key "([\w.]+)":\s+', r"--\1: ", message)
        if unnamed := [name for name in self.files if name not in message]:
            message = f"in {', '.join(unnamed)} or on the command line: {message}"
        sys.stderr.write(f"error: {shortened(message, MOST_CHARACTERS)}\nall options: {_with_help(parser)}\n")
        sys.exit(2)


def _with_help(parser: argparse.ArgumentParser) -> str:
    return " ".join([parser.prog.replace(" [options]", ""), *filter(None, [getattr(parser, "like_this", "")]), "--help"])


def _perhaps(typed: str, parser: argparse.ArgumentParser) -> str:
    """The option that was meant: by the name that a former one has now, else the nearest."""
    group, _, former = typed.lstrip("-").partition(".")
    if group == "model" and (former in RENAMED or former in COLUMNS):
        now = f"model.{RENAMED[former]}" if former in RENAMED else f"method.{COLUMNS[former]}"
        return f" It is --{now} since 0.2."
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
