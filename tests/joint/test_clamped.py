"""What is left of an energy once labels are told, against the whole energy with the told labels put in."""

import pytest
import torch
from tests.joint.problems import TERMS, L, all_sets, half_told, joint_of, random_energy, random_logits

from enstruct.encoders import MLP
from enstruct.energies import EnergySpec, build_energy
from enstruct.joint import clamped as module
from enstruct.joint.clamped import ClampedEnergy, ClampedResidual, free_labels

ROWS = 5


def sum_energy(n_labels=L):
    """An energy of energies/build with terms of three kinds, and its state for some rows."""
    torch.manual_seed(3)
    spec = EnergySpec(terms=("local", "global", "pairwise"), units=4, rank=None)
    energy = build_energy(spec, MLP(3, 4), MLP(3, 4), n_labels).eval()
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.5)
        return energy, energy.prepare(torch.randn(ROWS, 3))


def problem_of(kind, known):
    """(the clamped problem, energy, state)."""
    if kind == "sum":
        energy, state = sum_energy()
        return ClampedEnergy.of(energy, state, known), energy, state
    energy = random_energy(**TERMS[kind])
    state = joint_of(energy, random_logits(ROWS)).state
    with torch.no_grad():
        return ClampedResidual.of(energy, state, known), energy, state


def relaxed(known):
    """Told values strictly between 0 and 1."""
    return torch.where(known.isnan(), known, torch.rand(known.shape, generator=torch.Generator().manual_seed(5)))


TOLD = {
    "rows that differ": half_told(ROWS),
    "relaxed": relaxed(half_told(ROWS)),
    "the same labels": torch.tensor([[1.0, torch.nan, 0.0, torch.nan, torch.nan, 1.0]]).repeat(ROWS, 1),
    "nothing": torch.full((ROWS, L), torch.nan),
    "all": torch.ones(ROWS, L),
}


def whole_sets(problem, known, y):
    """y (rows, states, T) of the free labels put into the told ones: (rows, states, labels), label by label."""
    whole = torch.nan_to_num(known).unsqueeze(1).repeat(1, y.shape[1], 1)
    for row in range(len(known)):
        for t, label in enumerate(torch.nonzero(known[row].isnan()).squeeze(1)):
            whole[row, :, label] = y[row, :, t]
    return whole


def test_free_labels_come_first_in_order_and_padding_is_marked():
    known = torch.tensor([[1.0, torch.nan, 0.0, torch.nan], [torch.nan, torch.nan, torch.nan, 1.0], [0.0, 0.0, 0.0, 0.0]])
    free, real = free_labels(known)
    assert free[real].tolist() == [1, 3, 0, 1, 2]
    assert real.tolist() == [[True, True, False], [True, True, True], [False, False, False]]
    assert free_labels(known[2:])[0].shape == (1, 0)
    assert free_labels(known[:0])[0].shape == (0, 0)


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("kind", [*TERMS, "sum"])
def test_densities_are_those_of_the_whole_energy(kind, told):
    known = TOLD[told]
    with torch.no_grad():
        problem, energy, state = problem_of(kind, known)
        T = problem.free.shape[1]
        y = all_sets(T).expand(ROWS, -1, -1) * problem.real.unsqueeze(1)  # padded labels absent
        expected = -energy(state, whole_sets(problem, known, y))
        torch.testing.assert_close(problem.log_density(y), expected, atol=2e-5, rtol=1e-5)
        some = torch.tensor([3, 1])
        torch.testing.assert_close(problem.take(some).log_density(y[some]), expected[some], atol=2e-5, rtol=1e-5)


def test_padded_labels_of_other_energies_are_absent_whatever_is_said():
    with torch.no_grad():
        problem, _, _ = problem_of("sum", TOLD["rows that differ"])
        y = all_sets(problem.free.shape[1]).expand(ROWS, -1, -1)
        torch.testing.assert_close(problem.log_density(y), problem.log_density(y * problem.real.unsqueeze(1)))


@pytest.mark.parametrize("kind", [*TERMS, "sum"])
def test_one_table_of_states_stands_for_every_rows(kind):
    with torch.no_grad():
        problem, _, _ = problem_of(kind, TOLD["nothing"])
        sets = all_sets()
        torch.testing.assert_close(problem.log_density(sets.unsqueeze(0)), problem.log_density(sets.expand(ROWS, -1, -1)))


