"""An energy relative to a predictor, made absolute."""

import torch

from enstruct.energies import GlobalEnergy, LocalEnergy, SumEnergy
from enstruct.energies.tilted import TiltedEnergy


def test_a_tilted_energy_subtracts_the_logits():
    torch.manual_seed(0)
    energy = SumEnergy(None, [LocalEnergy(3, 5), GlobalEnergy(5, units=7)]).double()
    state, logits = energy.prepare(torch.randn(4, 3, dtype=torch.float64)), torch.randn(4, 5, dtype=torch.float64)
    mask = (torch.rand(4, 5) < 0.7).double()
    for hidden in (None, mask):
        before = state._replace(mask=hidden)
        y = torch.rand(4, 2, 5, dtype=torch.float64, requires_grad=True)
        by_hand = energy(before, y) - (y * (logits if hidden is None else logits * mask).unsqueeze(1)).sum(-1)
        tilted = TiltedEnergy(energy)
        after = tilted.prepare_with(before, logits)
        value, gradient = tilted.value_and_gradient(after, y)
        torch.testing.assert_close(value, by_hand)
        torch.testing.assert_close(tilted(after, y), by_hand)
        (expected,) = torch.autograd.grad(by_hand.sum(), y)
        torch.testing.assert_close(gradient.expand_as(y), expected)
