"""Pseudo-likelihood of tags against the conditionals of the enumerated energy."""

import pytest
import torch
from tests.inference.test_beyond_chain import MASKS, K, T, made

from enstruct.errors import ConfigError
from enstruct.negatives import LabelFlips, Situation, TokenChanges
from enstruct.objectives import PSEUDO_LIKELIHOOD
from enstruct.objectives.base import Scores
from enstruct.spaces import LabelSpace, TagSpace


def loss_of(negatives, extra, seed=0):
    energy, state, mask = made(extra)
    draws = torch.Generator().manual_seed(seed)
    truth = torch.nn.functional.one_hot(torch.randint(K, (len(MASKS), T), generator=draws), K).double() * mask
    found = negatives.draw(Situation(truth, truth, mask, None, energy, state), TagSpace(K))
    value = energy(state, truth.unsqueeze(1)).squeeze(1)
    return PSEUDO_LIKELIHOOD.loss(Scores(value, found.energies, weight=found.weight)), energy, state, mask, truth


def conditionals(energy, state, truth):
    """(batch, time) -log p(y_t | all others), one token and tag at a time."""
    out = torch.zeros(truth.shape[:2], dtype=truth.dtype)
    for t in range(T):
        tried = []
        for k in range(K):
            y = truth.clone()
            y[:, t] = torch.eye(K, dtype=truth.dtype)[k]
            tried.append(energy(state, y.unsqueeze(1)).squeeze(1))
        out[:, t] = -torch.log_softmax(-torch.stack(tried, 1), 1).gather(1, truth[:, t].argmax(1, keepdim=True)).squeeze(1)
    return out


@pytest.mark.parametrize("extra", ["skip-2", "skips", "conv", "tag-lm"])
def test_it_is_the_sum_of_all_conditionals(extra):
    loss, energy, state, mask, truth = loss_of(TokenChanges(None), extra)
    expected = (conditionals(energy, state, truth) * mask.squeeze(2)).sum(1)
    torch.testing.assert_close(loss, expected)
    learning = [p for p in energy.parameters() if p.requires_grad]
    mine, theirs = (torch.autograd.grad(one.sum(), learning, retain_graph=True) for one in (loss, expected))
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_drawn_tokens_stand_for_all_in_expectation():
    _, energy, state, mask, truth = loss_of(TokenChanges(None), "conv")
    expected = (conditionals(energy, state, truth) * mask.squeeze(2)).sum(1).detach()
    torch.manual_seed(0)
    situation = Situation(truth, truth, mask, None, energy, state)
    value = energy(state, truth.unsqueeze(1)).squeeze(1).detach()
    found = []
    for _ in range(400):
        drawn = TokenChanges(2).draw(situation, TagSpace(K))
        assert drawn.energies.shape == (len(MASKS), 2)
        found.append(PSEUDO_LIKELIHOOD.loss(Scores(value, drawn.energies.detach(), weight=drawn.weight)))
    torch.testing.assert_close(torch.stack(found).mean(0), expected, rtol=0.15, atol=0.15)


def test_what_it_is_for():
    with pytest.raises(ConfigError, match="LabelFlips"):
        TokenChanges().build(LabelSpace(3), 3)
    with pytest.raises(ConfigError, match="PredictorSamples"):
        LabelFlips().build(TagSpace(3), 3)
    with pytest.raises(ConfigError, match="n_samples"):
        TokenChanges(0)
