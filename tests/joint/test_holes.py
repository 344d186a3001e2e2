"""Holes are filled by draws from the energy, so that couplings are those of whole label sets."""

import pytest
import torch
from tests.joint.problems import joint_of, marginals, random_energy, random_logits
from tests.training.planted import divergence
from tests.training.test_residual import PAIRS, pairwise, sample

from enstruct.joint import holes
from enstruct.joint.holes import Whole, given_others
from enstruct.training.residual import refit
from enstruct.training.residual_candidates import Examples

L, ROWS = 6, 5


def with_holes(y, share, seed=0):
    return torch.where(torch.rand(y.shape, generator=torch.Generator().manual_seed(seed)) < share, torch.nan, y)


@pytest.mark.parametrize("units", [0, 3])
def test_draws_are_those_of_the_energy_given_what_was_observed(units):
    energy, logits = random_energy(L, pairs=True, units=units), random_logits(ROWS, L)
    observed = with_holes((random_logits(ROWS, L, 1) > 0).float(), 0.5)
    observed[0] = 1.0  # nothing to fill
    exact = marginals(joint_of(energy, logits), observed)
    whole, total, sweeps = Whole(logits, observed, 0), torch.zeros(ROWS, L), 2000
    for _ in range(sweeps):
        whole.redraw(energy)
        total += whole.y
    assert torch.equal(whole.y[~observed.isnan()], observed[~observed.isnan()])
    assert ((total / sweeps - exact).abs() < 0.05).all()


def test_first_draws_are_from_the_bases_marginals():
    logits = random_logits(1, L).expand(4000, -1)
    y = Whole(logits, torch.full((4000, L), torch.nan), 0).y
    assert ((y.mean(0) - torch.sigmoid(logits[0])).abs() < 0.04).all()


def test_whole_rows_are_left_as_they_are():
    observed = torch.ones(ROWS, L)
    whole = Whole(random_logits(ROWS, L), observed, 0)
    whole.redraw(random_energy(L, pairs=True, units=2))
    assert torch.equal(whole.y, observed)


def test_blocks_of_rows_are_each_drawn(monkeypatch):
    energy, logits = random_energy(L, pairs=True, units=2), random_logits(ROWS, L)
    monkeypatch.setattr(holes, "CELLS", 1)
    whole = Whole(logits, torch.full((ROWS, L), torch.nan), 0)
    before = whole.y.clone()
    whole.redraw(energy, 3)
    assert ((whole.y == 0) | (whole.y == 1)).all()
    assert (whole.y != before).any(1).all()


def test_couplings_are_those_of_whole_sets(monkeypatch):
    """A planted distribution of which half of the cells is hidden: KL is that of the noise of fewer rows, and a large multiple of
    it where holes are silent, as detours over them are then learnt as couplings and counted again where they are filled."""
    truth, examples = sample(pairwise(), rows=4000)
    hidden = Examples(examples.logits, with_holes(examples.y, 0.5), examples.weight)
    filled = divergence(truth, refit(PAIRS, hidden, 60, 0), examples.logits)
    assert filled < 0.02
    monkeypatch.setattr(Whole, "redraw", lambda self, energy: setattr(self, "y", torch.where(self._hole, self._silent, self.y)))
    monkeypatch.setattr(Whole, "_silent", torch.sigmoid(examples.logits), raising=False)
    assert divergence(truth, refit(PAIRS, hidden, 60, 0), examples.logits) > 3 * filled


def test_a_label_given_the_others(monkeypatch):
    """Against enumeration: exactly where nothing is hidden, to the noise of so many draws where something is."""
    energy, logits = random_energy(L, pairs=True, units=3, scale=0.5), random_logits(ROWS, L)
    y = (random_logits(ROWS, L, 1) > 0).float()
    observed = with_holes(y, 0.4)
    monkeypatch.setattr(holes, "DRAWS", 2000)
    monkeypatch.setattr(holes, "CELLS", 3 * 3 * L)  # blocks of three rows
    for given, tolerance in ((y, 1e-5), (observed, 0.03)):
        expected = torch.full((ROWS, L), torch.nan, dtype=torch.float64)
        for i in range(L):
            others = given.clone()
            others[:, i] = torch.nan
            p = marginals(joint_of(energy, logits), others)[:, i].double()
            expected[:, i] = torch.where(given[:, i].isnan(), torch.nan, torch.where(given[:, i] == 1, p, 1 - p))
        found = given_others(energy, logits, given, 0)
        torch.testing.assert_close(found, expected, atol=tolerance, rtol=0.0, equal_nan=True)
