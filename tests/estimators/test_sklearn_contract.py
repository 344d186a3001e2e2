"""scikit-learn's own checks, with no expected failures and nothing skipped that MLPClassifier does not skip."""

import copy
import pickle
import warnings
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator, parametrize_with_checks
from tests.configured import configured

from enstruct import (
    AutoMultiLabelClassifier,
    EnergyMultiLabelClassifier,
    EnergySegmenter,
    EnergySequenceTagger,
    JointMultiLabelClassifier,
    example_f1,
    example_f1_scorer,
)
from enstruct.inference import Inference
from enstruct.negatives import InferencePoint

pytestmark = pytest.mark.usefixtures("quick_joints", "quick_bases")
QUICK = {"hidden": 16, "layers": 1, "learning_rate": 0.03, "max_epochs": 6, "tol": 0.05}
FEW_STEPS = Inference(steps=3, starts=("predictor",))
ESTIMATORS = [
    configured(EnergyMultiLabelClassifier, "seal-nce", n_samples=4, **QUICK),
    configured(
        EnergyMultiLabelClassifier,
        "spen",
        inference=FEW_STEPS,
        negatives=InferencePoint(FEW_STEPS, augmented=True),
        **QUICK | {"max_epochs": 4},
    ),
    EnergyMultiLabelClassifier("extra-trees"),
    EnergyMultiLabelClassifier("binary-relevance"),
    EnergyMultiLabelClassifier("binary-relevance-tfidf"),
    AutoMultiLabelClassifier(("binary-relevance", "seal-nce"), members=1, folds=3, settings=QUICK),
    JointMultiLabelClassifier("binary-relevance", folds=2),
    EnergyMultiLabelClassifier(base="extra-trees"),
]
"""One of each kind of answer: methods that train and answer alike would be checked again and again."""
WHATEVER_THE_TAG_SAYS = dict.fromkeys(
    ("check_class_weight_classifiers", "check_decision_proba_consistency"),
    "scikit-learn gives negative numbers, whatever the tag positive_only says",
)


def failing(estimator):
    return WHATEVER_THE_TAG_SAYS if getattr(estimator, "method", "") == "binary-relevance-tfidf" else {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=failing)
def test_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("made", [EnergySequenceTagger, EnergySegmenter])
def test_what_takes_no_table_says_so(made):
    tags = get_tags(made())
    assert not tags.input_tags.two_d_array
    assert tags.input_tags.three_d_array == (made is EnergySegmenter)
    assert tags.input_tags.string == (made is EnergySequenceTagger)
    with pytest.warns(SkipTestWarning, match="requires input"):
        check_estimator(made())


@pytest.mark.parametrize(
    ("estimator", "positive"),
    [
        (EnergyMultiLabelClassifier("binary-relevance-tfidf"), True),
        (EnergyMultiLabelClassifier("binary-relevance-tfidf", standardize=True), False),
        (EnergyMultiLabelClassifier("seal-nce", standardize="tfidf"), True),
        (EnergyMultiLabelClassifier(method=[]), False),
        (AutoMultiLabelClassifier(), False),
        (AutoMultiLabelClassifier(["cross-entropy", "binary-relevance-tfidf"]), True),
        (AutoMultiLabelClassifier(settings={"standardize": "tfidf"}), True),
        (AutoMultiLabelClassifier(methods=3, settings="x"), False),
    ],
)
def test_who_takes_no_negative_numbers(estimator, positive):
    assert get_tags(estimator).input_tags.positive_only == positive


def skipped(estimator):
    names = set()
    for instance, check in estimator_checks_generator(estimator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                check(instance)
            except SkipTest:
                names.add(check.func.__name__)
            except AssertionError:
                pass  # a failure is the other test's business
    return names


def test_nothing_is_skipped_that_mlpclassifier_does_not_skip():
    mine, theirs = EnergyMultiLabelClassifier("binary-relevance"), MLPClassifier(max_iter=1)
    assert skipped(mine) <= skipped(theirs)

    def names(estimator):
        return {check.func.__name__ for _, check in estimator_checks_generator(estimator)}

    assert names(MLPClassifier()) <= names(EnergyMultiLabelClassifier("seal-nce"))


@pytest.mark.filterwarnings("ignore", category=ConvergenceWarning)
def test_pipeline_grid_search_clone_and_pickle(blocks):
    model = EnergyMultiLabelClassifier("seal-nce", max_epochs=3, hidden=8, layers=1, decision="threshold", random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    grid = {"energymultilabelclassifier__method__energy_weight": [0.5, 2.0]}
    search = GridSearchCV(pipeline, grid, scoring=example_f1_scorer, cv=2)
    Y = blocks.Y.toarray().astype(int)
    search.fit(blocks.X, Y)
    predicted = search.predict(blocks.X)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.best_score_ > 0.3
    for twin in (copy.deepcopy(search.best_estimator_), pickle.loads(pickle.dumps(search.best_estimator_))):
        assert (twin.predict(blocks.X) == predicted).all()
    assert clone(model).get_params()["method"] == "seal-nce"
    assert example_f1(Y, predicted) == pytest.approx(search.score(blocks.X, Y))


def test_data_frames_keep_their_names(blocks):
    frame = pd.DataFrame(blocks.X, columns=blocks.feature_names)
    model = EnergyMultiLabelClassifier("binary-relevance", random_state=0).fit(frame, blocks.Y)
    assert list(model.feature_names_in_) == list(blocks.feature_names)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    unnamed = EnergyMultiLabelClassifier("binary-relevance", random_state=0).fit(blocks.X, blocks.Y)
    assert np.array_equal(model.predict(frame).toarray(), unnamed.predict(blocks.X).toarray())
