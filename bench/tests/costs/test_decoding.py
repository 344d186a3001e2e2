"""The benchmark compares two ways to the same sets."""

import numpy as np

from enstruct_bench.costs import decoding


def test_both_ways_choose_the_same_sets(monkeypatch):
    monkeypatch.setattr(decoding, "ROWS", 40)
    for labels, cardinality in ((14, 4.2), (300, 12.0)):
        p = decoding.marginals(labels, cardinality, np.random.default_rng(0))
        chunks = decoding.weighted_samples(p[:20], np.random.default_rng(1))
        assert np.array_equal(decoding.least_risk(chunks).toarray(), decoding.least_risk_by_the_formula(chunks))
        assert np.array_equal(decoding.decode(p).toarray(), decoding.by_the_formula(p))
