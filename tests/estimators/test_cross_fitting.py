"""Folds that are fitted side by side are those that are fitted one after another."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from enstruct import JointMultiLabelClassifier


@pytest.mark.usefixtures("quick_joints")  # the energy is fitted by this process alone
@pytest.mark.parametrize(("base", "folds"), [("cross-entropy", 3), ("extra-trees", 4), (LogisticRegression(), 3)])
def test_two_workers_give_what_one_gives(base, folds, blocks):
    """Two folds are left to them once one has shown what a fold takes, and of trees another what to choose."""
    X, Y = blocks.X[:60], blocks.Y[:60]
    one = JointMultiLabelClassifier(base, folds=folds, random_state=0).fit(X, Y)
    with joblib.parallel_config("loky", n_jobs=2):
        two = JointMultiLabelClassifier(base, folds=folds, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(two.fitted_on_.logits, one.fitted_on_.logits)
    np.testing.assert_array_equal(two.predict_proba(blocks.X[120:150]), one.predict_proba(blocks.X[120:150]))
    assert [len(fitted.models) for fitted in two.base_] == [len(fitted.models) for fitted in one.base_]
