"""Candidates that share some labels with the truth."""

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.negatives import ConditionalSamples, Situation
from enstruct.spaces import LabelSpace, MaskSpace

L = 6
LOGITS = torch.tensor([1.0, -1.0, 0.2, -2.0, 2.0, -0.3])


def drawn(n, rows, mask=None):
    torch.manual_seed(0)
    truth = (torch.rand(rows, L) < 0.4).float()
    logits = LOGITS.expand(rows, -1)
    candidates = ConditionalSamples(n).build(LabelSpace(L), L).draw(Situation(logits, truth, mask))
    return truth, candidates, candidates.y.to_dense()


def test_told_labels_are_the_truths_and_the_others_are_draws_of_the_predictor():
    """With 400 draws a row, a label that never differs from the truth was told; the others have the predictor's marginals."""
    truth, _, y = drawn(400, 500)
    told = (y == truth.unsqueeze(1)).all(1)
    p = torch.sigmoid(LOGITS)
    for label in range(L):
        torch.testing.assert_close(y[~told[:, label]][:, :, label].mean(), p[label], atol=0.01, rtol=0)
    share = told.float().mean(1)  # a mixture of binomials over even shares: every number of told labels is as likely
    counts = torch.bincount((share * L).round().long(), minlength=L + 1) / 500
    torch.testing.assert_close(counts, torch.full((L + 1,), 1 / (L + 1)), atol=0.06, rtol=0)


def test_log_probabilities_are_of_the_drawn_labels_alone():
    truth, candidates, y = drawn(400, 50)
    asked = ~(y == truth.unsqueeze(1)).all(1)
    each = torch.distributions.Bernoulli(logits=LOGITS)
    torch.testing.assert_close(candidates.log_noise, (each.log_prob(y) * asked.unsqueeze(1)).sum(2))
    torch.testing.assert_close(candidates.log_noise_truth, (each.log_prob(truth) * asked).sum(1))


def test_labels_that_do_not_exist_are_neither_drawn_nor_counted():
    mask = torch.ones(50, L)
    mask[:, 4] = 0  # of probability 0.88
    truth, candidates, y = drawn(400, 50, mask)
    assert not y[:, :, 4].any()
    asked = ~(y == truth.unsqueeze(1)).all(1) & (mask > 0)
    each = torch.distributions.Bernoulli(logits=LOGITS)
    torch.testing.assert_close(candidates.log_noise_truth, (each.log_prob(truth) * asked).sum(1))


def test_numbers_and_outputs_that_cannot_be_are_refused():
    with pytest.raises(ConfigError, match="n_samples"):
        ConditionalSamples(0)
    with pytest.raises(ConfigError, match="ConditionalSamples changes labels one by one"):
        ConditionalSamples().build(MaskSpace(2), 2)
