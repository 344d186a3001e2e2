"""Expected-F1 decoding against enumeration of all 2^L truths and all 2^L answers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from enstruct.decisions import expected_f1
from enstruct.decisions.expected_f1 import HEAD, ExpectedF1, decode, decode_under, expected_f1_by_size, recalibrate
from enstruct.metrics import example_f1


def enumerated(p):
    """(2^L,) E[F1] of every answer, and the answers."""
    sets = np.array(list(itertools.product([0, 1], repeat=len(p))))
    probability = np.prod(np.where(sets, p, 1 - p), axis=1)
    total = sets.sum(1)[:, None] + sets.sum(1)[None, :]
    f1 = np.where(total > 0, 2 * (sets @ sets.T) / np.maximum(total, 1), 1.0)
    return f1 @ probability, sets


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.0, 1.0) | st.floats(0.0, 0.05), min_size=1, max_size=10), st.booleans())
def test_decoded_set_is_the_best_of_all_sets(p, allow_empty):
    p = np.array(p)
    values, sets = enumerated(p)
    chosen = decode(p[None], allow_empty).toarray()[0]
    value = values[np.flatnonzero((sets == chosen).all(1))[0]]
    assert value == pytest.approx(values[0 if allow_empty else 1 :].max(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7))
def test_expectations_by_size(p):
    p = np.sort(np.array(p))[::-1]
    values, sets = enumerated(p)
    for k, value in enumerate(expected_f1_by_size(p[None], np.zeros(1), len(p))[0]):
        answer = (np.arange(len(p)) < k).astype(int)
        assert value == pytest.approx(values[np.flatnonzero((sets == answer).all(1))[0]], abs=1e-9)


@pytest.mark.parametrize(("probability", "labels"), [(0.05, 16), (0.03, 200), (0.02, 60), (0.2, 90)])
@pytest.mark.parametrize("allow_empty", [False, True])
def test_many_unlikely_labels_can_be_the_best_answer(probability, labels, allow_empty):
    """Of n labels of one probability k true ones come with C(n, k) p^k (1 - p)^(n - k); whole answers are compared."""
    count, sizes = np.arange(labels + 1), np.arange(labels + 1)[:, None]
    hits = np.where(sizes > 0, 2 * sizes * count / labels / np.maximum(sizes + count, 1), count == 0)  # of k labels, by symmetry
    value = hits @ stats.binom.pmf(count, labels, probability)
    best = value[1:].argmax() + 1 if not allow_empty or value[1:].max() > value[0] else 0
    p = np.full((1, labels), probability)
    heavier = np.full((1, labels), 0.9)
    assert decode(p, allow_empty).nnz == best
    assert decode(np.vstack([heavier, p]), allow_empty)[1].nnz == best


def test_rows_of_all_sizes_come_back_in_their_order(monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.random((60, 30)) ** rng.integers(1, 12, size=(60, 1))
    alone = np.vstack([decode(row[None]).toarray() for row in p])
    assert alone.sum(1).max() > 10 > 2 > alone.sum(1).min()
    for table in (1, 500, 10**9):  # a row at a time, a few, all at once
        monkeypatch.setattr(expected_f1, "TABLE", table)
        assert np.array_equal(decode(p).toarray(), alone)
    assert decode(p[:0]).shape == (0, 30)


def test_never_empty_when_told_so():
    p = np.full((1, 4), 0.01)
    assert decode(p).nnz == 0
    assert decode(p, allow_empty=False).nnz >= 1


def test_poisson_tail_is_close_to_exact(monkeypatch):
    """Le Cam: at most 2 sum p_i^2 over the tail."""
    rng = np.random.default_rng(0)
    p = np.sort(rng.random((5, 60)) ** 4 * 0.5, axis=1)[:, ::-1]
    exact = expected_f1_by_size(p.copy(), np.zeros(5), 20)
    head = expected_f1_by_size(p[:, :20].copy(), p[:, 20:].sum(1), 20)
    bound = 2 * (p[:, 20:] ** 2).sum(1, keepdims=True)
    assert (np.abs(exact - head) <= bound + 1e-9).all()
    whole = decode(p)
    monkeypatch.setattr(expected_f1, "HEAD", 20)
    assert abs(decode(p) - whole).sum() <= 5  # at most a label a row


def test_the_empty_set_is_as_good_as_it_is_likely():
    """Labels of the head by their products, those of the tail by Poisson's probability of none."""
    p, tail = np.array([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0]]), np.array([0.7, 0.0])
    of_nothing = expected_f1_by_size(p, tail, 2)[:, 0]
    assert of_nothing == pytest.approx([0.4 * 0.7 * 0.9 * stats.poisson.pmf(0, 0.7), 0.25])


def test_recalibration_is_sharper_about_a_half_and_then_shifted():
    p = np.array([0.1, 0.5, 0.8])
    odds = p / (1 - p)
    for sharpness, shift in ((1.25, 0.0), (1.0, 0.5), (0.6, -0.5)):
        moved = odds**sharpness * np.exp(shift)
        assert recalibrate(p, sharpness, shift) == pytest.approx(moved / (1 + moved))


@pytest.mark.parametrize("labels", [9, HEAD + 150])
def test_ranked_once_labels_are_decoded_as_the_recalibrated_marginals_are(labels):
    p = np.random.default_rng(1).random((90, labels)) ** (3 if labels < HEAD else 40)
    settings = [(1.25, 0.5, True), (0.6, -0.5, False), (1.0, 0.5, True)]
    for (sharpness, shift, empty), found in zip(settings, decode_under(settings, p), strict=True):
        wanted = decode(recalibrate(p, sharpness, shift), empty)
        assert (found != wanted).nnz == 0
        assert (found != ExpectedF1(sharpness, shift, empty).predict(p)).nnz == 0


def test_fit_mends_miscalibrated_marginals():
    rng = np.random.default_rng(0)
    p = rng.random((400, 10)) ** 3
    y = (rng.random((400, 10)) < p).astype(int)
    overconfident = recalibrate(p, 1 / 0.6, 0.0)
    rule = ExpectedF1().fit(overconfident, y)
    assert (rule.sharpness, rule.shift) != (1.0, 0.0)
    assert example_f1(y, rule.predict(overconfident)) >= example_f1(y, decode(overconfident))
    assert rule.allow_empty
