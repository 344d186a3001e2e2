"""The memory bar: fitting 4,000 labels x 5,000 sparse features x 15,000 rows stays under 2 GiB."""

import os
import subprocess
import sys

SCRIPT = "enstruct_bench.costs.memory"


def test_a_large_fit_stays_under_the_bar():
    """In a process of its own, since what is measured is the process's peak."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", SCRIPT, "expected-f1"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("peak")
