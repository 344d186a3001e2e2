"""Where a head on a pretrained encoder begins: at the regression on what the encoder gives before it is tuned.

    w_l, b_l = argmin  sum_i CE(w_l . z_i + b_l, y_il) + |w_l|^2 / 2C      z_i: the encoder's features of a training row, scaled

A head that begins at nothing needs hundreds of updates to say that most labels are off, and meanwhile bends the encoder to that
end; few documents have no more. From the probe on, tuning begins where frozen features end (Kumar et al. 2022: a linear probe,
then fine-tuning).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.baselines.binary_relevance import fit_one_vs_rest
from enstruct.data.rows import Rows
from enstruct.encoders import Predictor
from enstruct.randomness import repeatable
from enstruct.training.predict import probabilities

log = logging.getLogger("enstruct")
CONSTANT = 1e-4
"""A feature that varies by a smaller share of its size says nothing: what is left is rounding."""


def begin_at_probe(
    predictor: Predictor,
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None,
    metric: str,
    device: torch.device,
    should_stop: Callable[[], bool] = lambda: False,
) -> None:
    """Set the predictor's head. C is chosen by ``metric`` on validation rows, until ``should_stop``; without them it is 1.

    A label that all rows have, or none, begins at the log-odds of one more of each.
    """
    encoder = predictor.encoder.to(device)
    with repeatable(0, device):
        features = probabilities(encoder, train.X, device, relax=None)
        centre, spread = features.mean(0, dtype=np.float64), features.std(0, dtype=np.float64)
        spread[spread <= CONSTANT * np.maximum(1, np.abs(centre))] = np.inf

        def scaled(rows: Rows, z: NDArray[Any]) -> Rows:
            return replace(rows, X=((z - centre) / spread).astype(np.float32))

        held = None if validation is None else scaled(validation, probabilities(encoder, validation.X, device, relax=None))
        probe = fit_one_vs_rest(scaled(train, features), held, positive_weight, metric=metric, should_stop=should_stop)
    weight = probe.linear.weight.detach().numpy().T / spread
    with torch.no_grad():
        predictor.head.weight.copy_(torch.from_numpy(weight.astype(np.float32)))
        predictor.head.bias.copy_(probe.linear.bias.detach() - torch.from_numpy((weight @ centre).astype(np.float32)))
        on = torch.from_numpy(np.asarray(train.Y.sum(0), dtype=np.float32).ravel())
        constant = (on == 0) | (on == len(features))  # which others may join, whom a head that is certain would never see
        predictor.head.bias[constant] = torch.logit((on[constant] + 1) / (len(features) + 2)).to(predictor.head.bias)
    log.info("the head begins at a regression on the encoder's features, C = %g", probe.chosen["C"])
