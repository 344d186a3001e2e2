"""Training of residual energies on a base's cross-fitted logits, by pseudo-likelihood; which of several is kept.

Which terms an energy has, and how hard they are held down, is chosen by the held-out log-likelihood of the joint itself, label
after label in random order:

    -log p(y | x) = E_order sum_k -log p(y_k | x, labels before k)  =  L * mean over shares told of the log-loss on asked cells

with the conditionals that the energy answers with (:class:`enstruct.joint.Joint`), so that a candidate is judged by exactly what
it will be asked, from nothing told to all but one. Of those with couplings that are level with the best, within one standard
error of the difference over the held-out rows, the one that answers quickest is taken, and trained on by chains
(:mod:`enstruct.training.contrastive`), which is one candidate more. One of the candidates has no couplings at all: it is kept
unless the others gain more than twice the standard error of that gain.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint import Joint
from enstruct.joint.holes import Whole
from enstruct.objectives.pseudo_likelihood import pseudo_likelihood
from enstruct.rules import RuleSystem
from enstruct.rules.follow import are_possible, follow
from enstruct.training.contrastive import can_continue, train_by_chains
from enstruct.training.residual_candidates import CANDIDATES, INDEPENDENT, MOST_UNITS, Candidate, Examples

log = logging.getLogger("enstruct")

PARTS = 5
"""Of the shares of labels told: a share is drawn for each row from each, so that the estimate of the likelihood has no bias."""
JUDGED = 300
"""Held-out rows that candidates are judged on, at most."""
BATCH, LARGEST_BATCH, BATCHES = 64, 256, 40
"""Rows of a batch; of more than MOST_UNITS labels as many as make so many batches an epoch, within the first two: there a step
of 256 rows costs little more than one of 64, which is mostly the gradient and the update of the table of pairs."""
MANY_BATCHES, LARGEST_OF_MANY = 100, 512
"""Of other labels many rows make larger batches: so many an epoch, as far as a batch has no more rows than this."""
EPOCHS, PATIENCE = 200, 10
CELLS = 2**21
"""Numbers of a batch's flips (rows, labels, units) at most: beyond, some labels of it are drawn."""
CLIP = 1e-6


class Fitted(NamedTuple):
    """``likelihoods``: candidate -> held-out nats a row (the lower the better). ``judge``: the chosen candidate as it was judged,
    which has not seen the held-out rows."""

    energy: ResidualEnergy
    judge: ResidualEnergy
    chosen: Candidate
    likelihoods: dict[str, float]
    epochs: int


class Tried(NamedTuple):
    """``epochs`` of the pseudo-likelihood; ``nats`` (rows,) held-out ones, weighted."""

    candidate: Candidate
    judge: ResidualEnergy
    epochs: int
    nats: Tensor

    def words(self, begin: float) -> str:
        return f"{self.nats.mean():.3f} nats, {time.monotonic() - begin:.1f} s"


