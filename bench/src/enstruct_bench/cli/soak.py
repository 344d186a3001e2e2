"""What ``enstruct-bench soak`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.soak`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.campaigns import command as campaigns


def run(options: Namespace) -> None:
    if campaigns.soak(options.predictions, options.fits, options.processes, options.json):
        raise SystemExit(1)
