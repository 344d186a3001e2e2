"""Bases of one's own: whose labels they take, what is refused of their probabilities, how they come back."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from enstruct import JointMultiLabelClassifier
from enstruct.errors import ConfigError, DataError, ModelFileError
from enstruct.estimators.classifier_base import ClassifierBase, _as_counts, takes_label_sets
from enstruct.estimators.training_table import Table

LINEAR = LogisticRegression()
OF_ONE_LABEL = [
    CalibratedClassifierCV(LinearSVC(), cv=2),
    CalibratedClassifierCV(RandomForestClassifier(5), cv=2),
    GridSearchCV(LINEAR, {"C": [1, 2]}, cv=2),
    BaggingClassifier(LINEAR, 3),
    AdaBoostClassifier(n_estimators=3),
    StackingClassifier([("linear", LINEAR)], cv=2),
    make_pipeline(StandardScaler(), StackingClassifier([("linear", LINEAR)], cv=2)),
    make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(), cv=2)),
]
OF_LABEL_SETS = [
    RandomForestClassifier(5),
    OneVsRestClassifier(LINEAR),
    MultiOutputClassifier(LINEAR),
    ClassifierChain(LINEAR),
    GridSearchCV(RandomForestClassifier(5), {"max_depth": [2, None]}, cv=2),
    GridSearchCV(OneVsRestClassifier(LINEAR), {"estimator__C": [1, 2]}, cv=2),
    make_pipeline(StandardScaler(), OneVsRestClassifier(LINEAR)),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 5))
    return X, (X[:, :3] + 0.7 * rng.standard_normal((90, 3)) > 0).astype(int)


def joint(base):
    return JointMultiLabelClassifier(base, folds=2, random_state=0)


def named(one):
    return type(one).__name__ if not hasattr(one, "steps") else type(one.steps[-1][1]).__name__ + "-after"


@pytest.mark.usefixtures("quick_joints")
@pytest.mark.parametrize("base", OF_ONE_LABEL + OF_LABEL_SETS, ids=named)
def test_wrappers_are_bases(base, rows):
    X, Y = rows
    assert takes_label_sets(base) == any(base is one for one in OF_LABEL_SETS)
    model = joint(base).fit(X[:60], Y[:60])
    p = model.base_proba(X[60:])
    assert p.shape == (30, 3)
    assert ((p > 0.5) == Y[60:]).mean() > 0.65


@pytest.mark.usefixtures("quick_joints")
@pytest.mark.parametrize(
    "base",
    [
        MultiOutputClassifier(LINEAR),
        make_pipeline(StandardScaler(), ClassifierChain(LINEAR)),
        GridSearchCV(MultiOutputClassifier(LINEAR), {"estimator__C": [1, 2]}, cv=2),
    ],
    ids=named,
)
def test_holes_are_for_classifiers_of_one_label(base, rows):
    X, Y = rows[0], rows[1].astype(float)
    Y[::5, 1] = np.nan
    with pytest.raises(ConfigError, match="y has holes: give the classifier of one label"):
        joint(base).fit(X, Y)
    assert joint(LINEAR).fit(X, Y).base_proba(X).shape == Y.shape


class Renaming(RandomForestClassifier):
    """Learns 0 and 1 by other names."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, np.asarray(y) + 1, sample_weight)


