"""How discrete samples y_k ~ P(y | z) pass a gradient to the logits z that they were drawn from.

Held constant they pass none: an outer loss over Bernoulli samples then does not depend on theta, and the implicit term of
bilevel training is exactly zero. Three ways to let  ∂_z E_y[L(y_1..K)]  through:

| name | samples the energy sees | gradient | bias |
|---|---|---|---|
| "score-function" | y_k, sparse | sum_k (L - L without y_k) ∂_z log P(y_k) | none: the baseline does not depend on y_k |
| "straight-through" | y_k, dense | that of y_k + p - stop(p) | yes, unless L is linear in y |
| "concrete" | sigma((z + logistic noise) / temperature) | the reparametrised one | yes; smaller as the temperature falls |

Bias and variance against the enumerated expectation: `enstruct-bench figure sample-gradients`. Sources: Williams 1992 with the
leave-one-out baseline of Mnih & Rezende 2016; Bengio et al. 2013; Maddison et al. 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from enstruct.errors import ConfigError, unknown_name
from enstruct.objectives.base import Scores

SampleGradient = Literal["score-function", "straight-through", "concrete"]
SAMPLE_GRADIENTS: tuple[SampleGradient, ...] = get_args(SampleGradient)


def check_sample_gradient(name: str | None, temperature: float) -> None:
    if name is not None and name not in SAMPLE_GRADIENTS:
        raise unknown_name("sample gradient", name, SAMPLE_GRADIENTS)
    if not temperature > 0:
        raise ConfigError(f"The temperature of concrete samples must be positive, not {temperature}.")


def straight_through(samples: Tensor, relaxed: Tensor) -> Tensor:
    """(batch, K, ...) the samples' values with the gradient of ``relaxed`` (batch, ...)."""
    p = relaxed.unsqueeze(1)
    return samples + (p - p.detach())  # the difference is zero, so that the values stay what they are


def score_function(loss: Callable[[Scores], Tensor], scores: Scores, value: Tensor, log_prob: Tensor) -> Tensor:
    """(batch,) of value zero, with the gradient  sum_k (L - L_{-k}) ∂ log P(y_k);  log_prob (batch, K).

    ``value`` (batch,) is L = loss(scores); L_{-k} is the objective over the other samples (0 if there are none, so one sample
    alone has no baseline). Nothing of it reaches the energy: the weights are held constant.
    """
    count = log_prob.shape[1]
    with torch.no_grad():
        weight = value.detach().unsqueeze(1) - (_without_each(loss, scores, count) if count > 1 else 0.0)  # (batch, K)
    return (weight * (log_prob - log_prob.detach())).sum(1)


def _without_each(loss: Callable[[Scores], Tensor], scores: Scores, count: int) -> Tensor:
    """(batch, K) the objective with candidate k left out."""
    samples = torch.arange(count, device=scores.truth.device)
    others = samples.expand(count, count)[samples.unsqueeze(1) != samples].view(count, count - 1)  # row k: all but k

    def left(values: Tensor) -> Tensor:
        return values[:, others].flatten(0, 1)  # (batch * K, K - 1)

    noise_truth = scores.log_noise_truth
    reduced = Scores(
        truth=scores.truth.repeat_interleave(count),
        negatives=left(scores.negatives),
        cost=None if scores.cost is None else left(scores.cost),
        log_noise=None if scores.log_noise is None else left(scores.log_noise),
        log_noise_truth=None if noise_truth is None else noise_truth.repeat_interleave(count),
    )
    return loss(reduced).view(-1, count)
