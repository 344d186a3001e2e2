"""Training of residual energies by chains, after the pseudo-likelihood: persistent contrastive divergence (Tieleman 2008).

    d/dw -log p(y | x, told)  =  d/dw E(x, y)  -  E[ d/dw E(x, y') ],     y' ~ p(. | x, told)

with y' from chains that each row keeps (:class:`enstruct.joint.persistent.PersistentChains`). The pseudo-likelihood compares a
row's label set with those that differ in one label. Where many labels hang together, others far away, such as nearly all labels
at once, can be left as likely, and the chains that answer get lost there; these find them, and the energy learns to hold them to
be unlikely. Where there are none it is the maximum of the likelihood itself, which few rows estimate with less noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint.holes import BURN_IN, Whole
from enstruct.joint.persistent import PersistentChains
from enstruct.training.residual_candidates import Candidate, Examples

UPDATES, FEWEST_EPOCHS, MOST_EPOCHS = 400, 4, 40
"""About so many updates, as far as they are so many epochs: a row's chains must come some way."""
RATE, BATCH, BATCHES = 2e-3, 64, 100
"""The rate falls to 0, along a line; rows of a batch, more of many rows: so many batches an epoch, up to LARGEST_BATCH rows."""
LARGEST_BATCH = 256
RENEWED = 0.1
"""Share of the rows whose chains begin anew each epoch, with other labels told."""
MOST_CELLS = 2**28
"""Rows by labels up to which chains are kept."""


def can_continue(candidate: Candidate, train: Examples) -> bool:
    """Whether there are couplings that chains could mend, of a full table or units, and not too many rows by labels."""
    coupled = candidate.coupled and candidate.rank == 0
    return coupled and not candidate.persistent and train.y.numel() <= MOST_CELLS


def train_by_chains(
    energy: ResidualEnergy, train: Examples, candidate: Candidate, seed: int, should_stop: Callable[[], bool] = lambda: False
) -> bool:
    """Improve an energy that has been trained by the pseudo-likelihood; holes are filled by draws as there. Whether it came to
    its end before it should stop."""
    energy.train()
    draws = torch.Generator().manual_seed(seed)
    n_rows = len(train.y)
    size = min(max(BATCH, n_rows // BATCHES), LARGEST_BATCH)
    epochs = min(max(FEWEST_EPOCHS, math.ceil(UPDATES * size / n_rows)), MOST_EPOCHS)
    optimizer = candidate.optimizer(energy, RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)
    whole = Whole(train.logits, train.y, seed, train.rules)
    whole.redraw(energy, BURN_IN)
    chains = PersistentChains(train.logits, train.y, seed, train.rules)
    for epoch in range(epochs):
        whole.redraw(energy)
        again = torch.rand(n_rows, generator=draws) < (RENEWED if epoch else 1.0)
        for rows in torch.randperm(n_rows, generator=draws).split(size):
            if should_stop():
                return False
            if bool(again[rows].any()):
                chains.renew(energy, rows[again[rows]])
            loss = _loss(energy, train.take(rows), whole.y[rows], chains, rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    energy.eval()
    return True


def _loss(energy: ResidualEnergy, rows: Examples, whole: Tensor, chains: PersistentChains, numbers: Tensor) -> Tensor:
    """Whose gradient is that of the mean -log p(y | x, told) of rows of these numbers."""
    state = energy.prepare(rows.logits)
    drawn = chains.advance(energy, state, numbers)
    difference = energy(state, whole.unsqueeze(1)).squeeze(1) - energy(state, drawn).mean(1)
    return (difference * rows.weight).mean()
