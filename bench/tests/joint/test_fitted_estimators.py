import numpy as np

from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.table import Table


def test_cross_fitted_marginals_and_folds_are_of_the_rows_as_they_came():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 3)) < 0.5).astype(np.float32)
    X = np.concatenate([4.0 * Y, rng.normal(size=(60, 2))], axis=1)  # the labels can be read off, row by row
    X[-1], Y[-1] = X[0], Y[0]
    fit = Estimators(Table(X, Y, np.arange(40, 60), X[:5], Y[:5]), 0).fit("binary-relevance")
    assert ((fit.cross_fitted > 0.5) == (Y > 0.5)).all()
    assert sorted(np.concatenate(fit.folds())) == list(range(60))
    (together,) = [fold for fold in fit.folds() if 0 in fold]
    assert 59 in together