class Odd(ClassifierMixin, BaseEstimator):
    """Answers with what it is told to."""

    def __init__(self, p=(), classes=(0, 1), sets=False):
        self.p, self.classes, self.sets = p, classes, sets

    def fit(self, X, y):
        self.classes_ = np.array(self.classes)
        return self

    def predict_proba(self, X):
        return np.tile(self.p, (len(X), 1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.sets
        return tags


@pytest.mark.usefixtures("quick_joints")
@pytest.mark.parametrize(
    ("base", "match"),
    [
        (Odd((1.0,)), r"must give \(45, 2\), no and yes, not \(45, 1\)"),
        (Odd((0.4, np.nan)), "gives nan in row 0: probabilities lie between"),
        (Odd((0.4, 1.6)), "gives 1.6 in row 0"),
        (Odd((0.4, 0.6), ("a", "b")), r"taught 0 and 1, and has the classes \['a', 'b'\]"),
        (Renaming(3), r"taught 0 and 1, and has the classes \[1, 2\]"),
        (Odd((0.4, 0.6), (0, 1), True), "of 2 labels, and 3 were to be learnt"),
        (Odd((0.4, 0.6, -1), (0, 1), True), "gives -1 in row 0"),
        (StackingClassifier([("linear", LINEAR)], Perceptron(), cv=2), "gives no probabilities"),
    ],
    ids=["one column", "nan", "beyond one", "classes", "classes of sets", "labels", "negative", "none when fitted"],
)
def test_probabilities_that_are_none(base, match, rows):
    X, Y = rows
    model = joint(base)
    with pytest.raises(ConfigError, match=match) as caught:
        model.fit(X, Y)
    assert len(str(caught.value)) <= 300
    assert not hasattr(model, "energy_")


@pytest.mark.usefixtures("quick_joints")
def test_copies_for_each_label_are_passed_to_load(rows, tmp_path):
    X, Y = rows
    model = joint(LINEAR).fit(X, Y)
    model.save(tmp_path / "m")
    copies = model.base_[0].models[0]
    loaded = JointMultiLabelClassifier.load(tmp_path / "m", base=copies)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    narrow = [LogisticRegression().fit(X[:, :2], Y[:, 0])] * 3
    for base, match in (
        (copies[:2], "lists 2 classifiers, and 3 labels vary"),
        ([LINEAR] * 3, "must be fitted"),
        (copies[0], "must list a fitted LogisticRegression for each of the 3 labels"),
        (narrow, "fitted on 2 features, and the model on 5"),
    ):
        with pytest.raises(ModelFileError, match=match):
            JointMultiLabelClassifier.load(tmp_path / "m", base=base)
    with pytest.raises(ConfigError, match="name what to fit"):
        loaded.fit(X, Y)


WITHOUT_WEIGHTS = [
    OneVsRestClassifier(LINEAR),
    ClassifierChain(LINEAR),
    KNeighborsClassifier(3),
    MultiOutputClassifier(KNeighborsClassifier(3)),
    BaggingClassifier(KNeighborsClassifier(3), 3),
    StackingClassifier([("nearest", KNeighborsClassifier(3))], cv=2),
    make_pipeline(StandardScaler(), OneVsRestClassifier(LINEAR)),
]
WITH_WEIGHTS = [
    make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LINEAR)),
    GridSearchCV(make_pipeline(StandardScaler(), LINEAR), {"logisticregression__C": [1]}, cv=2),
]


@pytest.mark.usefixtures("quick_joints")
@pytest.mark.parametrize("base", WITHOUT_WEIGHTS + WITH_WEIGHTS, ids=named)
def test_copies_of_rows_are_merged_for_any_base(base, rows):
    X, Y = (np.concatenate([side, side[:1]]) for side in rows)
    p = joint(base).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(p[0], p[-1], atol=1e-5)


@pytest.mark.parametrize("base", [KNeighborsClassifier(3), OneVsRestClassifier(LINEAR)], ids=named)
def test_rows_come_as_often_as_they_count_where_weights_are_not_taken(base, rows):
    X, Y = rows
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    sets, repeated = ClassifierBase(base), np.repeat(np.arange(len(X)), weight)
    weighted, several = (
        sets.marginals(sets.fit(table, None, 0, np.inf), X)
        for table in (Table(X, np.float32(Y), weight / weight.mean()), Table(X[repeated], np.float32(Y)[repeated]))
    )
    assert np.array_equal(weighted, several)


def test_weights_that_are_no_counts_are_refused_by_bases_that_take_none(rows):
    X, Y = rows
    with pytest.raises(ConfigError, match="OneVsRestClassifier takes no sample_weight"):
        joint(make_pipeline(StandardScaler(), OneVsRestClassifier(LINEAR))).fit(
            X, Y, sample_weight=np.random.default_rng(0).random(90)
        )


def test_whole_numbers_in_the_proportions_of_weights():
    assert _as_counts(np.array([2.0, 3.0, 5.0]) / 7).tolist() == [2, 3, 5]
    assert _as_counts(np.array([0.5, 0.5])).tolist() == [1, 1]
    assert _as_counts(np.array([0.0, 0.2, 0.6])).tolist() == [0, 1, 3]
    assert _as_counts(np.array([1.0, np.pi])) is None
    assert _as_counts(np.array([1.0, 1e8])) is None


@pytest.mark.parametrize("frame", [False, True])
def test_gaps_among_features_are_named_with_what_fills_them(frame, rows):
    X, Y = rows
    X = X.copy()
    X[4, 2] = np.nan
    with pytest.raises(DataError, match=r"NaN, first in row 4, column 2: fill gaps before.*SimpleImputer") as refused:
        joint(LINEAR).fit(pd.DataFrame(X) if frame else X, Y)
    assert len(str(refused.value)) <= 300
