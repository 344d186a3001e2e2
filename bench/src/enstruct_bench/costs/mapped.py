"""What a fit takes of rows that stay in their file, of as many as are asked for: seconds and memory beside the file's own pages.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.mapped [--rows 10000,100000,1000000] [--out results/benchmark-mapped.json]

Generated rows of 100 of 2,000 features, and 28 labels that depend on them; one pass of cross-entropy, hold-out, decision rules
and saving included, each in a process of its own. Memory is what the process has beyond the file that is mapped, which the
system may take back at any time, at its most (Linux's RssAnon, looked at five times a second). Rows are written to a temporary
folder.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from enstruct import EnergyMultiLabelClassifier
from enstruct.data.on_disk import Writer, read_on_disk
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct_bench.comparison.provenance import present_commit

FEATURES, ENTRIES, LABELS, BLOCK = 2000, 100, 28, 10_000
LOOK = 0.2
"""Seconds between two looks at the memory."""


def write_rows(folder: Path, rows: int) -> float:
    """MiB of a folder of arrays."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(FEATURES, LABELS)).astype(np.float32)
    with Writer(folder, sparse_rows=True) as writer:
        for begin in range(0, rows, BLOCK):
            n = min(BLOCK, rows - begin)
            columns = np.sort(rng.integers(0, FEATURES, (n, ENTRIES), dtype=np.int32), axis=1)
            values, begins = np.ones(n * ENTRIES, np.float32), np.arange(0, n * ENTRIES + 1, ENTRIES)
            X = sparse.csr_matrix((values, columns.ravel(), begins), shape=(n, FEATURES))
            X.sum_duplicates()
            scores = X @ weights
            writer.add(X, sparse.csr_matrix(scores > np.quantile(scores, 0.9)))
        writer.finish(FEATURES, map(str, range(LABELS)))
    return sum(file.stat().st_size for file in folder.iterdir()) / 2**20


def fitted(folder: Path) -> tuple[float, float]:
    """Seconds, and MiB beyond the file, of a fit in this process."""
    most = [0]
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK):
            lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
            most[0] = max(most[0], *(int(line.split()[1]) for line in lines if line.startswith("RssAnon")))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    begin = time.perf_counter()
    data = read_on_disk(folder)
    model = EnergyMultiLabelClassifier("cross-entropy", hidden=100, batch_size=256, max_epochs=1, random_state=0)
    model.fit(data.X, data.Y).save(folder / "model")
    seconds = time.perf_counter() - begin
    ended.set()
    watcher.join()
    return seconds, most[0] / 2**10


def measured(rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        size = write_rows(Path(place) / "rows", rows)
        command = [sys.executable, "-W", "ignore", "-m", "enstruct_bench.costs.mapped", "--one", f"{place}/rows"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return {"rows": rows, "file_mib": size, "seconds": float(said[0]), "mib": float(said[1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="10000,100000,1000000")
    parser.add_argument("--one", type=Path, default=None, help="fit on this folder, and print what that took")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-mapped.json"))
    options = parser.parse_args()
    if options.one is not None:
        print(*fitted(options.one))
        return
    rows = [measured(int(number)) for number in options.rows.split(",")]
    write_json(options.out, {"rows": rows, "environment": environment(), "commit": present_commit()})
    for row in rows:
        print("{rows} rows, a file of {file_mib:.0f} MiB: {seconds:.1f} s, {mib:.0f} MiB beside it".format(**row))


if __name__ == "__main__":
    main()
