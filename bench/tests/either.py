"""Both programs as one: tests of ``enstruct-bench`` make their data and models by commands of ``enstruct``."""

from collections.abc import Callable, Sequence

from enstruct.cli.main import main as program
from enstruct_bench.cli import commands


def prepared(arguments: list[str]) -> Callable[[], int]:
    """What :func:`enstruct.cli.main.main` asks of a module of commands."""
    only_here = arguments[:1] in (["run"], ["list"], ["report"], ["costs"])
    return (commands.prepared if only_here else commands.prepared_either)(arguments)


def main(arguments: Sequence[str]) -> int:
    return program(arguments, "bench.tests.either")
