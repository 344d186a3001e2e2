"""How much sooner a comparison of eight fits ends with two workers, whole commands with one thread each.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.workers [--data yeast] [--out results/benchmark-workers.json]

On an idle machine of two cores or more. Both commands make the same cells, which is checked.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from enstruct.environment import environment
from enstruct.files import write_json
from enstruct_bench.comparison.provenance import present_commit

METHOD, FITS = "seal-nce", 8


def measured(data: str, more: tuple[str, ...] = (), fits: int = FITS) -> dict[str, Any]:
    seconds, scores = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            file = Path(folder) / f"{workers}.json"
            options = ["--methods", METHOD, "--seeds", str(fits), "--workers", str(workers), "--json", str(file), *more]
            began = time.perf_counter()
            subprocess.run([sys.executable, "-m", "enstruct_bench.cli.main", "compare", data, *options], check=True)
            seconds[workers] = time.perf_counter() - began
            runs = json.loads(file.read_text(encoding="utf-8"))["runs"]
            scores[workers] = {run["seed"]: run["score"] for run in runs}
    if scores[1] != scores[2]:
        raise SystemExit("Two workers have made other cells than one.")
    return {"data": data, "method": METHOD, "fits": fits, "one": seconds[1], "two": seconds[2]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="yeast")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-workers.json"))
    options = parser.parse_args()
    row = measured(options.data)
    write_json(options.out, {"rows": [row], "environment": environment(), "commit": present_commit()})
    print(f"{row['one']:.1f} s with one worker, {row['two']:.1f} s with two: {row['one'] / row['two']:.2f} times as fast")


if __name__ == "__main__":
    main()
