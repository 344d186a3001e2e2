"""Energies cross-fitted, and what they say of given labels."""

import numpy as np
import pytest
import torch

from enstruct.estimators.label_issues import Asked, quality_by
from enstruct.training.residual_candidates import Candidate, Examples
from enstruct_bench.joint.cross_fitted import cross_fitted_energies

PAIRS = Candidate("pairs", pairs=True, decay=0.1, rate=3e-2)
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(300, 4)).astype(np.float32)
Y = (RNG.random((300, 4)) < 0.5).astype(np.float32)
Y[:, 1] = Y[:, 0]
FOLDS = [np.arange(k, 300, 3) for k in range(3)]


def given_others(y, energies):
    """(rows, labels) p of the labels y as given."""
    return quality_by(
        [Asked(*one) for one in zip(FOLDS, energies, strict=True)], torch.from_numpy(LOGITS), torch.from_numpy(y), 0
    )[1]


def examples(y):
    return Examples(torch.from_numpy(LOGITS), torch.from_numpy(y), torch.ones(300))


@pytest.fixture(scope="module")
def energies():
    return cross_fitted_energies(examples(Y), FOLDS, PAIRS, 40, seed=0)


def test_quality_is_the_probability_of_a_label_given_all_others_by_energies_of_whole_sets(energies):
    quality = given_others(Y, energies)
    for fold, energy in zip(FOLDS, energies, strict=True):
        state = energy.prepare(torch.from_numpy(LOGITS[fold]))
        for label in range(4):
            other = Y[fold].copy()
            other[:, label] = 1 - other[:, label]
            sets = torch.from_numpy(np.stack([Y[fold], other], axis=1))
            with torch.no_grad():
                p = torch.softmax(-energy(state, sets), 1)[:, 0]
            assert quality[fold, label] == pytest.approx(p.numpy(), abs=1e-5)


def test_labels_that_always_agree_are_suspects_where_they_do_not(energies):
    wrong = Y.copy()
    wrong[::7, 1] = 1 - wrong[::7, 1]
    quality = given_others(wrong, energies)
    assert quality[::7, 1].mean() < 0.2 < 0.7 < np.delete(quality[:, 1], np.arange(0, 300, 7)).mean()


def test_unobserved_cells_have_no_quality(energies):
    holes = Y.copy()
    holes[3, 2] = np.nan
    quality = given_others(holes, energies)
    assert np.isnan(quality).sum() == 1
    assert np.isnan(quality[3, 2])


def test_an_energy_has_not_seen_the_labels_of_its_own_fold(energies):
    other = Y.copy()
    other[FOLDS[0]] = 1 - other[FOLDS[0]]
    again = cross_fitted_energies(examples(other), FOLDS, PAIRS, 40, seed=0)
    assert torch.equal(again[0].slope, energies[0].slope)
    assert not torch.equal(again[1].slope, energies[1].slope)
