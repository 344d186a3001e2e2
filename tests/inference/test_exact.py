"""Solvers against enumeration and exact marginals."""

import itertools

import pytest
import torch
from torch import nn

from enstruct.energies import (
    ConditionalEnergy,
    ConditionalPairwiseEnergy,
    GlobalEnergy,
    LocalEnergy,
    ModuleEnergy,
    PairwiseEnergy,
    SumEnergy,
)
from enstruct.errors import ConfigError
from enstruct.inference.exact import Exact, belief_propagation, mean_field, pairwise_form
from enstruct.spaces import LabelSpace

L = 6


def a_field(labels: int = L, rows: int = 200, strength: float = 1.0):
    torch.manual_seed(0)
    pairwise = PairwiseEnergy(labels, None)
    nn.init.normal_(pairwise.factor, std=strength)
    nn.init.normal_(pairwise.linear)
    energy = SumEnergy(None, [LocalEnergy(4, labels), pairwise]).double()
    return energy, energy.prepare(torch.randn(rows, 4, dtype=torch.float64))


def corners(labels: int = L):
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=labels)), dtype=torch.float64)


def test_pairwise_form_is_the_energy_on_binary_outputs():
    energy, state = a_field(rows=3)
    unary, pairs = pairwise_form(energy, state)
    y = corners()
    by_hand = unary @ y.T + ((y @ pairs) * y).sum(1) / 2
    torch.testing.assert_close(by_hand, energy(state, y.expand(3, -1, -1)))


@pytest.mark.parametrize("augmented", [False, True])
def test_the_integer_program_equals_enumeration_on_200_rows(augmented):
    energy, state = a_field()
    space = LabelSpace(L, "hamming-sum")
    truth = (torch.rand(200, L) < 0.4).double() if augmented else None
    by_program = Exact("integer-program").solve(energy, state, space, truth)
    by_enumeration = Exact("enumeration").solve(energy, state, space, truth)
    torch.testing.assert_close(by_program.energy, by_enumeration.energy)
    assert torch.equal(by_program.y, by_enumeration.y)


def test_the_relaxation_bounds_it_from_below():
    energy, state = a_field()
    unary, pairs = pairwise_form(energy, state)
    y = Exact("linear-program").solve(energy, state, LabelSpace(L)).y
    best = Exact("enumeration").solve(energy, state, LabelSpace(L)).energy
    least = torch.where(
        pairs > 0, (y.unsqueeze(2) + y.unsqueeze(1) - 1).clamp(min=0), torch.minimum(y.unsqueeze(2), y.unsqueeze(1))
    )
    bound = (unary * y).sum(1) + (pairs * least).sum((1, 2)) / 2
    assert (bound <= best + 1e-8).all()
    whole = (y == y.round()).all(1)
    assert whole.any()
    torch.testing.assert_close(bound[whole], best[whole])  # an integral relaxation is exact


def exact_marginals(energy, state):
    y = corners()
    p = torch.softmax(-energy(state, y.expand(state.batch, -1, -1)), dim=1)
    return (p @ y).detach()


def test_belief_propagation_is_exact_on_a_tree():
    energy, state = a_field(rows=20)
    chain = torch.diag(torch.ones(L - 1, dtype=torch.float64), 1)
    with torch.no_grad():
        energy.terms[1].factor.mul_(chain)
    unary, pairs = pairwise_form(energy, state)
    p, settled = belief_propagation(unary.detach(), pairs, 500, 0.0)
    assert settled
    torch.testing.assert_close(p, exact_marginals(energy, state), atol=1e-6, rtol=0)


def test_approximate_marginals_are_near_for_weak_pairs():
    energy, state = a_field(rows=20, strength=0.2)
    unary, pairs = pairwise_form(energy, state)
    exact = exact_marginals(energy, state)
    by_lbp, _ = belief_propagation(unary.detach(), pairs, 200, 0.5)
    by_mean_field, _ = mean_field(unary.detach(), pairs, 200)
    assert float((by_lbp - exact).abs().max()) < 0.01
    assert float((by_mean_field - exact).abs().max()) < 0.05
    assert float((by_lbp - exact).abs().mean()) < float((by_mean_field - exact).abs().mean())


