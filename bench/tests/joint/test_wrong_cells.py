"""Cells made wrong, and found again."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from enstruct.data.hierarchy import Hierarchy
from enstruct.metrics.base import ratio
from enstruct_bench.joint.cleanlab import KINDS, cleanlab_quality
from enstruct_bench.joint.wrong_cells import NOISE, found_among_first, given_probability, made_wrong, precision_of_suspects

RNG = np.random.default_rng(0)
Y = (RNG.random((200, 10)) < 0.4).astype(np.float32)


@pytest.mark.parametrize("kind", NOISE)
def test_5_percent_of_the_cells_are_wrong(kind):
    noisy, wrong = made_wrong(Y, kind, seed=0)
    assert (wrong == (noisy != Y)).all()
    assert wrong.mean() == pytest.approx(0.05, abs=0.005)
    if kind == "swaps":
        assert (noisy.sum(1) == Y.sum(1)).all()
    if kind == "drops":
        assert (noisy <= Y).all()


def test_of_few_labels_a_fifth_goes_and_never_the_last():
    rare = np.zeros((100, 12), dtype=np.float32)
    rare[:20, 0] = 1
    rare[:60, 1] = 1
    rare[3, 2:] = 1
    noisy, wrong = made_wrong(rare, "drops", seed=1)
    assert 0 < wrong.sum() <= 0.2 * rare.sum()
    assert (noisy.sum(0) > 0).all()


def test_in_a_hierarchy_labels_are_taken_for_their_siblings():
    """Of 0 with 2 and 3 below it, 1 with 4 and 5, and 6 below 5: what is moved has none below it, and goes to a sibling."""
    tree = Hierarchy(7, ((0, 2), (0, 3), (1, 4), (1, 5), (5, 6)))
    sets = tree.close(np.eye(7)[RNG.integers(0, 7, 300)]).toarray().astype(np.float32)
    noisy, wrong = made_wrong(sets, "swaps", 0, tree)
    assert wrong.any()
    pairs = {
        (int(np.flatnonzero(a > b)[0]), int(np.flatnonzero(b > a)[0])) for a, b in zip(sets, noisy, strict=True) if (a != b).any()
    }
    assert pairs <= {(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4)}  # 6 has no sibling
    assert {(2, 3), (4, 5)} <= pairs
    assert not any(sets[i, 6] and wrong[i, 5] for i in range(300))


def test_suspects_are_ranked_from_the_lowest_quality():
    _, wrong = made_wrong(Y, "flips", seed=0)
    quality = RNG.random(Y.shape) - 0.5 * wrong
    assert precision_of_suspects(quality, wrong) == pytest.approx(average_precision_score(wrong.ravel(), -quality.ravel()))
    assert precision_of_suspects(-1.0 * wrong, wrong) == 1
    assert ratio(found_among_first(-1.0 * wrong, wrong)) == 1
    assert ratio(found_among_first(1.0 * wrong, wrong)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_cleanlab_finds_planted_cells(kind):
    pytest.importorskip("cleanlab")
    p = np.clip(0.9 * Y + 0.05 + RNG.normal(0, 0.02, Y.shape), 0.01, 0.99)
    noisy, wrong = made_wrong(Y, "flips", seed=0)
    quality = cleanlab_quality(p, noisy, kind)
    assert quality.shape == Y.shape
    assert precision_of_suspects(quality, wrong) > 0.95
    if kind == "issues":
        moved = np.round(given_probability(p, noisy) - quality, 9)  # suspects come first, by as much as 1
        assert set(np.unique(moved)) == {0.0, 1.0}
        assert (moved == 1)[wrong].mean() > 0.8 > 0.1 > (moved == 1)[~wrong].mean()
