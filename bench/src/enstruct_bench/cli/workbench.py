"""What ``enstruct-bench workbench`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.workbench`."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace

from enstruct_bench.workbench.command import measure


def run(options: Namespace) -> None:
    out = options.json or Path("docs/tour" if options.what == "tour" else f"results/workbench-{options.what}.json")
    settings = ("seeds", "base", "minutes", "answers", "kills", "labels", "rows")
    measure(options.what, options.data, **{name: options[name] for name in settings}, out=out)
