"""One table of what everything costs, from the files of the benchmarks: `python benchmarks/table.py [results]`.

`make bench` measures them all anew on this machine, one after another, and ends with this. Files of other versions or machines
are named and left out: what stands in the table was measured in one place.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from enstruct.comparison.environment import environment
from enstruct.reports.costs import TITLES, elsewhere, lines, measured_in

RESULTS = Path(__file__).parents[1] / "results"


def main(folder: Path = RESULTS) -> None:
    console = Console(width=150)
    here = measured_in({"environment": environment()})
    for path in elsewhere(folder, here):
        console.print(f"{path.name} is of another version or machine: `make bench` measures it here")
    table = Table(*TITLES)
    for line in lines(folder, here):
        table.add_row(*line)
    console.print(table)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
