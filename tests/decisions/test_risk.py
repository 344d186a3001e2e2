"""Decisions of least risk against brute force over all sets of six labels."""

import itertools

import numpy as np
import pytest

from enstruct.decisions import risk
from enstruct.decisions.risk import RISKS, jaccard, least_risk
from enstruct.errors import DataError

L, S = 6, 60
SETS = np.array(list(itertools.product([0, 1], repeat=L)), dtype=np.uint8)


def gains(name):
    """gain(truth, predicted) of two sets, written as the metric is."""

    def shared(a, b):
        return int((a & b).sum())

    return {
        "example-f1": lambda a, b: 1.0 if not a.sum() + b.sum() else 2 * shared(a, b) / (a.sum() + b.sum()),
        "hamming": lambda a, b: float((a == b).mean()),
        "subset-accuracy": lambda a, b: float((a == b).all()),
        "jaccard": lambda a, b: 1.0 if not (a | b).sum() else shared(a, b) / (a | b).sum(),
        "recall": lambda a, b: (shared(a, b) + 0.5) / (a.sum() + 0.5) - 0.1 * b.sum(),
    }[name]


def recall(truth, predicted):
    """A callable that takes its arguments in order."""
    return ((truth & predicted).sum(1) + 0.5) / (truth.sum(1) + 0.5) - 0.1 * predicted.sum(1)


@pytest.fixture(params=range(4))
def samples(request):
    """(3, S, L): label sets with structure, of which every set is one where the test needs that."""
    rng = np.random.default_rng(request.param)
    centres = (rng.random((3, 4, L)) < 0.5).astype(np.uint8)
    drawn = centres[np.arange(3)[:, None], rng.integers(4, size=(3, S))]
    return drawn ^ (rng.random(drawn.shape) < 0.12).astype(np.uint8)


def expected_gains(gain, samples, answers):
    """(answers,) mean over samples (S, L)."""
    return np.array([np.mean([gain(y, answer) for y in samples]) for answer in answers])


@pytest.mark.parametrize("name", ["example-f1", "hamming", "subset-accuracy"])
def test_best_of_all_sets(name, samples):
    chosen = least_risk(samples, RISKS[name]).toarray()
    for row in range(3):
        values = expected_gains(gains(name), samples[row], SETS)
        assert expected_gains(gains(name), samples[row], chosen[[row]])[0] == pytest.approx(values.max(), abs=1e-6)


@pytest.mark.parametrize(("name", "gain"), [("jaccard", RISKS["jaccard"]), ("recall", recall)])
def test_best_of_all_sets_where_every_set_was_drawn(name, gain, samples):
    samples = np.concatenate([samples, np.tile(SETS, (3, 1, 1))], axis=1)
    chosen = least_risk(samples, gain).toarray()
    for row in range(3):
        values = expected_gains(gains(name), samples[row], SETS)
        assert expected_gains(gains(name), samples[row], chosen[[row]])[0] == pytest.approx(values.max(), abs=1e-9)


@pytest.mark.parametrize(("name", "gain"), [("jaccard", RISKS["jaccard"]), ("recall", recall)])
def test_best_of_the_sets_drawn(name, gain, samples):
    chosen = least_risk(samples, gain).toarray()
    for row in range(3):
        values = expected_gains(gains(name), samples[row], samples[row])
        assert (chosen[row] == samples[row]).all(1).any()
        assert expected_gains(gains(name), samples[row], chosen[[row]])[0] == pytest.approx(values.max(), abs=1e-9)


def test_the_most_probable_set_is_that_of_the_highest_density():
    samples = np.array([[[1, 0], [1, 0], [0, 1]], [[1, 1], [0, 0], [0, 0]]], dtype=np.uint8)
    assert least_risk(samples, "subset").toarray().tolist() == [[1, 0], [0, 0]]
    density = np.array([[0.0, 0.0, 3.0], [-1.0, -2.0, -2.0]])
    assert least_risk(samples, "subset", density).toarray().tolist() == [[0, 1], [1, 1]]
    assert least_risk(samples, "hamming", density).toarray().tolist() == [[1, 0], [0, 0]]  # draws count there


def test_never_empty_when_told_so():
    samples = np.array([[[0, 0], [0, 0], [0, 1]]], dtype=np.uint8)
    assert least_risk(samples, "f1").nnz == 0
    assert least_risk(samples, "f1", allow_empty=False).toarray().tolist() == [[0, 1]]


def test_only_the_sets_drawn_most_often_are_candidates(monkeypatch):
    monkeypatch.setattr(risk, "MOST_CANDIDATES", 1)
    samples = np.array([[[1, 1], [1, 1], [0, 1], [0, 0]]], dtype=np.uint8)
    assert least_risk(samples, lambda truth, predicted: -predicted.sum(1)).toarray().tolist() == [[1, 1]]


def test_jaccard_by_hand():
    truth = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=np.uint8)
    predicted = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=np.uint8)
    assert jaccard(truth, predicted).tolist() == [1 / 3, 1.0, 0.0]


@pytest.mark.parametrize("gain", [*RISKS.values(), recall])
def test_no_rows(gain):
    assert least_risk(np.zeros((0, S, L), dtype=np.uint8), gain).shape == (0, L)


def test_a_gain_of_another_shape_is_refused(samples):
    with pytest.raises(DataError, match=r"must be \(\d+,\), not \(\)"):
        least_risk(samples, lambda truth, predicted: 1.0)
