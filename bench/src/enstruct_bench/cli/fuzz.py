"""What ``enstruct-bench fuzz`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.fuzz`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.campaigns import command as campaigns


def run(options: Namespace) -> None:
    if campaigns.fuzz(options.what, options.count, options.seed, options.first, options.workers, options.json):
        raise SystemExit(1)
