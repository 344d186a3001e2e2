"""Which terms a residual energy on a base's cross-fitted logits has, how hard they are held down, and how long they are trained.

All is chosen by the held-out log-likelihood of the joint itself (:mod:`enstruct.training.joint_likelihood`):

    each candidate      for as many epochs as its held-out pseudo-likelihood falls, or fewer (a power of 2), as long as
                        the joint is likelier: the pseudo-likelihood compares a label set with its neighbours alone, and does not
                        see that others, far from all rows, become likely
    of the candidates   with couplings, and level with the best of them within two standard errors of the difference, the one that
                        answers quickest, or of those that answer in no time the likeliest; with other labels' logits counting
                        in ("stacked"), and trained on by chains (:mod:`enstruct.training.contrastive`), if it is likelier then
    no couplings at all unless they gain more than twice the standard error of the gain

How many epochs, and what is clearly behind the best already, or behind it at all and slower, is seen by a rough likelihood, of
conditionals to a large sampling error, at a tenth of the time. Where large rules make even that of a few rows take too long,
nothing is compared: labels hang together by the rules alone.
"""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.rules import RuleSystem
from enstruct.rules.follow import are_possible, follow
from enstruct.training.contrastive import can_continue, train_by_chains
from enstruct.training.joint_likelihood import likelihoods
from enstruct.training.residual import PATIENCE, refit, train_residual
from enstruct.training.residual_candidates import CANDIDATES, INDEPENDENT, Candidate, Examples

log = logging.getLogger("enstruct")

JUDGED = 300
"""Held-out rows that candidates are judged on, at most."""
FEW, MOST_OF_THE_TIME = 16, 0.05
"""Rows whose rough likelihood may take this share of the time that there is for all candidates: what chains take under rules
hardly depends on the rows, up to some dozens."""
ROUGH, FINE = 0.1, 0.03
"""Standard errors of the conditionals at most."""
CLEARLY = 3.0
"""Standard errors of the rough difference by which a candidate is too far behind to be judged finely."""
NOISE = 2.0
"""Standard errors of a difference up to which it says nothing."""
NO_TIME = 30_000
"""Operations of a sweep below which it does not matter how many they are: thousands of rows are answered in a second."""


class Fitted(NamedTuple):
    """``likelihoods``: candidate -> held-out nats a row (the lower the better), rough ones of what is too far behind.
    ``judge``: the chosen candidate as it was judged, which has not seen the held-out rows."""

    energy: ResidualEnergy
    judge: ResidualEnergy
    chosen: Candidate
    likelihoods: dict[str, float]
    epochs: int


class Tried(NamedTuple):
    """``epochs`` of the pseudo-likelihood; ``rough`` and ``nats`` (rows,) of the held-out rows, weighted: the very same until
    these were judged finely."""

    candidate: Candidate
    judge: ResidualEnergy
    epochs: int
    rough: Tensor
    nats: Tensor

    @property
    def is_fine(self) -> bool:
        return self.nats is not self.rough

    @property
    def mean(self) -> float:
        return float(self.nats.mean())

    @property
    def operations(self) -> int:
        """Of a sweep of the sampler, few ones all the same."""
        return max(self.candidate.cost(self.judge.n_labels) * self.judge.n_labels, NO_TIME)


