"""Co-occurrence by counting, with holes and without."""

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.html_checks import Page

from enstruct.energies.residual import ResidualEnergy
from enstruct.report.about import label_counts, label_facts
from enstruct.report.energies import LabelEnergy, OnLogits
from enstruct.report.markup import joined
from enstruct.report.ties import co_occurrence, sampled, ties_section


def by_hand(Y, i, j):
    known = ~np.isnan(Y[:, i]) & ~np.isnan(Y[:, j])
    a, b = Y[known, i] == 1, Y[known, j] == 1
    n = [((a == x) & (b == y)).sum() + 0.5 for x, y in ((1, 1), (0, 0), (1, 0), (0, 1))]
    return n[0] - 0.5, np.log(n[0] * n[1] / (n[2] * n[3])), np.sqrt(sum(1 / each for each in n))


@pytest.mark.parametrize("holes", [False, True])
def test_pairs_are_counted_where_both_are_known(holes):
    rng = np.random.default_rng(0)
    Y = (rng.random((50, 4)) < [0.5, 0.3, 0.1, 0.0]).astype(float)
    Y[:, 1] = np.where(rng.random(50) < 0.8, Y[:, 0], Y[:, 1])
    if holes:
        Y[rng.random(Y.shape) < 0.25] = np.nan
    found = co_occurrence(Y if holes else sparse.csr_matrix(Y.astype(np.uint8)))
    for i in range(4):
        for j in range(i):
            assert (found.both[i, j], found.log_odds[i, j], found.error[i, j]) == pytest.approx(by_hand(Y, i, j))
    assert (np.diag(found.log_odds) == 0).all()


def test_labels_are_counted_where_they_are_known():
    Y = np.array([[1, 0, np.nan], [1, np.nan, 1], [0, 0, 1]], dtype=float)
    there, known = label_counts(Y)
    assert there.tolist() == [2, 0, 2]
    assert known.tolist() == [3, 2, 2]
    assert label_facts(Y)["label cells unknown"] == "2 (22.2%)"
    assert "label cells unknown" not in label_facts(sparse.csr_matrix(np.nan_to_num(Y)))


def test_data_without_ties_say_so():
    Y = sparse.csr_matrix(np.eye(4, dtype=np.uint8)[[0] * 10])
    section = ties_section(Y, list("abcd"), None, np.zeros((10, 1)), 0)
    assert "No two labels are tied" in Page(joined(*section.blocks)).words()


@pytest.mark.parametrize("pairs", [False, True])
def test_an_energy_without_ties_leaves_those_of_the_data(pairs):
    rng = np.random.default_rng(0)
    a = rng.random(80) < 0.5
    Y = sparse.csr_matrix(np.stack([a, a ^ (rng.random(80) < 0.1), ~a], axis=1).astype(np.uint8))
    network = ResidualEnergy(3, pairs=pairs).eval().requires_grad_(False)
    if pairs:
        network.table[0, 1] = 1.5
    logits = torch.tensor(rng.standard_normal((80, 3)), dtype=torch.float32)
    energy = LabelEnergy(np.arange(3), lambda X: None, OnLogits(network, lambda X: X))
    page = Page(joined(*ties_section(Y, ["a", "b", "c"], energy, logits, 0).blocks))
    assert ("ties no labels to one another" in page.words()) is not pairs
    assert len(page.of("svg")) == 1 + pairs
    assert ("a multiplies the odds of b by 4.5, x being known" in page.words()) is pairs


def test_rows_are_drawn_by_the_seed():
    assert sampled(5, 9, 0).tolist() == [0, 1, 2, 3, 4]
    few = sampled(100, 10, 3)
    assert len(set(few)) == 10
    assert sorted(few) == few.tolist() == sampled(100, 10, 3).tolist()
