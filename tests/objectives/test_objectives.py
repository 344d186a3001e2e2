"""Objectives by hand, and the densities they declare by enumeration."""

import itertools

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.negatives import ConditionalSamples, Situation
from enstruct.objectives import (
    CONDITIONAL_NCE,
    CONTRASTIVE_DIVERGENCE,
    END_TO_END,
    LIKELIHOOD,
    MARGIN,
    MARGIN_PERCEPTRON,
    NCE,
    PSEUDO_LIKELIHOOD,
    RANK_MARGIN,
    RANKING,
    REGRESSION,
    Density,
    Scores,
)
from enstruct.spaces import LabelSpace


def scores(**changes):
    base = {
        "truth": torch.tensor([0.5]),
        "negatives": torch.tensor([[1.0, -0.5]]),
        "cost": torch.tensor([[0.2, 0.6]]),
        "log_noise_truth": torch.tensor([-1.0]),
        "log_noise": torch.tensor([[-2.0, -0.3]]),
    }
    return Scores(**{**base, **changes})


def test_margin_by_hand():
    expected = (max(0, 0.2 - 1.0 + 0.5) + max(0, 0.6 + 0.5 + 0.5)) / 2
    assert MARGIN.loss(scores()).item() == pytest.approx(expected)


def test_margin_perceptron_by_hand():
    """The first candidate against the margin, the second as a perceptron with weight 10."""
    expected = max(0, 0.2 - 1.0 + 0.5) + 10 * max(0, 0.5 + 0.5)
    assert MARGIN_PERCEPTRON.loss(scores()).item() == pytest.approx(expected)


def test_end_to_end_is_the_mean_cost_of_the_answers():
    assert END_TO_END.loss(scores()).item() == pytest.approx((0.2 + 0.6) / 2)


def test_regression_by_hand():
    s = torch.tensor([-1.0, 0.5])
    v, t = torch.sigmoid(s), torch.tensor([0.8, 0.4])
    expected = -(t * v.log() + (1 - t) * (1 - v).log()).mean()
    torch.testing.assert_close(REGRESSION.loss(scores())[0], expected)
    torch.testing.assert_close(REGRESSION.as_loss(torch.tensor([1.0])), -torch.sigmoid(torch.tensor([-1.0])))


def test_nce_and_ranking_by_hand():
    corrected = torch.tensor([-0.5 + 1.0, -1.0 + 2.0, 0.5 + 0.3])
    torch.testing.assert_close(NCE.loss(scores())[0], -torch.log_softmax(corrected, 0)[0])
    plain = torch.tensor([-0.5, -1.0, 0.5])
    torch.testing.assert_close(RANKING.loss(scores())[0], -torch.log_softmax(plain, 0)[0])


def test_contrastive_divergence_by_hand():
    batch = scores()
    augmented = torch.cat([-batch.truth.unsqueeze(1), batch.cost - batch.negatives], dim=1)
    torch.testing.assert_close(CONTRASTIVE_DIVERGENCE.loss(batch), -torch.log_softmax(augmented, 1)[:, 0])


def test_contrastive_divergence_of_one_sample_is_a_soft_hinge_and_without_cost_the_ranking_loss():
    truth, negative, cost = torch.tensor([0.3]), torch.tensor([[-0.4]]), torch.tensor([[0.7]])
    loss = CONTRASTIVE_DIVERGENCE.loss(Scores(truth, negative, cost))
    torch.testing.assert_close(loss, torch.nn.functional.softplus(cost[:, 0] + truth - negative[:, 0]))
    free = Scores(truth, negative, torch.zeros(1, 1))
    torch.testing.assert_close(CONTRASTIVE_DIVERGENCE.loss(free), RANKING.loss(free))


def test_what_is_missing_is_named():
    with pytest.raises(ConfigError, match="log-probabilities"):
        NCE.loss(scores(log_noise=None))
    with pytest.raises(ConfigError, match="cost"):
        MARGIN.loss(scores(cost=None))


