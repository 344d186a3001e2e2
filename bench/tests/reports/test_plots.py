"""Interaction energies by hand."""

import torch

from enstruct.energies import GlobalEnergy
from enstruct.plots.labels import pair_interactions


def test_pair_interactions_of_a_quadratic_penalty():
    """relu(y_0 + y_1 - 1) costs 1 exactly when both are on."""
    term = GlobalEnergy(3, units=1, nonlinearity="relu")
    with torch.no_grad():
        term.measurements.matrix.copy_(torch.tensor([[1.0], [1.0], [0.0]]))
        term.measurements.weights.fill_(2.0)
        term.bias.fill_(-1.0)
    interactions = pair_interactions(term, torch.zeros(5, 3))
    assert interactions[0, 1] == interactions[1, 0] == 2.0
    assert abs(interactions[2]).max() == 0.0
