"""Labels that neither x nor the row's other labels make likely."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from tests.estimators.test_joint import exclusive

from enstruct import JointMultiLabelClassifier, LabelIssues, find_label_issues
from enstruct.estimators import label_issues
from enstruct.estimators.label_noise import quality_of
from enstruct.rules import AtMost, Exactly, Excludes


@pytest.mark.usefixtures("few_candidates")
def test_flipped_cells_are_what_the_other_labels_say_against():
    X, Y = exclusive(400, 3)
    wrong = np.random.default_rng(0).random(Y.shape) < 0.03
    issues = find_label_issues(X, np.where(wrong, 1 - Y, Y), base="binary-relevance", folds=3, random_state=0)
    asked = [0, 1, 2, 3]  # those that hang together
    found_by_all = average_precision_score(wrong[:, asked].ravel(), -issues.quality[:, asked].ravel())
    alone = find_label_issues(X, np.where(wrong, 1 - Y, Y)[:, [0, 4]], base="binary-relevance", folds=3, random_state=0)
    found_alone = average_precision_score(wrong[:, 0], -alone.quality[:, 0])
    assert found_by_all > 0.6 > found_alone + 0.2  # label 0 has nothing but x there
    worst = issues.cells()[:10]
    assert np.mean([wrong[row, label] for row, label, _ in worst]) > 0.7


@pytest.mark.usefixtures("few_candidates")
def test_forgotten_labels_are_found_where_none_is_made_up():
    """A label of five forgotten: those likely by the others come before unlikely ones that are there."""
    X, Y = exclusive(400, 3)
    wrong = (Y == 1) & (np.random.default_rng(0).random(Y.shape) < 0.2)
    issues = find_label_issues(X, np.where(wrong, 0, Y), base="binary-relevance", folds=3, random_state=0)
    assert issues.noise.lost > 10 * issues.noise.added
    np.testing.assert_array_equal(quality_of(issues.probability, np.where(wrong, 0, Y))[0], issues.quality)
    forgotten, others = issues.probability[:, :3][wrong[:, :3]], issues.probability[:, :3][(Y == 0)[:, :3]]
    assert np.median(forgotten) < np.median(others) - 0.05  # no other of the block is noted there: its absence is less likely
    worst = issues.cells()[:40]
    assert np.mean([wrong[row, label] for row, label, _ in worst]) > 0.6
    whole = find_label_issues(X, Y, base="binary-relevance", folds=3, random_state=0)
    assert whole.noise.lost < issues.noise.lost - 0.05


def moved_labels(n, seed):
    """(X, given, which cells are wrong): rows of one label mostly, a sixth of the labels noted as another one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    Y = np.eye(5, dtype=int)[(X + 0.5 * rng.standard_normal((n, 5))).argmax(1)]
    Y[:, 0] |= rng.random(n) < 0.08
    given = Y.copy()
    for row in np.flatnonzero((rng.random(n) < 0.17) & (Y.sum(1) == 1)):
        given[row] = np.roll(Y[row], rng.integers(1, 5))
    return X, given, given != Y


@pytest.mark.parametrize("rules", [None, [AtMost(2, range(5))]])
def test_moved_labels_are_found_by_what_they_stand_for(rules):
    X, given, wrong = moved_labels(500, 1)
    issues = find_label_issues(X, given, base="binary-relevance", folds=3, rules=rules, random_state=0)
    assert 0.08 < issues.noise.moved < 0.3
    alone = quality_of(issues.probability, given)[0]  # a row's only label, and the one that is missing, as all others are
    found = average_precision_score(wrong.ravel(), -issues.quality.ravel())
    assert found > average_precision_score(wrong.ravel(), -alone.ravel()) + 0.15
    worst = [wrong[row, label] for row, label, _ in issues.cells()[:60]]
    assert np.mean(worst) > 0.8


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_moved_labels_are_found_where_rules_leave_a_single_label_no_choice():
    X, given, wrong = moved_labels(500, 1)
    one = given.sum(1) == 1
    issues = find_label_issues(X[one], given[one], base="binary-relevance", folds=3, rules=Exactly(1, range(5)), random_state=0)
    assert (issues.probability == 1).all()  # given all others a label follows
    assert issues.noise.moved > 0.08
    assert average_precision_score(wrong[one].ravel(), -issues.quality.ravel()) > 0.6  # of 0.14 are wrong


