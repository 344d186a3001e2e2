"""Scaled features are scikit-learn's to the last digit, on rows of single precision."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct.estimators.features import Features
from enstruct.export.features import ScaledFeatures, draw_rows


@pytest.mark.parametrize("kind", ["standard", "far from zero", "largest", "tfidf", "columns"])
def test_scaled_features(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(1e4 if kind == "far from zero" else 3, 2, (200, 12))
    if kind in ("largest", "tfidf", "columns"):
        X = sparse.csr_matrix(rng.poisson(0.4, X.shape) * (np.arange(12) != 4), dtype=float)
    features = Features.fit(X, {"tfidf": "tfidf"}.get(kind, "auto"), choose=kind == "columns")
    rows = X[:50].astype(np.float32)
    expected = features(rows)
    found = ScaledFeatures(features)(torch.from_numpy(rows.toarray() if sparse.issparse(rows) else rows)).numpy()
    expected = np.asarray(expected.toarray() if sparse.issparse(expected) else expected)
    if kind == "tfidf":
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)
    drawn = draw_rows(features, 12, 40, rng, missing=True)
    assert drawn.shape == (40, 12)
    assert np.isnan(drawn).any()
