"""Who moves when, and the gradient that leaves the other player still."""

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.hypergradients import Alternating, Bilevel, Implicit


def test_schedules():
    def moves(coupling=Alternating, **changes):
        return "".join(player[0] for player in coupling(**changes).schedule())

    assert moves() == "ep"
    assert moves(update_first="predictor") == "pe"
    assert moves(energy_steps=3, predictor_steps=2) == "eeepp"
    assert moves(energy_steps=2, rounds_per_batch=3) == "eepeepeep"  # the published (nE, nF) = (2, 3)
    assert moves(Implicit, predictor_steps=3) == "pppe"  # T_inner steps, then the energy (the implicit paper's Algorithm 1)


def test_gradient_is_the_explicit_one():
    w = torch.tensor([2.0], requires_grad=True)
    unused = torch.tensor([1.0], requires_grad=True)

    def outer(theta):
        return (w**3).sum() * theta[0]

    problem = Bilevel(outer, outer, (torch.tensor(1.0, requires_grad=True),), (w, unused))
    gradient, none = Alternating().gradient(problem).gradient
    assert gradient.item() == pytest.approx(12.0)
    assert none is None


@pytest.mark.parametrize("change", [{"energy_steps": 0}, {"rounds_per_batch": -1}, {"update_first": "both"}])
def test_impossible_schedules_are_refused(change):
    with pytest.raises(ConfigError):
        Alternating(**change)
