"""What ``enstruct-bench compare`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.compare`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.cli.filled import filled
from enstruct_bench.comparison.compare import Compare


def run(options: Namespace) -> None:
    filled(Compare, options).run()
