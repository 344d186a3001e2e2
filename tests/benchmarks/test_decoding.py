"""The benchmark compares two ways to the same sets."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


def test_both_ways_choose_the_same_sets(monkeypatch):
    import decoding

    monkeypatch.setattr(decoding, "ROWS", 40)
    for labels, cardinality in ((14, 4.2), (300, 12.0)):
        p = decoding.marginals(labels, cardinality, np.random.default_rng(0))
        assert np.array_equal(decoding.decode(p).toarray(), decoding.by_the_formula(p))
