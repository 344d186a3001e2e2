"""Gradients through discrete samples against the enumerated gradient of the expectation."""

import itertools

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.negatives import PredictorSamples, Situation
from enstruct.negatives.sample_gradients import SAMPLE_GRADIENTS, score_function
from enstruct.objectives import CONTRASTIVE_DIVERGENCE, NCE
from enstruct.objectives.base import Scores
from enstruct.spaces import LabelSpace
from enstruct.spaces.label_vectors import LabelVectors

L, K = 3, 2
SPACE = LabelSpace(L)
TRUTH = torch.tensor([[1.0, 0.0, 1.0]], dtype=torch.float64)
LOGITS = torch.tensor([[0.8, -0.6, 0.2]], dtype=torch.float64)
CORNERS = torch.tensor(list(itertools.product([0.0, 1.0], repeat=L)), dtype=torch.float64)


def energy(y):
    """A non-linear function of y that also takes relaxed ones, (..., L) -> (...)."""
    return torch.nn.functional.softplus(y @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)) + y[..., 0] * y[..., 1]


def scores(y, logits):
    dense = y.to_dense(torch.float64) if isinstance(y, LabelVectors) else y
    noise = SPACE.log_prob(dense, logits)
    truth_noise = SPACE.log_prob(TRUTH.unsqueeze(1), logits)[:, 0]
    return Scores(energy(TRUTH), energy(dense), SPACE.cost(y, TRUTH), truth_noise, noise)


def exact_gradient(objective):
    """d/dz of sum over all K-tuples of P(tuple) L(tuple)."""
    logits = LOGITS.clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for chosen in itertools.product(range(len(CORNERS)), repeat=K):
        y = CORNERS[list(chosen)].unsqueeze(0)
        probability = SPACE.log_prob(y, logits).sum().exp()
        total = total + probability * objective.loss(scores(y, logits))[0]
    return torch.autograd.grad(total, logits)[0][0]


def estimates(gradient, objective, draws, temperature=0.5):
    """(draws, L): one estimate a row of a batch of copies."""
    logits = LOGITS.repeat(draws, 1).requires_grad_()
    truth = TRUTH.repeat(draws, 1)
    source = PredictorSamples(K, gradient, temperature).build(SPACE, L)
    drawn = source.draw(Situation(logits, truth))
    dense = drawn.y.to_dense(torch.float64) if isinstance(drawn.y, LabelVectors) else drawn.y
    of_samples = Scores(energy(truth), energy(dense), SPACE.cost(drawn.y, truth), drawn.log_noise_truth, drawn.log_noise)
    loss = objective.loss(of_samples)
    if drawn.score is not None:
        loss = loss + score_function(objective.loss, of_samples, loss, drawn.score)
    return torch.autograd.grad(loss.sum(), logits)[0]


@pytest.mark.parametrize("objective", [CONTRASTIVE_DIVERGENCE, NCE], ids=lambda o: o.name)
def test_the_score_function_is_unbiased(objective):
    torch.manual_seed(0)
    gradients = estimates("score-function", objective, 200_000)
    error = gradients.std(0) / len(gradients) ** 0.5
    assert ((gradients.mean(0) - exact_gradient(objective)).abs() < 4 * error).all()


def test_the_baseline_lowers_the_variance():
    torch.manual_seed(0)
    logits = LOGITS.repeat(20_000, 1).requires_grad_()
    truth = TRUTH.repeat(20_000, 1)
    drawn = PredictorSamples(K, "score-function").build(SPACE, L).draw(Situation(logits, truth))
    of_samples = Scores(energy(truth), energy(drawn.y.to_dense(torch.float64)), SPACE.cost(drawn.y, truth))
    loss = CONTRASTIVE_DIVERGENCE.loss(of_samples)
    plain = torch.autograd.grad((loss.detach() * drawn.score.sum(1)).sum(), logits, retain_graph=True)[0]
    with_baseline = torch.autograd.grad(score_function(CONTRASTIVE_DIVERGENCE.loss, of_samples, loss, drawn.score).sum(), logits)[
        0
    ]
    assert (with_baseline.var(0) < 0.5 * plain.var(0)).all()


