"""Both programs as one: tests of ``enstruct-bench`` make their data and models by commands of ``enstruct``."""

from collections.abc import Sequence

from enstruct.cli.main import main as program
from enstruct_bench.cli.commands import run_either


def run(arguments: list[str]) -> int:
    """What :func:`enstruct.cli.main.main` asks of a module of commands."""
    return run_either(arguments) if arguments[:1] not in (["run"], ["list"], ["report"], ["costs"]) else bench(arguments)


def bench(arguments: list[str]) -> int:
    from enstruct_bench.cli.commands import run as run_bench

    return run_bench(arguments)


def main(arguments: Sequence[str]) -> int:
    return program(arguments, "bench.tests.either")
