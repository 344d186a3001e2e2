"""Who moves when."""

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.hypergradients import Alternating


def test_schedules():
    def moves(**changes):
        return "".join(player[0] for player in Alternating(**changes).schedule())

    assert moves() == "ep"
    assert moves(first="predictor") == "pe"
    assert moves(energy_steps=3, predictor_steps=2) == "eeepp"
    assert moves(energy_steps=2, repeats=3) == "eepeepeep"  # the published (nE, nF) = (2, 3)


def test_gradient_is_the_explicit_one():
    w = torch.tensor([2.0], requires_grad=True)
    unused = torch.tensor([1.0], requires_grad=True)
    gradient, none = Alternating().gradient((w**3).sum(), [w, unused])
    assert gradient.item() == pytest.approx(12.0)
    assert none is None


@pytest.mark.parametrize("change", [{"energy_steps": 0}, {"repeats": -1}, {"first": "both"}])
def test_impossible_schedules_are_refused(change):
    with pytest.raises(ConfigError):
        Alternating(**change)
