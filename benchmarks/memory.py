"""Peak memory of fitting 4,000 labels x 5,000 sparse features x 15,000 rows: `python benchmarks/memory.py [decision]`.

One epoch is enough: what a fit holds does not grow with the epochs. The bar is 2 GiB.
"""

from __future__ import annotations

import resource
import sys
import time

from enstruct import EnergyMultiLabelClassifier
from enstruct.data.synthetic import sparse_topics

BAR_GIB = 2.0


def main(decision: str = "expected-f1") -> None:
    data = sparse_topics(15_000, 5_000, 4_000)
    begin = time.perf_counter()
    EnergyMultiLabelClassifier(max_iter=1, decision=decision, random_state=0).fit(data.X, data.Y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak {peak:.2f} GiB (bar {BAR_GIB:.0f}), {time.perf_counter() - begin:.0f} s, decision {decision}")
    sys.exit(peak > BAR_GIB)


if __name__ == "__main__":
    main(*sys.argv[1:])
