"""Averages of members, and on which rows they are judged."""

import numpy as np
from scipy import sparse

from enstruct.data.rows import Rows
from enstruct.decisions.choose import cross_validate
from enstruct.estimators.candidates import AVERAGEABLE, Candidates, HeldOut, mean_of_methods

RNG = np.random.default_rng(0)
TRUTH = {fold: sparse.csr_matrix((RNG.random((30 + fold, 6)) < 0.4).astype(np.uint8)) for fold in range(3)}


def marginals(fold, noise):
    """Of members that know the truth but for some noise."""
    return np.clip(np.abs(TRUTH[fold].toarray() - noise * RNG.random(TRUTH[fold].shape)), 0.01, 0.99)


def held_out(*members):
    found = HeldOut("example-f1")
    for name, fold, noise in members:
        found.add(name, fold, marginals(fold, noise), Rows(None, TRUTH[fold]))
    return found


def test_every_method_has_one_weight():
    a, b, c = (RNG.random((4, 3)) for _ in range(3))
    assert np.allclose(mean_of_methods(["x", "y", "x"], [a, b, c]), ((a + c) / 2 + b) / 2)


def test_each_row_is_judged_by_members_not_trained_on_it():
    found = held_out(("cross-entropy", 0, 0.3), ("seal-nce", 0, 0.5), ("cross-entropy", 1, 0.4), ("seal-nce", 1, 0.2))
    p = found.mean([0, 1, 2, 3], [0, 1])
    assert np.allclose(p[:30], (found.marginals[0] + found.marginals[1]) / 2)
    assert np.allclose(p[30:], (found.marginals[2] + found.marginals[3]) / 2)
    assert np.allclose(found.mean([2], [1]), found.marginals[2])


def test_members_of_one_fold_are_averaged_on_it():
    found = held_out(("cross-entropy", 0, 0.3), ("cross-entropy", 0, 0.5), ("mlp", 0, 0.5))
    expected = (found.marginals[0] + found.marginals[1]) / 2
    assert np.allclose(found.mean([0, 1], [0]), expected)
    candidates = Candidates(found, ("cross-entropy", "mlp"))
    assert candidates.groups == {"cross-entropy": [0, 1], "mlp": [2], "networks": [0, 1, 2]}
    assert candidates.compared["cross-entropy"].scores == cross_validate(AVERAGEABLE, expected, TRUTH[0]).scores


def test_only_folds_that_every_method_has_held_out_count():
    found = held_out(("binary-relevance", 0, 0.6), ("cross-entropy", 0, 0.5), ("cross-entropy", 2, 0.1))
    assert found.common_folds(("binary-relevance", "cross-entropy")) == [0]
    assert found.common_folds(("cross-entropy",)) == [0, 2]
    candidates = Candidates(found, ("binary-relevance", "cross-entropy"))
    assert candidates.Y.shape[0] == 30
    alone = cross_validate(AVERAGEABLE, found.marginals[1], TRUTH[0])
    assert candidates.compared["cross-entropy"].scores == alone.scores
    assert candidates.groups == {"binary-relevance": [0], "cross-entropy": [1, 2], "everything": [1, 2, 0]}


def test_the_best_candidate_and_the_better_linear_model():
    found = held_out(("binary-relevance", 0, 0.9), ("binary-relevance-tfidf", 0, 0.6), ("mlp", 0, 0.8), ("seal-nce", 0, 0.05))
    candidates = Candidates(found, ("binary-relevance", "binary-relevance-tfidf", "mlp", "seal-nce"))
    assert candidates.groups["everything"] == [2, 3, 1]
    assert candidates.groups["networks"] == [2, 3]
    assert candidates.score(candidates.best()) == max(max(c.scores.values()) for c in candidates.compared.values())
    rule = candidates.rules("seal-nce", ["expected-f1"])["expected-f1"]
    assert rule.predict(found.marginals[3]).shape == TRUTH[0].shape


def test_averages_with_one_and_with_all_kinds_that_are_not_networks():
    names = ("binary-relevance", "binary-relevance-tfidf", "extra-trees", "mlp")
    found = held_out(("binary-relevance", 0, 0.6), ("binary-relevance-tfidf", 0, 0.9), ("extra-trees", 0, 0.5), ("mlp", 0, 0.8))
    groups = Candidates(found, names).groups
    mixed = {"networks+binary-relevance": [3, 0], "networks+extra-trees": [3, 2], "everything": [3, 0, 2]}
    assert groups == {**{name: [i] for i, name in enumerate(names)}, **mixed}
    two = held_out(("binary-relevance", 0, 0.6), ("extra-trees", 0, 0.5))
    assert Candidates(two, ("binary-relevance", "extra-trees")).groups["everything"] == [0, 1]


def test_the_best_member_does_not_depend_on_how_easy_a_fold_is():
    """A member of an easy fold scores higher; its lead over another method's there is what tells."""
    found = held_out(("cross-entropy", 0, 0.1), ("seal-nce", 0, 0.1), ("cross-entropy", 1, 0.95), ("seal-nce", 1, 0.6))
    assert found.score(1) > found.score(3)
    assert found.best_of([1, 3], ["cross-entropy"]) == 3
    assert found.best_of([1, 3], []) == 1
    short = held_out(("binary-relevance", 0, 0.9), ("seal-nce", 0, 0.1), ("seal-nce", 1, 0.6))
    assert short.best_of([1, 2], ["binary-relevance"]) == 1  # not a lead on one fold against a score on the other
    same = held_out(("seal-nce", 0, 0.6), ("seal-nce", 0, 0.1))
    assert same.best_of([0, 1], []) == 1


def test_rows_held_out_count_by_their_weights():
    weight = RNG.exponential(size=30)
    p, found = marginals(0, 0.5), HeldOut("micro-f1")
    found.add("cross-entropy", 0, p, Rows(None, TRUTH[0], weight))
    found.add("mlp", 0, marginals(0, 0.9), Rows(None, TRUTH[0], weight))
    expected = cross_validate(AVERAGEABLE, p, TRUTH[0], "micro-f1", weight=weight)
    assert expected.scores != cross_validate(AVERAGEABLE, p, TRUTH[0], "micro-f1").scores
    assert found.score(0) == max(expected.scores.values())
    assert Candidates(found, ("cross-entropy", "mlp")).compared["cross-entropy"].scores == expected.scores
