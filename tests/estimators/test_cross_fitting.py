"""Folds that are fitted side by side are those that are fitted one after another."""

import time
from dataclasses import dataclass, field

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from enstruct import JointMultiLabelClassifier
from enstruct.estimators import cross_fitting
from enstruct.estimators.cross_fitting import cross_fit
from enstruct.estimators.training_table import Table


@pytest.mark.usefixtures("quick_joints")  # the energy is fitted by this process alone
@pytest.mark.parametrize(("base", "folds"), [("extra-trees", 4), (LogisticRegression(), 3)])
def test_two_workers_give_what_one_gives(base, folds, blocks):
    """Two folds are left to them once one has shown what a fold takes, and of trees another what to choose."""
    X, Y = blocks.X[:60], blocks.Y[:60]
    one = JointMultiLabelClassifier(base, folds=folds, random_state=0).fit(X, Y)
    with joblib.parallel_config("loky", n_jobs=2):
        two = JointMultiLabelClassifier(base, folds=folds, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(two.fitted_on_.logits, one.fitted_on_.logits)
    np.testing.assert_array_equal(two.predict_proba(blocks.X[120:150]), one.predict_proba(blocks.X[120:150]))
    assert [len(fitted.models) for fitted in two.base_] == [len(fitted.models) for fitted in one.base_]


@dataclass
class Slow:
    """A base whose fits take as long as they take: so many seconds a row."""

    seconds_a_row: float
    heeds: bool = False
    name: str = "slow"
    refits: bool = False
    chooses: bool = False
    rows: list = field(default_factory=list)

    def fit(self, train, left_out, seed, deadline, like=None):
        self.rows.append(len(train))
        time.sleep(self.seconds_a_row * len(train))

    def marginals(self, model, X):
        return np.full((len(X), 3), 0.5)


@pytest.mark.parametrize(
    ("base", "last", "rows", "ends"),
    [
        (Slow(1e-2), False, [10], False),  # the folds would take 8 s
        (Slow(1e-6), False, [10, 160, 160, 160, 160, 160], True),
        (Slow(1e-4), True, [160] * 5, True),  # the last resort is tried on nothing
        (Slow(1e-2, heeds=True), False, [160], False),  # its first fold ends in time, or says that others would not
    ],
    ids=["slow", "fast", "last", "heeds"],
)
def test_what_heeds_no_deadline_is_tried_on_a_part_of_many_rows(base, last, rows, ends, monkeypatch):
    monkeypatch.setattr(cross_fitting, "MANY_ROWS", 200)
    rng = np.random.default_rng(0)
    table = Table(rng.random((200, 2)), (rng.random((200, 3)) > 0.5).astype(np.float32))
    folds = [np.arange(k, 200, 5) for k in range(5)]
    fitted = cross_fit(base, table, folds, 0, time.monotonic() + 1.5, last)
    assert base.rows == rows
    assert (fitted is not None) is ends


def test_few_rows_are_tried_on_nothing():
    base = Slow(1e-6)
    table = Table(np.zeros((200, 2)), np.zeros((200, 3), np.float32))
    cross_fit(base, table, [np.arange(k, 200, 5) for k in range(5)], 0, time.monotonic() + 60, last=False)
    assert base.rows == [160] * 5