class Judges:
    """The held-out rows. The same ones, with the same random numbers, judge every candidate."""

    def __init__(self, rows: Examples, seed: int) -> None:
        self.rows = rows.take(np.linspace(0, len(rows.y) - 1, min(len(rows.y), JUDGED)).astype(int))
        self.seed = seed

    def nats(self, energy: ResidualEnergy, tolerance: float) -> Tensor:
        return likelihoods(energy, self.rows, self.seed, tolerance)

    def take_too_long(self, energy: ResidualEnergy, seconds: float) -> bool:
        """Whether a rough look at a few rows does, of so many seconds for everything. Of energies with couplings, whose chains
        change label after label, it takes the longest."""
        begin = time.monotonic()
        likelihoods(energy, self.rows.take(np.arange(min(FEW, len(self.rows.y)))), self.seed, ROUGH)
        return time.monotonic() - begin > MOST_OF_THE_TIME * seconds

    def roughly(self, candidate: Candidate, judge: ResidualEnergy, epochs: int) -> Tried:
        nats = self.nats(judge, ROUGH)
        return Tried(candidate, judge, epochs, nats, nats)

    def finely(self, tried: Tried) -> Tried:
        return tried._replace(nats=self.nats(tried.judge, FINE))


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
    seconds: float = math.inf,
) -> Fitted:
    """``logits`` are cross-fitted; ``held`` numbers the rows that judge candidates. The best is trained anew on all rows.

    candidates : a single one is fitted as it is, for as many epochs as the pseudo-likelihood falls.
    should_stop : asked before each candidate but the first, before it is judged after fewer epochs, and while chains train.
    patience : epochs without a better held-out value after which a candidate's training ends.
    rules : over the labels; the energy is a distribution over the label sets that keep them. Rows that break what binds have no
        probability in it, and teach it nothing.
    seconds : that there are for all candidates. Where judging them under rules would take many times as long, labels are
        independent but for the rules, and there are no ``likelihoods``.
    """
    weights = torch.ones(len(y)) if weight is None else torch.as_tensor(weight / weight.mean(), dtype=torch.float32)
    y, rows = np.array(y, dtype=np.float32), np.arange(len(y))
    if rules is not None:
        rows = np.flatnonzero(are_possible(rules, y))
        y[rows] = follow(rules, y[rows])
        held = np.intersect1d(held, rows) if np.isin(held, rows).any() else rows[:: max(2, len(y) // len(held))]
    examples = Examples(torch.as_tensor(logits, dtype=torch.float32), torch.from_numpy(y), weights, rules)
    train, validation = examples.take(np.setdiff1d(rows, held)), examples.take(held)
    judges, several = Judges(validation, seed), len(candidates) > 1
    if several and rules is not None and math.isfinite(seconds):
        coupled = next((one for one in candidates if one.coupled and one.suits(y.shape[1])), INDEPENDENT)
        if judges.take_too_long(coupled.energy(train, seed), seconds):
            log.info("these rules leave no time to compare energies: labels hang together by the rules alone")
            judge = INDEPENDENT.energy(train, seed)
            epochs, _ = train_residual(judge, train, validation, INDEPENDENT, seed, patience=patience)
            return Fitted(refit(INDEPENDENT, examples.take(rows), epochs, seed), judge.eval(), INDEPENDENT, {}, epochs)
    tried: dict[str, Tried] = {}

    def attempt(candidate: Candidate) -> Tried:
        begin, judge = time.monotonic(), candidate.energy(train, seed)
        epochs, earlier = train_residual(judge, train, validation, candidate, seed, patience=patience)
        one = judges.roughly(candidate, judge, epochs)
        best = min((other for other in tried.values() if other.is_fine), key=_mean, default=None)
        tried[candidate.name] = _said(_judged(one, earlier if several else {}, best, judges, should_stop), begin)
        return tried[candidate.name]

    for candidate in candidates:
        if candidate.suits(y.shape[1]) and not (tried and should_stop()):
            attempt(candidate)
    fine = [one for one in tried.values() if one.is_fine]
    taken = _taken(fine)
    finalists = {one.candidate.name: one.nats for one in fine if one.candidate == INDEPENDENT or one is taken}
    if several and taken.candidate.can_stack(y.shape[1]) and not should_stop():
        stacked = attempt(taken.candidate.with_stack())
        if stacked.is_fine and _mean(stacked) < _mean(taken):
            taken = stacked
            finalists[stacked.candidate.name] = stacked.nats
    if several and can_continue(taken.candidate, train) and not should_stop():
        begin, further, judge = time.monotonic(), taken.candidate.continued(), copy.deepcopy(taken.judge)
        if train_by_chains(judge, train, further, seed, should_stop):
            one = judges.finely(taken._replace(candidate=further, judge=judge))
            tried[further.name] = _said(one, begin)
            finalists[further.name] = one.nats
    chosen = tried[_best(finalists)]
    energy = refit(chosen.candidate, examples if rules is None else examples.take(rows), chosen.epochs, seed)
    nats = {name: one.mean for name, one in tried.items()}
    return Fitted(energy, chosen.judge.eval(), chosen.candidate, nats, chosen.epochs)


def _said(one: Tried, begin: float) -> Tried:
    seconds = time.monotonic() - begin
    log.info("residual energy %s: %d epochs, %.3f nats, %.1f s", one.candidate.name, one.epochs, one.mean, seconds)
    return one


def _judged(
    one: Tried, earlier: dict[int, dict[str, Tensor]], best: Tried | None, judges: Judges, should_stop: Callable[[], bool]
) -> Tried:
    """With the epochs that it is likeliest after, and finely judged unless it is out of the running."""
    shorter = one
    if one.candidate.coupled and not one.candidate.persistent:
        shorter = _shortened(one, earlier, judges, should_stop)
    if best is not None and _is_out(shorter, best):
        return shorter
    fine = judges.finely(shorter)
    return fine if shorter is one else min(fine, judges.finely(one), key=_mean)  # the rough likelihood is biased, either way


def _shortened(tried: Tried, earlier: dict[int, dict[str, Tensor]], judges: Judges, should_stop: Callable[[], bool]) -> Tried:
    """As it was after two thirds of its epochs at most, and so on, as long as that gains more than a standard error."""
    for epochs in sorted(earlier, reverse=True):
        if 3 * epochs > 2 * tried.epochs:
            continue
        if should_stop():
            break
        judge = copy.deepcopy(tried.judge)
        judge.load_state_dict(earlier[epochs])
        fewer = judges.roughly(tried.candidate, judge, epochs)
        gain = tried.nats - fewer.nats
        if not gain.mean() > _error(gain):
            break
        tried = fewer
    return tried


def _is_out(one: Tried, best: Tried) -> bool:
    """Whether it is too far behind, by the rough likelihood, to be taken: clearly, or at all where it has couplings that answer
    more slowly than the best's, as then it would have to lead by more than noise."""
    dearer = best.candidate.coupled and one.operations > best.operations
    difference = one.rough - best.rough
    return len(difference) > 1 and bool(difference.mean() > (0.0 if dearer else CLEARLY * _error(difference)))


def _taken(tried: Collection[Tried]) -> Tried:
    """Of those with couplings that are level with the best of them, and worth them if that is, the one of the least cost; if none
    has any, the first."""
    plain = next((one for one in tried if one.candidate == INDEPENDENT), None)
    coupled = [one for one in tried if one.candidate.coupled] or list(tried)
    best = min(coupled, key=_mean)
    level = [one for one in coupled if one is best or _is_noise(one.nats - best.nats)]
    if plain is not None and _is_worth(plain.nats - best.nats):
        level = [one for one in level if _is_worth(plain.nats - one.nats)]
    return min(level, key=lambda one: (one.operations, one.mean))


def _is_worth(gain: Tensor) -> bool:
    """Whether the nats (rows,) that couplings gain are more than noise."""
    return bool(gain.mean() > NOISE * _error(gain))


def _is_noise(loss: Tensor) -> bool:
    """Whether the nats (rows,) that are lost to the best are no more than noise; of NaN nothing is said."""
    return bool(loss.mean() <= NOISE * _error(loss))


def _mean(one: Tried) -> float:
    return one.mean if math.isfinite(one.mean) else math.inf


def _error(differences: Tensor) -> Tensor:
    """Standard error of the mean of paired differences (rows,)."""
    return differences.std(correction=0) / len(differences) ** 0.5


def _best(nats: dict[str, Tensor]) -> str:
    """The candidate of the fewest nats (rows,) in the mean, of those that gain more than noise on the one without couplings; that
    one where none does."""
    plain = nats.get(INDEPENDENT.name)
    worth = [name for name, own in nats.items() if plain is None or _is_worth(plain - own)]
    return min(worth, key=lambda name: float(nats[name].mean())) if worth else INDEPENDENT.name
