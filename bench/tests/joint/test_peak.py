"""Peak memory, set back from time to time."""

import numpy as np
import pytest

from enstruct_bench.joint.peak import CLEAR, peak_mib, reset_peak


@pytest.mark.skipif(not CLEAR.is_file(), reason="only Linux sets its high-water mark back")
def test_the_peak_is_that_since_it_was_set_back():
    reset_peak()
    before = peak_mib()
    block = np.ones(2**24)  # 128 MiB
    assert peak_mib() - before > 100
    del block
    reset_peak()
    assert peak_mib() - before < 60