@pytest.mark.parametrize("gradient", ["straight-through", "concrete"])
def test_the_other_two_are_biased_but_point_the_right_way(gradient):
    torch.manual_seed(0)
    gradients, exact = estimates(gradient, CONTRASTIVE_DIVERGENCE, 100_000), exact_gradient(CONTRASTIVE_DIVERGENCE)
    assert torch.cosine_similarity(gradients.mean(0), exact, dim=0) > 0.7
    noise = gradients.std(0) / len(gradients) ** 0.5
    assert ((gradients.mean(0) - exact).abs() > 5 * noise).any()  # the score function stays within 4 of it, above


def test_straight_through_is_exact_for_a_loss_linear_in_y():
    logits = LOGITS.repeat(50, 1).requires_grad_()
    y = PredictorSamples(4, "straight-through").build(SPACE, L).draw(Situation(logits, TRUTH.repeat(50, 1))).y
    weights = torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)
    slope = torch.autograd.grad((y @ weights).mean(1).sum(), logits)[0]
    p = torch.sigmoid(LOGITS)
    torch.testing.assert_close(slope, (weights * p * (1 - p)).expand(50, L))


@pytest.mark.parametrize("cost", ["hamming-sum", "hamming-mean"])
def test_straight_through_is_unbiased_for_a_cost_linear_in_y(cost):
    """Samples lie where |y - t| has a kink: its two sides would cancel."""
    space, draws = LabelSpace(L, cost), 50
    logits = LOGITS.repeat(draws, 1).requires_grad_()
    y = PredictorSamples(4, "straight-through").build(space, L).draw(Situation(logits, TRUTH.repeat(draws, 1))).y
    slope = torch.autograd.grad(space.cost(y, TRUTH.repeat(draws, 1)).mean(1).sum(), logits)[0]
    at = LOGITS.clone().requires_grad_()
    enumerated = (space.log_prob(CORNERS.unsqueeze(0), at).exp() * space.cost(CORNERS.unsqueeze(0), TRUTH)).sum()
    torch.testing.assert_close(slope, torch.autograd.grad(enumerated, at)[0].expand(draws, L))


def test_straight_through_values_are_exactly_binary_in_single_precision():
    torch.manual_seed(0)
    logits = torch.randn(50, 40).requires_grad_()
    y = PredictorSamples(5, "straight-through").build(LabelSpace(40), 40).draw(Situation(logits, torch.zeros(50, 40))).y
    assert set(y.unique().tolist()) == {0.0, 1.0}


def test_straight_through_values_are_binary_and_concrete_ones_have_the_samples_signs():
    torch.manual_seed(0)
    logits = LOGITS.repeat(4000, 1)
    hard = PredictorSamples(3, "straight-through").build(SPACE, L).draw(Situation(logits, TRUTH.repeat(4000, 1))).y
    assert set(hard.round(decimals=9).unique().tolist()) == {0.0, 1.0}
    soft = PredictorSamples(3, "concrete").build(SPACE, L).draw(Situation(logits, TRUTH.repeat(4000, 1))).y
    torch.testing.assert_close((soft > 0.5).double().mean((0, 1)), torch.sigmoid(LOGITS[0]), atol=0.02, rtol=0)


def test_the_score_functions_surrogate_is_worth_nothing():
    of_corners = scores(CORNERS[:2].unsqueeze(0), LOGITS.clone().requires_grad_())
    extra = score_function(CONTRASTIVE_DIVERGENCE.loss, of_corners, CONTRASTIVE_DIVERGENCE.loss(of_corners), of_corners.log_noise)
    assert extra.tolist() == [0.0]


def test_constant_samples_pass_no_gradient_and_the_others_one_where_the_logits_have_it():
    logits = LOGITS.clone().requires_grad_()
    constant = PredictorSamples(3).build(SPACE, L).draw(Situation(logits, TRUTH))
    assert constant.score is None
    assert not constant.log_noise.requires_grad
    for gradient in SAMPLE_GRADIENTS:
        assert PredictorSamples(3, gradient).build(SPACE, L).draw(Situation(logits, TRUTH)).log_noise.requires_grad
        assert PredictorSamples(3, gradient).build(SPACE, L).draw(Situation(LOGITS, TRUTH)).score is None


def test_bad_settings():
    with pytest.raises(ConfigError, match="score-function"):
        PredictorSamples(3, "score-funktion")
    with pytest.raises(ConfigError, match="temperature"):
        PredictorSamples(3, "concrete", 0.0)
