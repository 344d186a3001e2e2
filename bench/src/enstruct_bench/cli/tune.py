"""What ``enstruct-bench tune`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.tune`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.cli.filled import filled
from enstruct_bench.tuning.tune import Tune


def run(options: Namespace) -> None:
    filled(Tune, options).run()