def fit_residual(
    logits: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[Any] | None,
    held: NDArray[np.intp],
    seed: int,
    candidates: Sequence[Candidate] = CANDIDATES,
    should_stop: Callable[[], bool] = lambda: False,
    patience: int = PATIENCE,
    rules: RuleSystem | None = None,
) -> Fitted:
    """``logits`` are cross-fitted; ``held`` numbers the rows that judge candidates. The best is trained anew on all rows.

    candidates : a single one is fitted as it is, of several the one taken is also trained on by chains.
    should_stop : asked before each candidate but the first, and while chains train.
    patience : epochs without a better held-out value after which a candidate's training ends.
    rules : over the labels; the energy is a distribution over the label sets that keep them. Rows that break what binds have no
        probability in it, and teach it nothing.
    """
    weights = torch.ones(len(y)) if weight is None else torch.as_tensor(weight / weight.mean(), dtype=torch.float32)
    y, rows = np.array(y, dtype=np.float32), np.arange(len(y))
    if rules is not None:
        rows = np.flatnonzero(are_possible(rules, y))
        y[rows] = follow(rules, y[rows])
        held = np.intersect1d(held, rows) if np.isin(held, rows).any() else rows[:: max(2, len(y) // len(held))]
    examples = Examples(torch.as_tensor(logits, dtype=torch.float32), torch.from_numpy(y), weights, rules)
    others = np.setdiff1d(rows, held)
    train, validation = examples.take(others), examples.take(held)
    judged = validation.take(np.linspace(0, len(held) - 1, min(len(held), JUDGED)).astype(int))
    n_labels = y.shape[1]
    tried: dict[str, Tried] = {}
    for candidate in candidates:
        if not candidate.suits(n_labels) or (tried and should_stop()):
            continue
        begin = time.monotonic()
        judge = candidate.energy(train, seed)
        epochs = train_residual(judge, train, validation, candidate, seed, patience=patience)
        tried[candidate.name] = Tried(candidate, judge, epochs, likelihoods(judge, judged, seed) * judged.weight)
        log.info("residual energy %s: %s", candidate.name, tried[candidate.name].words(begin))
    taken = _taken(tried.values(), n_labels)
    finalists = [one for one in tried.values() if one.candidate == INDEPENDENT or one is taken]
    if len(candidates) > 1 and can_continue(taken.candidate, train) and not should_stop():
        begin, further, judge = time.monotonic(), taken.candidate.continued(), copy.deepcopy(taken.judge)
        if train_by_chains(judge, train, further, seed, should_stop):
            tried[further.name] = Tried(further, judge, taken.epochs, likelihoods(judge, judged, seed) * judged.weight)
            finalists.append(tried[further.name])
            log.info("residual energy %s: %s", further.name, tried[further.name].words(begin))
    chosen = tried[_best({one.candidate.name: one.nats for one in finalists})]
    energy = refit(chosen.candidate, examples if rules is None else examples.take(rows), chosen.epochs, seed)
    nats = {name: float(one.nats.mean()) for name, one in tried.items()}
    return Fitted(energy, chosen.judge.eval(), chosen.candidate, nats, chosen.epochs)


def _taken(tried: Collection[Tried], n_labels: int) -> Tried:
    """Of those with couplings that are level with the best of them the one of the least cost; if none has any, the first."""
    coupled = [one for one in tried if one.candidate.coupled] or list(tried)
    fewest = min(coupled, key=_mean).nats
    level = [one for one in coupled if _mean(one) - fewest.mean() <= _error(one.nats - fewest)]
    return min(level, key=lambda one: (one.candidate.cost(n_labels), _mean(one)))


def _mean(one: Tried) -> float:
    return float(one.nats.mean())


def _error(differences: Tensor) -> Tensor:
    """Standard error of the mean of paired differences (rows,)."""
    return differences.std(correction=0) / len(differences) ** 0.5


def _best(nats: dict[str, Tensor]) -> str:
    """The candidate of the fewest nats (rows,) in the mean, the one without couplings where they gain no more than noise."""
    best = min(nats, key=lambda name: float(nats[name].mean()))
    if INDEPENDENT.name not in nats:
        return best
    gain = nats[INDEPENDENT.name] - nats[best]
    return best if gain.mean() > 2 * _error(gain) else INDEPENDENT.name


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
) -> int:
    """Minimise the pseudo-likelihood, holes filled by draws (:mod:`enstruct.joint.holes`), then train on by chains where the
    candidate says so. With validation rows: until theirs has not fallen for ``patience`` epochs; the best weights are kept.
    Returns how many epochs they took."""
    optimizer = candidate.optimizer(energy, candidate.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** (epoch // (EPOCHS // 4)))
    draws = torch.Generator().manual_seed(seed)
    batch_size = _batch_size(len(train.y), energy.n_labels)
    whole = Whole(train.logits, train.y, seed, train.rules)
    judged = None if validation is None else Whole(validation.logits, validation.y, seed, train.rules)
    odds, judged_odds = train.odds(whole.y), None if judged is None or validation is None else validation.odds(judged.y)
    best, kept, at = np.inf, None, 0
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
        if value < best - 1e-4:
            best, at = value, epoch
            kept = {name: tensor.clone() for name, tensor in energy.state_dict().items()}
        elif epoch - at >= patience:
            break
    if kept is not None:
        energy.load_state_dict(kept)
    if candidate.persistent:
        train_by_chains(energy, train, candidate, seed)
    return at if validation is not None else epochs


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


def likelihood(energy: ResidualEnergy, rows: Examples, seed: int, tolerance: float = 0.02) -> float:
    """Held-out -log p(y | x) of the observed labels in nats a row, label after label in random order."""
    return float((likelihoods(energy, rows, seed, tolerance) * rows.weight).mean())


@torch.no_grad()
def likelihoods(energy: ResidualEnergy, rows: Examples, seed: int, tolerance: float = 0.02) -> Tensor:
    """(rows,) of them, before weights."""
    draws = torch.Generator().manual_seed(seed)
    observed = ~rows.y.isnan()
    count = observed.sum(1, keepdim=True)
    place = torch.rand(rows.y.shape, generator=draws).masked_fill(~observed, 2.0).argsort(1).argsort(1)  # unobserved ones last
    y, total = torch.nan_to_num(rows.y), torch.zeros(len(rows.y))
    joint = Joint(energy, energy.prepare(rows.logits), torch.sigmoid(rows.logits), seed, rows.rules)
    for part in range(PARTS):
        share = (part + torch.rand(len(y), 1, generator=draws)) / PARTS
        told = place < (share * count).floor()  # 0 to count - 1, each as likely in the sum over parts
        p = joint.marginals(torch.where(told, rows.y, torch.nan), tolerance).clamp(CLIP, 1 - CLIP)
        asked = observed & ~told
        loss = torch.where(asked, -(y * p.log() + (1 - y) * (1 - p).log()), 0.0).sum(1)
        total += loss / asked.sum(1).clamp(min=1) * count.squeeze(1) / PARTS
    return total
