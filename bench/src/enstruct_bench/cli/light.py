"""What ``enstruct-bench light`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.light`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.cli.filled import filled
from enstruct_bench.comparison.few_labels import Light


def run(options: Namespace) -> None:
    filled(Light, options).run()
