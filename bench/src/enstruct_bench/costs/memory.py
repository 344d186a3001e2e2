"""Peak memory of fitting 4,000 labels x 5,000 sparse features x 15,000 rows: `python -m enstruct_bench.costs.memory [decision]`.

One epoch is enough: what a fit holds does not grow with the epochs. The bar is 2 GiB.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct_bench.comparison.sparse_topics import sparse_topics

BAR_GIB = 2.0


def peak_kib() -> float:
    """This program's own peak. Linux hands ru_maxrss on from the process that started it, so its VmHWM is read instead."""
    status = Path("/proc/self/status")
    if status.is_file():
        return float(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(decision: str = "expected-f1") -> None:
    data = sparse_topics(15_000, 5_000, 4_000)
    begin = time.perf_counter()
    NetworkClassifier(max_epochs=1, decision=decision, random_state=0).fit(data.X, data.Y)
    peak = peak_kib() / 2**20
    print(f"peak {peak:.2f} GiB (bar {BAR_GIB:.0f}), {time.perf_counter() - begin:.0f} s, decision {decision}")
    sys.exit(peak > BAR_GIB)


if __name__ == "__main__":
    main(*sys.argv[1:])
