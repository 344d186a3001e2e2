"""Pseudo-likelihood against conditionals by enumeration, against the residual energy's own, and its minimiser."""

import torch

from enstruct.energies.residual import ResidualEnergy
from enstruct.inference.exact import all_label_sets
from enstruct.negatives import LabelFlips, Situation
from enstruct.objectives import PSEUDO_LIKELIHOOD, Scores
from enstruct.objectives.pseudo_likelihood import pseudo_likelihood
from enstruct.spaces import LabelSpace

L = 4
SETS = torch.as_tensor(all_label_sets(L)).double()
CODE = 2.0 ** torch.arange(L, dtype=torch.float64)
PLACE = torch.empty(2**L, dtype=torch.long).scatter_(0, (SETS @ CODE).long(), torch.arange(2**L))


def loss_of(table, truth):
    """(batch,) of an energy that is a table (2^L,), on all flips."""

    def energy(y):
        return table[PLACE[(y @ CODE).long()]]

    drawn = LabelFlips().draw(Situation(torch.zeros_like(truth), truth), LabelSpace(L))
    return PSEUDO_LIKELIHOOD.loss(Scores(energy(truth), energy(drawn.y), weight=drawn.weight))


def table():
    return torch.randn(2**L, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_it_is_the_sum_of_log_conditionals_by_enumeration():
    p = torch.softmax(-table(), 0)
    expected = []
    for i in range(L):
        others = torch.arange(L) != i
        alike = (SETS[:, None, others] == SETS[None, :, others]).all(2).double()  # which sets differ in label i at most
        expected.append(-(p / (alike @ p)).log())
    torch.testing.assert_close(loss_of(table(), SETS), torch.stack(expected).sum(0))


def test_its_gradient_is_that_of_finite_differences():
    assert torch.autograd.gradcheck(lambda energies: loss_of(energies, SETS), table().requires_grad_())


def test_the_residual_energys_own_is_the_same_number():
    torch.manual_seed(0)
    energy = ResidualEnergy(L, pairs=True, units=3).double()
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.normal_()
    truth = SETS[torch.randint(2**L, (10,))]
    state = energy.prepare(torch.randn(10, L, dtype=torch.float64))
    drawn = LabelFlips().draw(Situation(torch.zeros_like(truth), truth), LabelSpace(L))
    loss = PSEUDO_LIKELIHOOD.loss(Scores(energy(state, truth.unsqueeze(1)).squeeze(1), energy(state, drawn.y)))
    torch.testing.assert_close(loss, pseudo_likelihood(energy, state, truth, torch.zeros_like(truth)))


def test_weights_count_flips_several_times():
    truth, negatives = torch.zeros(1), torch.tensor([[1.0, -2.0]])
    twice = PSEUDO_LIKELIHOOD.loss(Scores(truth, torch.tensor([[1.0, -2.0, -2.0]])))
    torch.testing.assert_close(PSEUDO_LIKELIHOOD.loss(Scores(truth, negatives, weight=torch.tensor([[1.0, 2.0]]))), twice)


def test_its_minimiser_is_the_distribution():
    """Of the expectation over a planted distribution, minimised to the end."""
    target = torch.softmax(table(), 0)
    energies = torch.zeros(2**L, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([energies], max_iter=200, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = target @ loss_of(energies, SETS)
        loss.backward()
        return loss

    optimizer.step(closure)
    torch.testing.assert_close(torch.softmax(-energies.detach(), 0), target, atol=1e-4, rtol=0)
