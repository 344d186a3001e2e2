"""Given labels that fit worst: of a joint by its own conditionals, of others by their marginals."""

import numpy as np
import pytest
from scipy import sparse

from enstruct import JointMultiLabelClassifier
from enstruct.report.energies import energy_of
from enstruct.report.scores import row_nats
from enstruct.report.suspects import SHOWN, _affordable, _by_joint, _by_marginals
from enstruct.report.worst import worst_rows


@pytest.fixture(scope="module")
def fitted():
    """(joint, X, Y): b is as a, c follows x; rows 3 and 7 have a without b."""
    rng = np.random.default_rng(0)
    X, a = rng.standard_normal((90, 2)), rng.random(90) < 0.5
    Y = np.stack([a, a ^ (rng.random(90) < 0.05), X[:, 0] > 0], axis=1).astype(float)
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, Y)
    Y[[3, 7]] = [1, 0, 1]
    return model, X, Y


def test_of_a_joint_they_are_given_the_row_s_others(fitted):
    model, X, Y = fitted
    energy = energy_of(model)
    found = _by_joint(model, energy.own, X, sparse.csr_matrix(Y.astype(np.uint8)), model.predict_proba(X), np.arange(90))
    assert len(found) == SHOWN
    assert [one.quality for one in found] == sorted(one.quality for one in found)
    asked = np.repeat(Y[None], 3, axis=0)
    quality = np.empty_like(Y)
    for label in range(3):
        asked[label, :, label] = np.nan
        p = model.predict_proba(X, known=asked[label])[:, label]
        quality[:, label] = np.where(Y[:, label] == 1, p, 1 - p)
    for one in found:
        assert one.value == Y[one.row, one.label]
        assert one.quality == pytest.approx(quality[one.row, one.label], abs=1e-4)
    assert {3, 7} <= {one.row for one in found[:10]}


def test_of_others_they_are_the_least_likely_cells(fitted):
    _, _, Y = fitted
    p = np.random.default_rng(1).random(Y.shape)
    Y = np.where(np.arange(90)[:, None] % 4 == 0, np.nan, Y)
    found = _by_marginals(Y, p)
    quality = np.where(np.isnan(Y), np.inf, np.where(Y == 1, p, 1 - p))
    assert [one.quality for one in found] == pytest.approx(np.sort(quality.ravel())[:SHOWN])
    assert all(one.row % 4 for one in found)


def test_more_labels_leave_time_for_fewer_rows(fitted):
    energy = energy_of(fitted[0]).own.energy
    assert _affordable(energy, fitted[2]) > _affordable(energy, np.full((1, 3), np.nan))


def test_worst_rows_are_those_of_the_lowest_f1_then_the_least_likely():
    truth = np.array([[1, 0], [1, 0], [1, 1], [np.nan, np.nan]], dtype=float)
    predicted = sparse.csr_matrix(np.array([[0, 1], [0, 1], [1, 1], [0, 0]], dtype=np.uint8))
    p = np.array([[0.4, 0.6], [0.1, 0.9], [0.9, 0.9], [0.5, 0.5]])
    order, f1, nats = worst_rows(truth, predicted, p)
    assert order.tolist() == [1, 0, 2]
    assert f1[:3].tolist() == [0, 0, 1]
    assert nats[0] == pytest.approx(-2 * np.log(0.4))
    assert row_nats(truth, p)[1].tolist() == [2, 2, 2, 0]
