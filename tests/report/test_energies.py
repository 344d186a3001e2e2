"""Interactions against enumeration, walks against every order of steps."""

from itertools import permutations

import numpy as np
import pytest
import torch

from enstruct.energies.residual import ResidualEnergy
from enstruct.report.energies import LabelEnergy, OnLogits, Situation, greedy_path, interactions

L = 5


@pytest.fixture
def planted():
    """A table of couplings, logits of 7 rows, and a joint's energy of that table alone."""
    rng = np.random.default_rng(0)
    half = torch.tensor(rng.standard_normal((L, L)), dtype=torch.float32)
    energy = ResidualEnergy(L)
    energy.table.data.copy_(half)
    return (
        (half + half.T).fill_diagonal_(0).numpy(),
        torch.tensor(rng.standard_normal((7, L)), dtype=torch.float32),
        energy.eval(),
    )


def as_found(energy, logits, own=True):
    """Rows X are their own logits."""

    def at(X):
        state = energy.prepare(X)
        return Situation(lambda y: energy(state, y).double().detach(), torch.sigmoid(X))

    return LabelEnergy(np.arange(L), at, OnLogits(energy, lambda X: X) if own else None)


@pytest.mark.parametrize("own", [True, False])
def test_planted_couplings_come_back(planted, own):
    table, logits, energy = planted
    found = interactions(as_found(energy, logits, own), logits, np.arange(L))
    np.testing.assert_allclose(found, table, atol=1e-5)
    some = np.array([3, 1])
    np.testing.assert_allclose(interactions(as_found(energy, logits, own), logits, some), table[np.ix_(some, some)], atol=1e-5)


def test_hidden_units_by_both_ways_and_by_enumeration(planted):
    _, logits, _ = planted
    torch.manual_seed(1)
    energy = ResidualEnergy(L, units=6).eval()
    for parameter in energy.parameters():
        parameter.data.normal_()
        parameter.requires_grad_(False)
    found = [interactions(as_found(energy, logits, own), logits, np.arange(L)) for own in (True, False)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)
    mean = torch.sigmoid(logits)
    state = energy.prepare(logits)
    for i, j in ((0, 1), (2, 4)):
        value = 0.0
        for a, b, sign in ((1, 0, 1), (0, 1, 1), (1, 1, -1), (0, 0, -1)):
            y = mean.clone()
            y[:, i], y[:, j] = float(a), float(b)
            value += sign * float(energy(state, y.unsqueeze(1)).mean())
        assert found[0][i, j] == pytest.approx(value, abs=1e-4)
    assert np.array_equal(found[0], found[0].T)


def test_blocks_of_pairs_say_the_same(planted, monkeypatch):
    table, logits, energy = planted
    monkeypatch.setattr("enstruct.report.energies.CELLS", 300)
    np.testing.assert_allclose(interactions(as_found(energy, logits, own=False), logits, np.arange(L)), table, atol=1e-5)


def test_a_walk_takes_the_cheapest_label_at_each_step(planted):
    _, logits, energy = planted
    energies = as_found(energy, logits).at(logits[:1]).energies
    start, end = np.zeros(L, np.float32), np.array([1, 0, 1, 1, 0], np.float32)
    path = greedy_path(energies, start, end)

    def along(order):
        y, values = start.copy(), []
        for label in (None, *order):
            if label is not None:
                y[label] = end[label]
            values.append(float(energies(torch.from_numpy(y.copy())[None, None])[0, 0]))
        return values

    every = [along(order) for order in permutations([0, 2, 3])]
    assert path[1] == min(values[1] for values in every)
    assert path in every
    assert path[-1] == pytest.approx(every[0][-1])
    assert greedy_path(energies, start, start) == path[:1]
