"""What ``enstruct-bench holes`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.holes`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.cli.filled import filled
from enstruct_bench.holes.command import Holes


def run(options: Namespace) -> None:
    filled(Holes, options).run()
