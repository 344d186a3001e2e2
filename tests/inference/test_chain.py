"""Exact inference on chains against enumeration of every sequence."""

import pytest
import torch
from tests.spaces.test_tags import every_sequence

from enstruct.energies import ChainEnergy, ConvEnergy, LocalEnergy, SumEnergy
from enstruct.errors import ConfigError
from enstruct.inference import Chain, Inference, MirrorDescent, minimise
from enstruct.inference.chain import (
    IMPOSSIBLE,
    Potentials,
    chain_potentials,
    clamped,
    draw,
    energies,
    log_partition,
    marginals,
    thinned,
    viterbi,
)
from enstruct.spaces import TagSpace

K, T = 3, 4
MASKS = [[1, 1, 1, 1], [0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


@pytest.fixture
def problem():
    torch.manual_seed(3)
    energy = SumEnergy(None, [LocalEnergy(2, K), ChainEnergy(K)]).double()
    for p in energy.parameters():
        torch.nn.init.normal_(p)
    mask = torch.tensor(MASKS, dtype=torch.float64).unsqueeze(-1)
    return energy, energy.prepare(torch.randn(len(MASKS), T, 2, dtype=torch.float64), mask), mask


def enumerated(energy, state, b):
    y = every_sequence(MASKS[b]).unsqueeze(0)
    return y[0], energy(state.rows(torch.tensor([b])), y)[0]


def test_the_partition_function(problem):
    energy, state, _ = problem
    log_z = log_partition(chain_potentials(energy, state))
    for b in range(len(MASKS)):
        assert log_z[b].item() == pytest.approx(float(torch.logsumexp(-enumerated(energy, state, b)[1], 0).detach()))


def test_marginals(problem):
    energy, state, mask = problem
    p = Chain("marginals").solve(energy, state, TagSpace(K)).y
    for b in range(len(MASKS)):
        y, energies = enumerated(energy, state, b)
        assert torch.allclose(p[b], torch.einsum("s,stk->tk", torch.softmax(-energies, 0), y), atol=1e-10)
    assert torch.allclose(p.sum(-1, keepdim=True), mask)
    assert marginals(chain_potentials(energy, state)).grad_fn is None


def test_viterbi(problem):
    energy, state, _ = problem
    solution = Chain("viterbi").solve(energy, state, TagSpace(K))
    for b in range(len(MASKS)):
        y, energies = enumerated(energy, state, b)
        assert torch.equal(solution.y[b], y[energies.argmin()])
        assert solution.energy[b].item() == pytest.approx(float(energies.min().detach()))


@pytest.mark.parametrize("cost", ["hamming-sum", "hamming-mean"])
def test_cost_augmented_viterbi(problem, cost):
    energy, state, mask = problem
    space = TagSpace(K, cost)
    truth = torch.eye(K, dtype=torch.float64)[torch.randint(K, (len(MASKS), T))] * mask
    solution = Chain("viterbi").solve(energy, state, space, truth)
    for b in range(len(MASKS)):
        y, energies = enumerated(energy, state, b)
        objective = energies - space.cost(y.unsqueeze(0), truth[b : b + 1], mask[b : b + 1])[0]
        assert solution.energy[b].item() == pytest.approx(float(objective.min().detach()))
    with pytest.raises(ConfigError, match="linear"):
        Chain("viterbi").solve(energy, state, TagSpace(K, "squared"), truth)


def test_gradient_based_inference_reaches_the_enumerated_minimum_of_most_rows(problem):
    energy, state, _ = problem
    rule = MirrorDescent(0.3, 0.0)
    solution = minimise(energy, state, TagSpace(K), rule, start=("uniform", "random", "random", "random"), steps=300)
    best = torch.stack([enumerated(energy, state, b)[1].min() for b in range(len(MASKS))])
    assert (solution.energy >= best - 1e-6).all()
    assert ((solution.energy - best).abs() < 0.05).sum() >= 4


def test_a_row_does_not_depend_on_its_batch(problem):
    energy, state, _ = problem
    inference = Inference(MirrorDescent(0.3, 0.0), steps=60, tolerance=1e-4, stable=3)
    together = inference.solve(energy, state, TagSpace(K)).y
    for b in range(len(MASKS)):
        alone = inference.solve(energy, state.rows(torch.tensor([b])), TagSpace(K)).y
        assert torch.allclose(alone[0], together[b], atol=1e-10)


def test_other_energies_have_no_potentials():
    torch.manual_seed(0)
    energy = SumEnergy(None, [LocalEnergy(2, K), ChainEnergy(K), ConvEnergy(K)])
    state = energy.prepare(torch.randn(1, T, 2), torch.ones(1, T, 1))
    with pytest.raises(ConfigError, match="'local' and 'chain'"):
        chain_potentials(energy, state)


def test_partly_annotated_sentences_have_the_marginal_likelihood(problem):
    """-log of the sum of p over all sequences that agree with what is told."""
    from enstruct.negatives.base import Situation
    from enstruct.negatives.partition import Partition

    energy, state, mask = problem
    truth = torch.nn.functional.one_hot(torch.tensor([[0, 1, 2, 0]] * len(MASKS)), K).double() * mask
    truth[0, 1:3] = 0  # open
    truth[2, 0] = 0
    found = Partition().draw(Situation(truth, truth, mask, None, energy, state), TagSpace(K))
    value = energy(state, truth.unsqueeze(1)).squeeze(1)
    loss = value - found.energies.squeeze(1)
    for b in range(len(MASKS)):
        y, energies = enumerated(energy, state, b)
        agree = ((y * truth[b]).sum(-1) == truth[b].sum(-1)).all(-1)
        expected = torch.logsumexp(-energies, 0) - torch.logsumexp(-energies[agree], 0)
        assert loss[b].item() == pytest.approx(expected.item(), abs=1e-8)
    loss.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in energy.parameters())


def test_a_predictor_taught_by_marginals_descends_on_the_divergence_from_the_chain(problem):
    """KL(exp(-E)/Z || F) by enumeration of all sequences: its gradient, and no gradient on the energy."""
    from enstruct.methods.tags import TAG_METHODS
    from enstruct.training.batches import Batch
    from enstruct.training.learned_loss import LearnedLoss
    from enstruct.training.settings import Settings

    energy, state, mask = problem
    method = TAG_METHODS["crf-taught"].with_(energy_weight=0.5)
    loss = LearnedLoss(method, TagSpace(K), energy, K, Settings())
    logits = torch.randn(len(MASKS), T, K, dtype=torch.float64, requires_grad=True)
    batch = Batch(None, torch.zeros_like(logits), mask)
    (found,) = torch.autograd.grad(loss.auxiliary_loss(batch, logits, 0.5, state).sum(), logits)
    for b in range(len(MASKS)):
        y, energies = enumerated(energy, state, b)
        log_q = TagSpace(K).log_prob(y.unsqueeze(0), logits[b : b + 1], mask[b : b + 1])[0]
        p = torch.softmax(-energies.detach(), 0)
        (expected,) = torch.autograd.grad(-0.5 * (p * log_q).sum(), logits)
        torch.testing.assert_close(found[b], expected[b])
    assert all(p.grad is None for p in energy.parameters())


@pytest.mark.parametrize("by_place", [False, True])
def test_thinned_chains_are_the_same_chains(by_place):
    draws, tags, time = torch.Generator().manual_seed(5), 7, 5
    normal = lambda *shape: torch.randn(*shape, generator=draws, dtype=torch.float64)  # noqa: E731
    may = torch.rand(tags, tags, generator=draws) < 0.3
    may[:, 2] = False  # nothing may stand before it
    may[[0, 4], 3] = True
    may[:, 5] = torch.arange(tags) < 3
    transitions = torch.where(may, normal(tags, tags), IMPOSSIBLE)
    there = torch.tensor([[1] * 5, [1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [0] * 5], dtype=torch.bool)
    dense = Potentials(normal(4, time, tags), there, transitions, normal(tags), normal(tags))
    thin = thinned(dense)
    assert thin.before is not None
    assert len(thin.transitions) == int(may.sum(0).max()) < tags
    if by_place:  # costs of one's own at every place
        own = normal(4, time - 1, tags, tags)
        dense = dense._replace(transitions=transitions + own)
        few = own.gather(2, thin.before.expand(4, time - 1, -1, -1))
        thin = thin._replace(transitions=thin.transitions + few)
    allowed = torch.rand(4, time, tags, generator=draws) < 0.8
    for a, b in ((dense, thin), (clamped(dense, allowed), clamped(thin, allowed))):
        assert torch.allclose(log_partition(a)[:3], log_partition(b)[:3], atol=1e-10)
        assert torch.allclose(marginals(a), marginals(b), atol=1e-10)
        assert torch.equal(viterbi(a), viterbi(b))
        assert torch.equal(*(draw(p, 50, torch.Generator().manual_seed(0)) for p in (a, b)))
    some = torch.randint(tags, (4, time), generator=draws)
    best = viterbi(dense).argmax(2)
    assert torch.allclose(energies(dense, best), energies(thin, best))
    assert torch.equal(energies(dense, some) > IMPOSSIBLE / 2, energies(thin, some) > IMPOSSIBLE / 2)


def test_chains_of_which_most_tags_may_follow_one_another_are_left_as_they_are(problem):
    energy, state, _ = problem
    assert thinned(chain_potentials(energy, state)).before is None
