"""The program ``enstruct-bench``: exit codes and signals are those of :mod:`enstruct.cli.main`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from enstruct.cli.main import main as program


def main(arguments: Sequence[str] | None = None) -> int:
    """One command; returns the exit code."""
    return program(arguments, "enstruct_bench.cli.commands")


if __name__ == "__main__":
    sys.exit(main())