@pytest.mark.parametrize("block", [1, 3, 16])
@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("kind", [*TERMS, "sum"])
def test_chains_know_the_log_odds_as_they_change(kind, told, block, monkeypatch):
    """Through sweeps of arbitrary values, whole ones, some that leave labels out and some in any order, against differences of
    the whole energy's densities."""
    monkeypatch.setattr(module, "BLOCK", block)
    known, n = TOLD[told], 3
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        problem, _, _ = problem_of(kind, known)
        T = problem.free.shape[1]
        real = problem.real.unsqueeze(2)
        y = (torch.rand(ROWS, T, n, generator=draws) < 0.5).float()
        chains = problem.chains(y.clone())
        y *= real  # padded labels are absent
        assert chains.moving == [t for t in range(T) if problem.real[:, t].any()]
        for t in [*range(T), *range(0, T, 2), *torch.randperm(T, generator=draws).tolist(), *range(T)]:
            both = torch.stack([y.clone(), y.clone()])
            both[0, :, t], both[1, :, t] = 0, 1
            absent, present = (problem.log_density(one.transpose(1, 2)) for one in both)
            some = problem.real[:, t]
            torch.testing.assert_close(chains.log_odds(t)[some], (present - absent)[some], atol=1e-4, rtol=1e-4)
            if kind in TERMS:  # what keeps them so
                assert bool((torch.sigmoid(chains.log_odds(t))[~some] == 0).all())
            y[:, t] = (torch.rand(ROWS, n, generator=draws) < 0.5).float() * problem.real[:, t, None]
            chains.put(t, y[:, t])
        assert torch.equal(chains.y, y)


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("kind", TERMS)
def test_told_labels_left_among_the_free_ones_change_nothing(kind, told):
    """Densities and log-odds are those of the problem without them, relaxed ones too; they stay as told."""
    known = torch.where(TOLD[told] == 1, 0.7, TOLD[told])
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        apart, energy, state = problem_of(kind, known)
        among = ClampedResidual.among_all(energy, state, known)
        y = (torch.rand(ROWS, L, 2, generator=draws) < 0.5).float()
        chains, few = among.chains(y.clone()), apart.chains(y.gather(1, apart.free.unsqueeze(2).expand(-1, -1, 2)))
        densities = among.log_density(chains.y.transpose(1, 2)), apart.log_density(few.y.transpose(1, 2))
        torch.testing.assert_close(*densities, atol=2e-5, rtol=1e-5)
        for i in range(L):
            log_odds = chains.log_odds(i)
            for row in range(ROWS):
                if known[row, i].isnan():
                    t = int(torch.nonzero((apart.free[row] == i) & apart.real[row]))
                    expected = apart.chains(chains.y.gather(1, apart.free.unsqueeze(2).expand(-1, -1, 2))).log_odds(t)[row]
                    torch.testing.assert_close(log_odds[row], expected, atol=1e-4, rtol=1e-4)
            chains.put(i, (torch.rand(ROWS, 2, generator=draws) < 0.5).float())
        told_ones = ~known.isnan()
        assert torch.equal(chains.y[told_ones], known[told_ones].unsqueeze(1).expand(-1, 2))
        some = torch.tensor([3, 1])
        assert torch.equal(among.take(some).chains(y[some]).y, among.chains(y).y[some])


def test_chains_of_one_are_as_many():
    with torch.no_grad():
        problem, _, _ = problem_of("independent", TOLD["nothing"])
        assert problem.chains(torch.zeros(ROWS, L, 1)).log_odds(0).shape == (ROWS, 1)
        assert problem.chains(torch.zeros(ROWS, L, 4)).log_odds(0).shape == (ROWS, 4)


def test_problems_of_rows_that_are_alike_keep_one_table():
    with torch.no_grad():
        alike, _, _ = problem_of("all", TOLD["the same labels"])
        differing, _, _ = problem_of("all", TOLD["rows that differ"])
    assert len(alike.pairs) == len(alike.matrix) == len(alike.take(torch.tensor([0, 2])).pairs) == 1
    assert len(differing.pairs) == len(differing.matrix) == ROWS