def test_a_class_is_as_likely_as_the_base_says():
    X, Y = exclusive(200, 5)
    y = Y[:, :3].argmax(1)
    y[11] = (y[11] + 1) % 3
    issues = find_label_issues(X, y, base="binary-relevance", folds=2, random_state=0)
    assert issues.noise is None
    assert np.array_equal(issues.probability, issues.quality)
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, y)
    p = model.base_[0].marginals[model.fitted_on_.group]
    p /= p.sum(1, keepdims=True)
    np.testing.assert_allclose(issues.quality, np.where(np.eye(3)[y] == 1, p, 1 - p), atol=1e-3)
    assert 11 in [row for row, _ in issues.rows()[:60]]


def test_order_of_cells_and_rows():
    quality = np.array([[0.9, 0.1, np.nan], [0.5, 0.6, 0.7], [0.95, 0.9, 0.99]])
    issues = LabelIssues(quality, quality, np.arange(3))
    assert issues.cells()[:3] == [(0, 1, 0.1), (1, 0, 0.5), (1, 1, 0.6)]
    assert len(issues.cells()) == 8
    assert [row for row, _ in issues.rows()] == [0, 1, 2]
    weights = np.exp(-np.array([0.9, 0.1]) / 0.1)
    np.testing.assert_allclose(issues.rows()[0][1], weights @ [0.9, 0.1] / weights.sum())


@pytest.mark.usefixtures("quick_joints")
def test_holes_and_copies_of_rows():
    X, Y = exclusive(150, 4)
    Y = Y.astype(float)
    Y[3, 2] = np.nan
    X, Y = np.concatenate([X, X[:5]]), np.concatenate([Y, Y[:5]])
    issues = find_label_issues(X, Y, base=LogisticRegression(), folds=2, random_state=0)
    quality = issues.quality
    assert np.array_equal(np.isnan(issues.probability), np.isnan(quality))
    assert np.isnan(quality[3, 2])
    assert np.isnan(quality).sum() == 2  # its copy
    assert np.array_equal(quality[:5], quality[150:], equal_nan=True)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_under_rules_labels_that_break_one_come_first():
    X, Y = exclusive(200, 5)
    Y[7, :2] = 1
    issues = find_label_issues(X, Y, base=LogisticRegression(), folds=2, rules=Excludes(0, 1, 2), random_state=0)
    assert (issues.quality[7, :3] == 0).all()
    assert (issues.quality[7, 3:] > 0).all()
    others = np.delete(np.arange(200), 7)
    absent = issues.quality[others][:, :3][Y[others][:, :3] == 0]
    assert absent.min() > 0.999  # where one of three that exclude one another is there, the two others cannot be


@pytest.mark.usefixtures("quick_joints")
def test_energies_have_seen_neither_the_fold_that_they_judge_nor_rows_that_break_a_rule(monkeypatch):
    taught, refit = [], label_issues.refit
    monkeypatch.setattr(label_issues, "refit", lambda terms, rows, *more: taught.append(rows) or refit(terms, rows, *more))
    X, Y = exclusive(120, 5)
    Y[7, :2] = 1
    model = JointMultiLabelClassifier(LogisticRegression(), folds=3, rules=Excludes(0, 1, 2), random_state=0).fit(X, Y)
    label_issues.label_issues(model, Y)
    table, folds = model.fitted_on_.table, model.fitted_on_.folds
    legal = table.Y[:, :3].sum(1) <= 1
    assert len(taught) == len(folds) == 3
    assert legal.sum() == len(table) - 1
    for rows, fold in zip(taught, folds, strict=True):
        others = np.setdiff1d(np.arange(len(table)), fold)
        np.testing.assert_array_equal(rows.y.numpy(), table.Y[others[legal[others]]])
