"""Where candidates come from."""

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.negatives import PerturbedSamples, PredictorPoint, PredictorSamples, Situation
from enstruct.spaces import LabelSpace, LabelVectors

SPACE = LabelSpace(4)
LOGITS = torch.tensor([[2.0, -2.0, 0.1, -0.1]])
TRUTH = torch.tensor([[1.0, 0, 0, 1]])


def drawn(source):
    return source.build(SPACE, 4).draw(Situation(LOGITS.clone().requires_grad_(), TRUTH))


def test_point_and_rounded_point():
    torch.testing.assert_close(drawn(PredictorPoint()).y, torch.sigmoid(LOGITS).unsqueeze(1))
    assert drawn(PredictorPoint(rounded=True)).y.tolist() == [[[1.0, 0, 1, 0]]]
    assert drawn(PredictorPoint()).y.requires_grad  # whoever holds the predictor fixed passes detached logits
    assert PredictorPoint().differentiable
    assert not PredictorPoint(rounded=True).differentiable


def test_samples_carry_their_log_probability_and_the_truths():
    candidates = drawn(PredictorSamples(7))
    assert isinstance(candidates.y, LabelVectors)
    assert candidates.y.shape == (1, 7, 4)
    torch.testing.assert_close(candidates.log_noise, SPACE.log_prob(candidates.y.to_dense(), LOGITS))
    torch.testing.assert_close(candidates.log_noise_truth, SPACE.log_prob(TRUTH.unsqueeze(1), LOGITS).squeeze(1))


def test_perturbed_samples_include_the_point_itself():
    y = drawn(PerturbedSamples(50, std=0.5)).y
    torch.testing.assert_close(y[:, 0], torch.sigmoid(LOGITS))
    spread = torch.logit(y[:, 1:]).std(1)
    assert ((spread > 0.35) & (spread < 0.65)).all()


@pytest.mark.parametrize("make", [lambda: PredictorSamples(0), lambda: PerturbedSamples(0), lambda: PerturbedSamples(3, std=0)])
def test_impossible_sizes_are_refused(make):
    with pytest.raises(ConfigError):
        make()


def test_spread_samples_have_the_marginals_and_log_probabilities_of_flatter_logits():
    torch.manual_seed(0)
    logits, truth = 4 * torch.randn(2, 5), torch.zeros(2, 5)
    drawn = PredictorSamples(4000, spread=4.0).build(LabelSpace(5), 5).draw(Situation(logits, truth))
    assert torch.allclose(drawn.y.to_dense().mean(1), torch.sigmoid(logits / 4), atol=0.03)
    assert torch.allclose(drawn.log_noise, LabelSpace(5).log_prob(drawn.y, logits / 4))
    with pytest.raises(ConfigError, match="spread"):
        PredictorSamples(spread=0.0)
