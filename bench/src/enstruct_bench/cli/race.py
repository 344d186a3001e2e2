"""What ``enstruct-bench race`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.race`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.campaigns import command as campaigns


def run(options: Namespace) -> None:
    if campaigns.race(options.count, options.seed, [name for name in options.kinds.split(",") if name], options.json):
        raise SystemExit(1)