def test_holes_stay_empty():
    energy, state = a_field(rows=10)
    mask = torch.ones(10, L, dtype=torch.float64)
    mask[:, 2] = 0
    state = state._replace(mask=mask)
    answers = [Exact(solver).solve(energy, state, LabelSpace(L)).y for solver in ("enumeration", "integer-program")]
    assert float(answers[0][:, 2].sum()) == 0
    torch.testing.assert_close(*answers)


def test_an_energy_of_labels_alone_is_solved_without_pairs():
    energy = SumEnergy(torch.nn.Identity(), [LocalEnergy(3, 17)]).double()
    state = energy.prepare(torch.randn(8, 3, dtype=torch.float64))
    unary, pairs = pairwise_form(energy, state)
    assert float(pairs.abs().sum()) == 0
    y = Exact("integer-program").solve(energy, state, LabelSpace(17)).y
    torch.testing.assert_close(y, (unary < 0).to(y))


def test_what_a_solver_cannot_do_it_says():
    energy, state = a_field(labels=17, rows=1)
    with pytest.raises(ConfigError, match="linear-program"):
        Exact("enumeration").solve(energy, state, LabelSpace(17))
    with pytest.raises(ConfigError, match="linear in binary y"):
        Exact("integer-program").solve(energy, state, LabelSpace(17, "soft-f1"), torch.zeros(1, 17, dtype=torch.float64))
    other = SumEnergy(None, [GlobalEnergy(17)]).double()
    with pytest.raises(ConfigError, match="local and pairwise"):
        Exact("mean-field").solve(other, other.prepare(torch.zeros(1, 3, dtype=torch.float64)), LabelSpace(17))
    with pytest.raises(ConfigError, match="integer-program"):
        Exact("integer-programme")


@pytest.mark.parametrize("cost", ["hamming-sum", "soft-f1", None])
def test_enumeration_of_many_rows_is_that_of_each(cost, monkeypatch):
    """Terms that broadcast, a module that does not, and rows in several chunks."""

    class Plain(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x, y):
            assert len(y) == len(x)
            return self.inner(self.inner.prepare(x), y)

    torch.manual_seed(0)
    terms = [LocalEnergy(4, L), GlobalEnergy(L, 3), ConditionalEnergy(4, L, 3), ConditionalPairwiseEnergy(4, L, 2)]
    energy = SumEnergy(None, [*terms, PairwiseEnergy(L, 2)]).double()
    x = torch.randn(7, 4, dtype=torch.float64)
    truth = None if cost is None else (torch.rand(7, L) < 0.5).double()
    space = LabelSpace(L, cost or "soft-f1")
    monkeypatch.setattr("enstruct.inference.exact.MOST_CELLS", 3 * 2**L * L)
    whole = Exact("enumeration").solve(energy, energy.prepare(x), space, truth)
    plain = ModuleEnergy(Plain(energy))
    by_module = Exact("enumeration").solve(plain, plain.prepare(x), space, truth)
    assert torch.equal(whole.y, by_module.y)
    for row in range(7):
        y = corners().unsqueeze(0)
        value = energy(energy.prepare(x[row : row + 1]), y).squeeze(0)
        if truth is not None:
            value = value - space.cost(y, truth[row : row + 1]).squeeze(0)
        assert torch.equal(whole.y[row], corners()[value.argmin()])
        assert float(whole.energy[row].detach()) == pytest.approx(float(value.min().detach()))


@pytest.mark.parametrize("settings", [{"iterations": 0}, {"damping": 1.0}, {"damping": -0.1}, {"solver": "enumerate"}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(ConfigError):
        Exact(**settings)
    assert Exact(iterations=1, damping=0.0).iterations == 1
