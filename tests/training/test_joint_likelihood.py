"""The held-out likelihood is the exact one, within its sampling error."""

import math

import numpy as np
import pytest
import torch
from tests.joint.problems import joint_of, log_densities, random_energy, random_logits

from enstruct.training.joint_likelihood import likelihoods
from enstruct.training.residual_candidates import Examples


def exact_nats(energy, examples):
    """(rows,) -log p(y | x) by enumeration."""
    joint = joint_of(energy, examples.logits)
    number = (examples.y @ 2.0 ** torch.arange(examples.y.shape[1] - 1, -1, -1)).long()
    return -torch.log_softmax(log_densities(joint), 1).gather(1, number.unsqueeze(1)).squeeze(1)


@pytest.mark.parametrize("n_labels", [1, 5, 8])
def test_likelihood_is_the_exact_one_within_its_sampling_error(n_labels):
    """Random orders and shares: the mean over 60 seeds, within 4 of its standard errors."""
    energy, logits = random_energy(n_labels, pairs=True, units=3), random_logits(10, n_labels)
    examples = Examples(logits, (torch.rand(10, n_labels) < 0.5).float(), torch.ones(10))
    runs = torch.stack([likelihoods(energy, examples, seed, 0.02).mean() for seed in range(60)])
    exact = float(exact_nats(energy, examples).mean())
    assert abs(float(runs.mean()) - exact) < 4 * float(runs.std()) / math.sqrt(60) + 1e-4
    assert likelihoods(energy, examples, 0, 0.02).shape == (10,)


def test_likelihood_of_observed_labels_alone():
    """The others are summed over; a row of which nothing was observed has none."""
    energy, logits = random_energy(4, pairs=True), random_logits(20, 4)
    y = (torch.rand(20, 4) < 0.5).float()
    y[:, 1] = torch.nan
    y[:10, 3] = torch.nan
    y[0] = torch.nan
    joint = joint_of(energy, logits)
    exact = -joint.log_probability(y).value
    runs = torch.stack([likelihoods(energy, Examples(logits, y, torch.ones(20)), seed, 0.02) for seed in range(100)])
    assert not runs[:, 0].any()
    assert (np.abs(runs.mean(0).numpy() - exact) <= 4.5 * runs.std(0).numpy() / 10 + 1e-4).all()


def test_likelihood_weighs_rows():
    energy, logits = random_energy(4, pairs=True), random_logits(20, 4)
    y, weight = (torch.rand(20, 4) < 0.5).float(), torch.rand(20)
    weighted, alike = (likelihoods(energy, Examples(logits, y, each), 0, 0.02) for each in (weight, torch.ones(20)))
    torch.testing.assert_close(weighted, alike * weight)