def test_declared_densities():
    objectives = (
        MARGIN,
        MARGIN_PERCEPTRON,
        END_TO_END,
        REGRESSION,
        CONTRASTIVE_DIVERGENCE,
        NCE,
        RANKING,
        LIKELIHOOD,
        RANK_MARGIN,
        CONDITIONAL_NCE,
        PSEUDO_LIKELIHOOD,
    )
    assert {objective.name: objective.density for objective in objectives} == {
        "margin": Density.NONE,
        "margin-perceptron": Density.NONE,
        "end-to-end": Density.NONE,
        "regression": Density.NONE,
        "contrastive-divergence": Density.NONE,
        "nce": Density.JOINT,
        "conditional-nce": Density.JOINT,
        "pseudo-likelihood": Density.JOINT,
        "likelihood": Density.JOINT,
        "rank-margin": Density.NONE,
        "ranking": Density.RELATIVE,
    }


@pytest.mark.parametrize("objective", [NCE, RANKING], ids=lambda o: o.name)
def test_minimiser_estimates_the_declared_density(objective):
    """A table of energies over {0,1}^3, trained on a correlated distribution against independent noise."""
    outcomes = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)))
    target = torch.tensor([0.25, 0.02, 0.03, 0.2, 0.05, 0.1, 0.05, 0.3])
    q = torch.tensor([0.4, 0.5, 0.6])
    log_noise = (outcomes * q.log() + (1 - outcomes) * (1 - q).log()).sum(1)
    energies = torch.zeros(8, requires_grad=True)
    optimizer = torch.optim.Adam([energies], lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 500)
    for _ in range(500):
        truth = torch.multinomial(target, 2048, replacement=True)
        noise = torch.multinomial(log_noise.exp(), 2048 * 20, replacement=True).reshape(2048, 20)
        seen = Scores(energies[truth], energies[noise], None, log_noise[truth], log_noise[noise])
        optimizer.zero_grad()
        objective.loss(seen).mean().backward()
        optimizer.step()
        scheduler.step()
    log_density = -energies.detach() + (log_noise if objective.density is Density.RELATIVE else 0)
    torch.testing.assert_close(torch.softmax(log_density, 0), target, atol=0.01, rtol=0)


def test_conditional_nce_has_the_planted_distribution_as_its_minimiser():
    """Samples that share told labels with the truth, of independent noise far from it."""
    torch.manual_seed(0)
    outcomes = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)))
    target = torch.tensor([0.25, 0.02, 0.03, 0.2, 0.05, 0.1, 0.05, 0.3])
    logits = torch.tensor([-0.4, 0.0, 0.4]).expand(2048, -1)
    source, space, place = ConditionalSamples(8), LabelSpace(3), torch.tensor([4.0, 2.0, 1.0])
    energies = torch.zeros(8, requires_grad=True)
    optimizer = torch.optim.Adam([energies], lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 120)
    for _ in range(120):
        truth = torch.multinomial(target, 2048, replacement=True)
        drawn = source.draw(Situation(logits, outcomes[truth]), space)
        number = (drawn.y.to_dense() @ place).long()
        seen = Scores(energies[truth], energies[number], None, drawn.log_noise_truth, drawn.log_noise)
        optimizer.zero_grad()
        CONDITIONAL_NCE.loss(seen).mean().backward()
        optimizer.step()
        scheduler.step()
    torch.testing.assert_close(torch.softmax(-energies.detach(), 0), target, atol=0.015, rtol=0)


def test_the_rank_margin_by_hand():
    """Neighbours in both orders of cost; those of one cost say nothing."""
    cost = torch.tensor([[0.2, 0.6, 0.6, 0.1]])
    energies = torch.tensor([[1.0, 1.3, 0.0, -0.2]])
    pairs = max(0, (0.6 - 0.2) - (1.3 - 1.0)) + 0 + max(0, (0.6 - 0.1) - (0.0 + 0.2))
    assert RANK_MARGIN.loss(scores(cost=cost, negatives=energies)).item() == pytest.approx(pairs / 3)
