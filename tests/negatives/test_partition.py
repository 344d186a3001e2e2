"""The free energy of chains and of what is more, against enumeration of every sequence (of chains alone: tests/inference)."""

import pytest
import torch
from tests.inference.test_beyond_chain import MASKS, K, T, enumerated, made

from enstruct.errors import ConfigError
from enstruct.inference.beyond_chain import chain_energies, parted
from enstruct.negatives import Partition, Situation
from enstruct.spaces import TagSpace


def drawn(extra, n, truth=None):
    energy, state, mask = made(extra)
    if truth is None:
        truth = torch.nn.functional.one_hot(torch.tensor([[0, 1, 2, 0, 1]] * len(MASKS)), K).double() * mask
    found = Partition(n).draw(Situation(truth, truth, mask, None, energy, state), TagSpace(K))
    return energy, state, mask, truth, found.energies.squeeze(1)


@pytest.mark.parametrize("extra", ["skip-2", "conv", "tag-lm"])
def test_value_and_gradient_are_those_of_the_likelihood(extra):
    energy, state, _, _, free = drawn(extra, 4000)
    for b in range(len(MASKS)):
        log_z = torch.logsumexp(-enumerated(energy, state, b)[1], 0)
        assert -float(free[b].detach()) == pytest.approx(float(log_z), abs=0.06)
    learning = [p for p in energy.parameters() if p.requires_grad]
    found = torch.autograd.grad(free.sum(), learning, retain_graph=True)
    every = [enumerated(energy, state, b, graph=True)[1] for b in range(len(MASKS))]
    exact = torch.autograd.grad(-sum(torch.logsumexp(-values, 0) for values in every), learning, retain_graph=True)
    scale = max(float(part.abs().max()) for part in exact)
    for mine, theirs in zip(found, exact, strict=True):
        assert float((mine - theirs).abs().max()) < 0.06 * scale


def test_open_tags_are_summed_over():
    energy, state, mask, _, _ = drawn("skip-2", 1)
    truth = torch.nn.functional.one_hot(torch.tensor([[0, 1, 2, 0, 1]] * len(MASKS)), K).double() * mask
    truth[0, 1:3] = 0
    truth[1, 4, :2] = 1  # one of two
    found = Partition(4000).draw(Situation(truth, truth, mask, None, energy, state), TagSpace(K)).energies.squeeze(1)
    loss = energy(state, truth.unsqueeze(1)).squeeze(1) - found
    for b in (0, 1, 2):
        y, values = enumerated(energy, state, b)
        told = truth[b].sum(-1) > 0
        agree = ((y * truth[b]).sum(-1) > 0)[:, told].all(-1)
        expected = torch.logsumexp(-values, 0) - torch.logsumexp(-values[agree], 0)
        assert float(loss[b].detach()) == pytest.approx(float(expected), abs=0.1)


def test_energies_of_the_chain_itself():
    energy, state, _ = made("skip-2")
    parts = parted(energy, state)
    tags = torch.randint(K, (len(MASKS), 7, T), generator=torch.Generator().manual_seed(0))
    whole = chain_energies(parts.chain, tags) + parts.rest(tags)
    for b in range(3):
        y, values = enumerated(energy, state, b)
        there = torch.tensor(MASKS[b]) > 0
        code = {tuple(row.tolist()): float(value) for row, value in zip(y.argmax(2)[:, there], values, strict=True)}
        for k in range(7):
            assert float(whole[b, k].detach()) == pytest.approx(code[tuple(tags[b, k, : int(there.sum())].tolist())])


def test_sizes():
    with pytest.raises(ConfigError, match="n_samples"):
        Partition(0)
