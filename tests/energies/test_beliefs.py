"""Beliefs of pairs against enumeration, a one-dimensional search, and message passing that is exact on forests."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar

from enstruct.energies import BeliefEnergy, LocalEnergy, SumEnergy
from enstruct.energies.beliefs import CELLS, MOST_LABELS, PACE, Odds, _Excess, _Pairs
from enstruct.errors import ConfigError
from enstruct.inference import Exact, MirrorDescent, minimise
from enstruct.inference.exact import all_label_sets, belief_propagation, pairwise_form
from enstruct.spaces import LabelSpace

L = 5


def a_field(links=None, rows: int = 3):
    """Every pair interacts, or those of ``links``."""
    torch.manual_seed(0)
    term = BeliefEnergy(L)
    torch.nn.init.normal_(term.factor, std=2.0 / PACE)
    torch.nn.init.normal_(term.linear)
    if links is not None:
        kept = torch.zeros(L, L)
        for i, j in links:
            kept[i, j] = 1
        with torch.no_grad():
            term.factor.mul_(kept)
    energy = SumEnergy(None, [LocalEnergy(4, L), term]).double()
    return energy, energy.prepare(torch.randn(rows, 4, dtype=torch.float64))


def divergence(r, first, second):
    cells = np.array([r, first - r, second - r, 1 - first - second + r])
    return float(cells @ np.log(cells / [first * second, first * (1 - second), (1 - first) * second, (1 - first) * (1 - second)]))


def joint_belief(first: float, second: float, w: float, dtype=torch.float64) -> float:
    table = torch.tensor([[0.0, w], [w, 0.0]], dtype=dtype)
    return _Pairs(torch.tensor([first, second], dtype=dtype), Odds(table)).both[0, 1].item()


@pytest.mark.parametrize("w", [-30.0, -2.0, -1e-9, 0.0, 0.7, 4.0, 25.0])
@pytest.mark.parametrize(("first", "second"), [(0.3, 0.6), (0.5, 0.5), (0.02, 0.97), (0.9, 0.9)])
def test_a_pairs_belief_is_the_best_there_is(w, first, second):
    r = joint_belief(first, second, w)
    low, high = max(0.0, first + second - 1), min(first, second)
    assert low <= r <= high
    found = minimize_scalar(lambda at: w * at + divergence(at, first, second), bounds=(low, high), options={"xatol": 1e-10})
    assert r == pytest.approx(found.x, abs=1e-5)


@pytest.mark.parametrize("w", [-40.0, -17.0, -3.0, 0.0, 3.0, 12.0, 17.0, 40.0])
def test_single_precision_loses_no_cell(w):
    """At strong interactions and labels that are nearly sure, where sums of beliefs cancel."""
    q = torch.tensor([1e-5, 0.3, 0.9, 0.99995, 1 - 1e-5, 0.5])
    table = torch.full((6, 6), w).fill_diagonal_(0.0)
    single, double = _Pairs(q, Odds(table)), _Pairs(q.double(), Odds(table.double()))
    for name in ("agree", "alone", "other", "neither"):
        torch.testing.assert_close(getattr(single, name).double(), getattr(double, name), rtol=2e-3, atol=1e-12)
    torch.testing.assert_close(single.slope().double(), double.slope(), rtol=1e-2, atol=2e-2)
    assert joint_belief(0.9, 0.9, w, torch.float32) == pytest.approx(joint_belief(0.9, 0.9, w), rel=1e-4)


def test_pairs_without_an_interaction_send_nothing():
    term, q = BeliefEnergy(30), torch.full((1, 1, 30), 0.99995)
    assert term.value_and_gradient(None, q)[1].abs().max() < 0.05


def test_many_outputs_are_worked_on_piece_by_piece():
    torch.manual_seed(0)
    term, n = BeliefEnergy(40), 4 * CELLS // 40**2
    torch.nn.init.normal_(term.factor, std=1 / PACE)
    q = torch.rand(n // 2, 2, 40).requires_grad_()
    whole, slope = term.value_and_gradient(None, q)
    (by_table,) = torch.autograd.grad(term(None, q).sum(), term.factor)
    single = [term.value_and_gradient(None, q[i : i + 1, s : s + 1]) for i in range(n // 2) for s in range(2)]
    torch.testing.assert_close(whole.flatten(), torch.cat([value.flatten() for value, _ in single]), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(slope.flatten(0, 1), torch.cat([each.flatten(0, 1) for _, each in single]), rtol=1e-4, atol=1e-3)
    parts = [torch.autograd.grad(term(None, q[i : i + 1]).sum(), term.factor)[0] for i in range(n // 2)]
    torch.testing.assert_close(by_table, torch.stack(parts).sum(0), rtol=1e-3, atol=1e-1)


def test_the_value_can_be_differentiated_twice_in_labels_and_table():
    energy, state = a_field(rows=1)
    q = torch.rand(1, 1, L, dtype=torch.float64, requires_grad=True)
    half = torch.randn(L, L, dtype=torch.float64, requires_grad=True)

    def excess(q, half):
        table = half + half.T
        return _Excess.apply(q, table - torch.diag(table.diagonal()))

    assert torch.autograd.gradcheck(excess, (q, half), eps=1e-6, atol=1e-5)
    assert torch.autograd.gradgradcheck(excess, (q, half), eps=1e-6, atol=1e-4)
    (slope,) = torch.autograd.grad(energy(state, q).sum(), q, create_graph=True)
    torch.testing.assert_close(slope, energy.value_and_gradient(state, q)[1].expand_as(q))


def test_the_value_is_the_sum_over_pairs():
    energy, _ = a_field()
    term, q = energy.part("beliefs").requires_grad_(False), torch.rand(L, dtype=torch.float64)
    w = 2 * term.interactions()
    total = float(q @ term.linear)
    for i, j in itertools.combinations(range(L), 2):
        r = joint_belief(float(q[i]), float(q[j]), float(w[i, j]))
        total += float(w[i, j]) * r + divergence(r, float(q[i]), float(q[j]))
    assert term(None, q.view(1, 1, L)).item() == pytest.approx(total)


def test_label_sets_have_the_energy_of_the_pairwise_field():
    energy, state = a_field()
    unary, pairs = pairwise_form(energy, state)
    y = all_label_sets(L).double()
    torch.testing.assert_close(energy(state, y.expand(3, -1, -1)), unary @ y.T + ((y @ pairs) * y).sum(1) / 2, atol=1e-6, rtol=0)
    program, enumerated = (Exact(name).solve(energy, state, LabelSpace(L)).y for name in ("integer-program", "enumeration"))
    assert torch.equal(program, enumerated)


@pytest.mark.parametrize("links", [[(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 1), (0, 2), (0, 3)], []])
def test_on_a_forest_the_least_free_energy_is_the_log_partition(links):
    energy, state = a_field(links)
    found = minimise(energy, state, LabelSpace(L), MirrorDescent(0.5, 0.0), steps=300, temperature=1.0)
    corners = all_label_sets(L).double()
    minus = -energy(state, corners.expand(3, -1, -1))
    torch.testing.assert_close(-found.energy, torch.logsumexp(minus, 1).detach(), atol=1e-6, rtol=0)
    torch.testing.assert_close(found.y, (torch.softmax(minus, 1) @ corners).detach(), atol=1e-5, rtol=0)


def test_with_cycles_its_stationary_points_are_those_of_message_passing():
    energy, state = a_field()
    with torch.no_grad():
        energy.part("beliefs").factor.mul_(0.3)
        marginals, settled = belief_propagation(*pairwise_form(energy, state), 500, 0.5)
    found = minimise(energy, state, LabelSpace(L), MirrorDescent(0.5, 0.0), steps=500, temperature=1.0)
    assert settled
    torch.testing.assert_close(found.y, marginals, atol=1e-5, rtol=0)


def test_first_derivatives_in_the_table_are_those_of_differences():
    energy, state = a_field()
    factor, q = energy.part("beliefs").factor, torch.rand(3, 2, L, dtype=torch.float64)
    energy(state, q).sum().backward()
    with torch.no_grad():
        for i, j in ((0, 1), (3, 2)):
            at = factor[i, j].item()
            factor[i, j] = at + 1e-6
            above = energy(state, q).sum()
            factor[i, j] = at - 1e-6
            slope = (above - energy(state, q).sum()) / 2e-6
            factor[i, j] = at
            assert factor.grad[i, j].item() == pytest.approx(slope.item(), rel=1e-4)


def test_the_slope_can_be_differentiated_once_more():
    energy, state = a_field(rows=1)
    q = torch.rand(1, 1, L, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: energy.value_and_gradient(state, y)[1], q)


def test_too_many_labels_are_refused():
    with pytest.raises(ConfigError, match="at most 512 labels, not 513"):
        BeliefEnergy(MOST_LABELS + 1)
