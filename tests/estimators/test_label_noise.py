"""Labels noted wrongly: rates and posteriors against a planted noise whose Bayes answer is known."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from enstruct.estimators.label_noise import NoteNoise, moved_share, note_noise, quality_of, right

ADDED_AND_LOST = [(0.05, 0.05), (0.002, 0.2), (0.03, 0.002), (0.001, 0.001)]


def planted(added, lost, n=60_000, seed=0):
    """(q, what is there, what was noted) of labels that are rare, some of them sure."""
    rng = np.random.default_rng(seed)
    q = rng.beta(0.05, 0.6, n)
    there = rng.random(n) < q
    noted = np.where(there, rng.random(n) >= lost, rng.random(n) < added)
    return q, there, noted


@pytest.mark.parametrize(("added", "lost"), ADDED_AND_LOST)
def test_right_is_bayes_rule(added, lost):
    """By enumeration of what is there and what is noted."""
    q = np.linspace(0.02, 0.98, 49)
    p = (1 - lost) * q + added * (1 - q)
    noise = NoteNoise(added, lost)
    joint = {(1, 1): q * (1 - lost), (0, 1): (1 - q) * added, (1, 0): q * lost, (0, 0): (1 - q) * (1 - added)}
    for noted in (0, 1):
        wanted = joint[noted, noted] / (joint[0, noted] + joint[1, noted])
        np.testing.assert_allclose(right(p, np.full(len(p), noted), noise), wanted)


@pytest.mark.parametrize(("added", "lost"), ADDED_AND_LOST)
def test_rates_are_seen_where_it_is_sure(added, lost):
    q, _, noted = planted(added, lost)
    noise = note_noise((1 - lost) * q + added * (1 - q), noted)
    assert noise.added == pytest.approx(added, abs=0.003)
    assert noise.lost == pytest.approx(lost, abs=0.03)


def test_surer_than_right_changes_no_rate():
    """Logits twice as large are another model's, and the notes are the same."""
    q, _, noted = planted(0.05, 0.1)
    p = 0.9 * q + 0.05 * (1 - q)
    sure = p**2 / (p**2 + (1 - p) ** 2)
    assert sure.min() < 0.02 < p.min()
    np.testing.assert_allclose(note_noise(sure, noted)[:2], (0.05, 0.1), atol=0.05)


@pytest.mark.parametrize(("added", "lost"), [(0.002, 0.2), (0.03, 0.002), (0.05, 0.05)])
def test_wrong_notes_come_first(added, lost):
    """As early as by the true rates, and earlier than by the probability of the note alone."""
    q, there, noted = planted(added, lost)
    p = (1 - lost) * q + added * (1 - q)
    wrong, alone = there != noted, np.where(noted, p, 1 - p)
    quality, noise = quality_of(alone, noted)
    best = average_precision_score(wrong, -right(p, noted, NoteNoise(added, lost)))
    found = average_precision_score(wrong, -quality)
    assert found > best - 0.02
    assert found > average_precision_score(wrong, -alone) + (0.1 if lost > 4 * added else -0.01)
    np.testing.assert_allclose(noise, note_noise(p, noted))
    # of the notes that are right with such probabilities so many are
    for low, high in ((0.2, 0.5), (0.5, 0.8), (0.9, 1.0)):
        some = (quality > low) & (quality < high)
        assert (~wrong[some]).mean() == pytest.approx(quality[some].mean(), abs=0.1)


def test_order_and_ends():
    """Between 0 and 1, falling with p where a label is not noted; surer than the rates allow is still told apart."""
    noise, p = NoteNoise(0.05, 0.1), np.linspace(1e-4, 1 - 1e-4, 200)
    for noted, sign in ((1, 1), (0, -1)):
        quality = right(p, np.full(200, noted), noise)
        assert (np.diff(sign * quality) > 0).all()
        assert quality.min() > 0
        assert quality.max() < 1


def test_holes_certainties_and_nothing_to_count():
    probability = np.array([[0.9, np.nan, 1.0], [0.0, 0.2, 0.7]])
    quality, noise = quality_of(probability, np.array([[1, 0, 0], [1, 1, 0]]))
    assert np.isnan(quality[0, 1])
    assert quality[0, 2] == 1
    assert quality[1, 0] == 0
    assert noise is not None
    assert 0 < noise.added + noise.lost <= 0.9  # of four cells hardly anything is known
    assert quality_of(np.array([1.0, np.nan]), np.array([1, 0]))[1] is None


def test_a_small_clean_table_is_not_taken_for_a_wrong_one():
    """Of sixty cells not half of those that are there are counted."""
    rng = np.random.default_rng(0)
    q = rng.beta(0.3, 0.6, 60)
    noted = rng.random(60) < q
    noise = note_noise(q, noted)
    assert noise.lost < 0.2
    assert noise.added < 0.1


