"""Both programs as one: tests of ``enstruct-bench`` make their data and models by commands of ``enstruct``."""

from collections.abc import Callable, Sequence

from enstruct.cli import commands as core
from enstruct.cli.main import main as program
from enstruct_bench.cli import commands


def prepared(arguments: list[str]) -> Callable[[], int]:
    """What :func:`enstruct.cli.main.main` asks of a module of commands."""
    return (commands if arguments and arguments[0] in commands.NAMES else core).prepared(arguments)


def main(arguments: Sequence[str]) -> int:
    return program(arguments, "bench.tests.either")
