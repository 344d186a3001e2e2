"""Training of one residual energy on a base's cross-fitted logits, by pseudo-likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint.holes import Whole
from enstruct.objectives.pseudo_likelihood import pseudo_likelihood
from enstruct.training.contrastive import train_by_chains
from enstruct.training.residual_candidates import MOST_UNITS, Candidate, Examples

BATCH, LARGEST_BATCH, BATCHES = 64, 256, 40
"""Rows of a batch; of more than MOST_UNITS labels as many as make so many batches an epoch, within the first two: there a step
of 256 rows costs little more than one of 64, which is mostly the gradient and the update of the table of pairs."""
MANY_BATCHES, LARGEST_OF_MANY = 100, 512
"""Of other labels many rows make larger batches: so many an epoch, as far as a batch has no more rows than this."""
EPOCHS, PATIENCE, LEAST_GAIN = 200, 10, 5e-3
"""A candidate's epochs end once the held-out rows' mean has not fallen by so many nats in PATIENCE epochs."""


class Epochs(NamedTuple):
    """How many, and with held-out rows the weights after 1, 2, 4, ... of them, as far as these were fewer."""

    n: int
    earlier: dict[int, dict[str, Tensor]]


def refit(candidate: Candidate, examples: Examples, epochs: int, seed: int) -> ResidualEnergy:
    """The candidate, trained on these rows for so many epochs."""
    energy = candidate.energy(examples, seed)
    train_residual(energy, examples, None, candidate, seed, epochs)
    return energy.eval()


def train_residual(
    energy: ResidualEnergy,
    train: Examples,
    validation: Examples | None,
    candidate: Candidate,
    seed: int,
    epochs: int = EPOCHS,
    patience: int = PATIENCE,
) -> Epochs:
    """Minimise the pseudo-likelihood, holes filled by draws (:mod:`enstruct.joint.holes`), then train on by chains where the
    candidate says so. With validation rows: until theirs has not fallen for ``patience`` epochs; the best weights are kept."""
    optimizer = candidate.optimizer(energy, candidate.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** (epoch // (EPOCHS // 4)))
    draws = torch.Generator().manual_seed(seed)
    batch_size = _batch_size(len(train.y), energy.n_labels)
    whole = Whole(train.logits, train.y, seed, train.rules)
    judged = None if validation is None else Whole(validation.logits, validation.y, seed, train.rules)
    odds, judged_odds = train.odds(whole.y), None if judged is None or validation is None else validation.odds(judged.y)
    best, kept, at = np.inf, None, 0
    earlier: dict[int, dict[str, Tensor]] = {}
    for epoch in range(1, epochs + 1):
        if whole.redraw(energy):
            odds = train.odds(whole.y)
        for rows in torch.randperm(len(train.y), generator=draws).split(batch_size):
            batch = train.take(rows)
            loss = (_loss(energy, batch, whole.y[rows], None if odds is None else odds[rows]) * batch.weight).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        if validation is None or judged is None:
            continue
        if judged.redraw(energy):
            judged_odds = validation.odds(judged.y)
        value = _held_out(energy, validation, judged.y, judged_odds)
        if value < best - LEAST_GAIN:
            best, at = value, epoch
            kept = _copied(energy)
        if epoch.bit_count() == 1:
            earlier[epoch] = _copied(energy)
        if epoch - at >= patience:
            break
    if kept is not None:
        energy.load_state_dict(kept)
    if candidate.persistent:
        train_by_chains(energy, train, candidate, seed)
    return Epochs(epochs, {}) if validation is None else Epochs(at, {n: weights for n, weights in earlier.items() if n < at})


def _copied(energy: ResidualEnergy) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in energy.state_dict().items()}


def _batch_size(n_rows: int, n_labels: int) -> int:
    batches, largest = (BATCHES, LARGEST_BATCH) if n_labels > MOST_UNITS else (MANY_BATCHES, LARGEST_OF_MANY)
    return int(np.clip(n_rows // batches, BATCH, largest))


def _loss(energy: ResidualEnergy, rows: Examples, whole: Tensor, odds: Tensor | None) -> Tensor:
    return pseudo_likelihood(energy, energy.prepare(rows.logits), rows.y, whole, odds)


@torch.no_grad()
def _held_out(energy: ResidualEnergy, rows: Examples, whole: Tensor, odds: Tensor | None = None) -> float:
    blocks = torch.arange(len(rows.y)).split(4 * BATCH)
    values = [_loss(energy, rows.take(some), whole[some], None if odds is None else odds[some]) for some in blocks]
    return float((torch.cat(values) * rows.weight).mean())
