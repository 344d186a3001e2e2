"""Terms of residual energies by numbers of labels; what their optimiser holds down, and how fast it goes."""

import pytest
import torch

from enstruct.training.residual_candidates import (
    CANDIDATES,
    INDEPENDENT,
    MOST_PAIRS,
    QUICKLY,
    SLOWLY,
    STACK_DECAY,
    Candidate,
    Examples,
)

L = 6


@pytest.mark.parametrize(
    ("name", "n_labels", "suits"),
    [
        ("pairs", 1, False),
        ("independent", 1, True),
        ("pairs", 1500, True),
        ("pairs", 1501, False),
        ("units", 401, False),
        ("factors", 1500, False),
        ("factors", 1501, True),
    ],
)
def test_which_candidates_suit_so_many_labels(name, n_labels, suits):
    candidate = next(one for one in CANDIDATES if one.name == name)
    assert candidate.suits(n_labels) == suits


def test_frequencies_are_of_observed_cells_by_weight():
    y = torch.tensor([[1.0, 0.0], [torch.nan, 0.0], [0.0, 1.0]])
    frequency = Examples(torch.zeros(3, 2), y, torch.tensor([2.0, 1.0, 1.0])).frequency()
    torch.testing.assert_close(frequency, torch.tensor([2.5 / 4, 1.5 / 5]))


def test_an_energy_begins_at_the_spread_and_the_frequencies_of_its_rows():
    rows = Examples(torch.randn(20, L), (torch.rand(20, L) < 0.3).float(), torch.ones(20))
    energy = Candidate("pairs", pairs=True, smoothed=True).energy(rows, 0)
    torch.testing.assert_close(energy.frequency, rows.frequency())
    torch.testing.assert_close(energy.mean, rows.logits.mean(0))
    assert Candidate("pairs", pairs=True).energy(rows, 0).smoothing is None


def test_decay_is_of_all_but_slopes_biases_and_smoothing_which_learns_quickly():
    rows = Examples(torch.randn(20, L), torch.zeros(20, L), torch.ones(20))
    candidate = Candidate("decayed", pairs=True, units=3, stacked=True, smoothed=True, decay=10.0)
    energy = candidate.energy(rows, 0)
    settings = {}
    for group in candidate.optimizer(energy, 1e-2).param_groups:
        settings |= {id(p): (group["weight_decay"], group["lr"]) for p in group["params"]}
    own = {"slope": (0.0, 1e-2), "bias": (0.0, 1e-2), "smoothing": (0.0, QUICKLY * 1e-2), "stack": (STACK_DECAY, SLOWLY * 1e-2)}
    assert {name: settings[id(p)] for name, p in energy.named_parameters()} == {
        name: own.get(name, (10.0, 1e-2)) for name, _ in energy.named_parameters()
    }


@pytest.mark.usefixtures("stacked_terms")
def test_what_may_be_stacked():
    further = CANDIDATES[1].with_stack()
    assert (further.name, further.stacked, further.decay) == ("pairs, stacked", True, CANDIDATES[1].decay)
    assert CANDIDATES[1].can_stack(MOST_PAIRS)
    assert not CANDIDATES[1].can_stack(MOST_PAIRS + 1)
    assert not any(one.can_stack(9) for one in (INDEPENDENT, further, CANDIDATES[1].continued()))


def test_a_continued_one_is_named_so():
    further = CANDIDATES[1].continued()
    assert (further.name, further.persistent, further.decay) == ("pairs, persistent", True, CANDIDATES[1].decay)
