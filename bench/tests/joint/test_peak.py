"""Peak memory, set back from time to time."""

import subprocess
import sys

import pytest

from enstruct_bench.joint.peak import CLEAR

MEASURED = """
import numpy as np
from enstruct_bench.joint.peak import peak_mib, reset_peak

reset_peak()
before = peak_mib()
block = np.ones(2**24)  # 128 MiB
with_block = peak_mib() - before
del block
reset_peak()
print(with_block, peak_mib() - before)
"""


@pytest.mark.skipif(not CLEAR.is_file(), reason="only Linux sets its high-water mark back")
def test_the_peak_is_that_since_it_was_set_back():
    """In a process of its own, where no memory that was freed before is used again."""
    done = subprocess.run([sys.executable, "-c", MEASURED], check=True, capture_output=True, text=True)
    with_block, without = map(float, done.stdout.split())
    assert with_block > 100
    assert without < 60
