"""What an energy objective is: a pure function of scores, and a statement of what it makes E estimate.

The scores of a batch: one truth and K negatives a row.

    truth      (batch,)     E(x, y)
    negatives  (batch, K)   E(x, y_k)
    cost       (batch, K)   task cost of y_k
    log_noise_truth (batch,), log_noise (batch, K)   log-probabilities under the sampler, where it has them
    weight     (batch, K)   how many candidates y_k stands for, where some are drawn of all
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor

from enstruct.errors import ConfigError


class Density(Enum):
    """The distribution an energy estimates, as minimum-Bayes-risk decoding needs to know it."""

    JOINT = "exp(-E)/Z"
    RELATIVE = "P exp(-E)/Z"  # relative to the predictor's P
    NONE = "none"


@dataclass(frozen=True)
class Scores:
    truth: Tensor
    negatives: Tensor
    cost: Tensor | None = None
    log_noise_truth: Tensor | None = None
    log_noise: Tensor | None = None
    weight: Tensor | None = None


def required_cost(scores: Scores) -> Tensor:
    """(batch, samples); ConfigError where there is none."""
    if scores.cost is None:
        raise ConfigError("This objective compares candidates by their cost; Scores.cost is missing.")
    return scores.cost


def identity(energy: Tensor) -> Tensor:
    return energy


def value(energy: Tensor) -> Tensor:
    """``-sigma(s)``, s = -E: the regression rows use it as the energy in both players' losses."""
    return -torch.sigmoid(-energy)


@dataclass(frozen=True)
class Objective:
    """``loss(scores) -> (batch,)``. ``as_loss`` turns a raw energy into the term the predictor minimises.

    ``needs_truth``: rows without one are completed by a search for reward first. ``absolute_cost``: the cost itself is learnt, in
    [0, 1]; else only its differences count, and the truth's own (a reward may find fault with it) is taken off.
    """

    name: str
    loss: Callable[[Scores], Tensor]
    density: Density
    needs_noise: bool = False
    needs_cost: bool = False
    needs_truth: bool = True
    absolute_cost: bool = False
    as_loss: Callable[[Tensor], Tensor] = identity