def test_rates_are_the_counts_of_the_surest_cells():
    """Of 1,004.7 labels expected to be absent the 100 least likely, of 1,000 expected to be there 50 rather than 20."""
    p = np.concatenate([np.linspace(0.001, 0.1, 1005), np.linspace(0.9, 0.999, 1000)])
    given = np.zeros(len(p))
    given[1005:] = 1
    given[[0, 40, 99]] = 1  # noted among the 100, of three; the next is not among them
    given[100] = 1
    given[[-1, -50]] = 0
    given[-51] = 0
    noise = note_noise(p, given)
    assert noise.added == pytest.approx(3.5 / 101)
    assert noise.lost == pytest.approx(2.5 / 51)
    worse = note_noise(p, 1 - given)  # both rates together at most .9, in proportion
    added, lost = 97.5 / 101, 48.5 / 51
    assert (worse.added, worse.lost) == pytest.approx((0.9 * added / (added + lost), 0.9 * lost / (added + lost)))


def sure(lost, added, n=2000):
    """(p, noted) of so many cells on either side that are sure, and such shares of which are noted the other way."""
    p, noted = np.concatenate([np.linspace(0.001, 0.01, n), np.linspace(0.99, 0.999, n)]), np.repeat([0.0, 1.0], n)
    noted[: int(added * n)], noted[-int(lost * n) :] = 1, 0  # the surest, so that these are counted
    return p, noted


def by_others(p, noted, lost, added):
    """``p`` with such shares of the wrong notes among the surest cells left."""
    q = p.copy()
    for wrong, share in ((np.flatnonzero((p > 0.5) & (noted == 0)), lost), (np.flatnonzero((p < 0.5) & (noted == 1)), added)):
        told = wrong[round(share * len(wrong)) :]
        q[told] = 1 - q[told]  # what is noted there is what the other labels say
    return q


def test_labels_were_moved_where_most_of_both_rates_is_gone_by_the_others():
    p, noted = sure(lost=0.008, added=0.008)  # 16 of each, of the 50 likeliest and 200 least likely cells
    alone = note_noise(p, noted)
    assert 0.3 < alone.lost < 1 / 3
    for lost, added, moved in ((0.0, 0.0, True), (0.4, 0.4, True), (0.6, 0.4, False), (0.4, 0.6, False)):
        q = by_others(p, noted, lost, added)
        fell = alone.lost - note_noise(q, noted).lost
        assert moved_share(p, q, noted) == pytest.approx(fell if moved else 0.0)
        assert fell > 0.1


def test_of_x_that_says_little_nothing_is_taken_to_be_moved():
    p, noted = sure(lost=0.009, added=0.009)  # 18 of fifty
    q = by_others(p, noted, 0.0, 0.0)
    assert note_noise(p, noted).lost > 1 / 3
    assert moved_share(p, q, noted) == 0


def test_a_few_labels_that_x_is_wrong_about_were_not_moved():
    p, noted = sure(lost=0.0015, added=0.02)  # three of the fifty likeliest
    q = by_others(p, noted, 0.0, 0.0)
    assert note_noise(q, noted).lost < 0.5 * note_noise(p, noted).lost
    assert moved_share(p, q, noted) == 0


def test_quality_of_moved_labels_adds_the_odds_of_exchanges():
    """Rows of two labels, one of each side."""
    p, noted = (one.reshape(2, -1).T for one in sure(lost=0.008, added=0.008))
    q, m = by_others(p.T.ravel(), noted.T.ravel(), 0.0, 0.0).reshape(2, -1).T, np.linspace(0.0, 9.0, 4000).reshape(-1, 2)
    probability = np.where(noted == 1, q, 1 - q)
    probability[0], probability[1] = (np.nan, 1.0), (0.0, 0.9)
    alone, noise = quality_of(probability, noted)
    quality, of_moved = quality_of(probability, noted, p, lambda: m)
    moved = of_moved.moved
    assert of_moved == noise._replace(moved=moved)
    assert 0.2 < moved < 1 / 3
    rivals = np.maximum((noted == 0).sum(1, keepdims=True), 1)
    of_exchanges = np.where(noted == 1, 1 / right(1 / (1 + m), 1, NoteNoise(moved / rivals, moved)) - 1, m * moved / rivals)
    np.testing.assert_allclose(quality[2:], 1 / (1 / alone[2:] + of_exchanges[2:]))
    assert quality[0, 1] == pytest.approx(1 / (1 + of_exchanges[0, 1]))  # certain by the others, and no more than that
    assert np.isnan(quality[0, 0])
    assert quality[1, 0] == 0
    nothing = np.full((2, 2), np.nan)
    assert quality_of(nothing, nothing, nothing, lambda: pytest.fail("asked"))[1] is None


def test_exchanges_are_not_asked_for_where_nothing_was_moved():
    _, there, noted = planted(0.05, 0.05, n=4000)
    p = np.where(noted, 0.9, 0.1)
    quality, noise = quality_of(np.where(there == noted, 0.9, 0.1), noted, p, lambda: pytest.fail("asked"))
    assert noise.moved == 0
    assert np.isfinite(quality).all()
