"""What ``enstruct-bench costs`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.costs`."""

from __future__ import annotations

import os
import subprocess
import sys

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli.tables import say
from enstruct.environment import environment
from enstruct.errors import DataError
from enstruct_bench.reports.costs import TITLES, elsewhere, lines, measured_in

MEASURED = {
    "training_step": "benchmark-step.json",
    "growth": "benchmark-growth.json",
    "inference_pass": "benchmark-inference.json",
    "bilevel_step": "benchmark-bilevel.json",
    "methods": "benchmark-methods.json",
    "decoding": "benchmark-decoding.json",
    "tagging": "benchmark-tagging.json",
    "conditionals": "benchmark-conditionals.json",
    "peers": "benchmark-peers.json",
}
"""A module of :mod:`enstruct_bench.costs` -> the file of its figures."""


def run(options: Namespace) -> None:
    for module, name in MEASURED.items() if options.measure else ():
        say(f"measuring {module}")
        command = [sys.executable, "-m", f"enstruct_bench.costs.{module}", "--out", str(options.results / name)]
        done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)  # a process of its own each
        if done.returncode != 0:
            raise DataError(f"{module} could not be measured (exit status {done.returncode}); see what it printed.")
    here = measured_in({"environment": environment()})
    for path in elsewhere(options.results, here):
        say(f"{path.name} is of another version or machine: --measure measures it here")
    table = Table(*TITLES)
    for line in lines(options.results, here):
        table.add_row(*map(str, line))
    Console(width=150).print(table)
