"""An ensemble of probabilistic classifier chains (Dembczynski et al. 2010; Read et al. 2011) of logistic regression.

    p(y | x) = 1/M sum_m prod_j sigma(x . a_mj + y_before . c_mj + b_mj)          y_before: labels earlier in chain m's order

Every chain is fitted to true earlier labels, which makes it a distribution, so that the mean of the chains' joints has an exact
log p(y | x). The ridge is chosen by that value on held-out rows, from START on as long as it rises. Features that are very many
stay sparse. What is told is answered by importance weights: each chain draws label sets in its order with told labels as told,
and a draw weighs the product of what its chain gave them. A label's answer is the weighted mean of draws with one further draw's
worth of the chains' own probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from enstruct.encoders.sparse_mlp import csr_batch
from enstruct_bench.joint.masked_network import Scale
from enstruct_bench.joint.sides import LogProbability, TwoFits
from enstruct_bench.joint.table import Array, Table, is_wide

CHAINS, DRAWS = 10, 40
MANY_LABELS, CHAINS_OF_MANY, DRAWS_OF_MANY = 200, 3, 10
"""Of more labels there are fewer chains and draws: a chain's cost grows with their square."""
RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
START, START_OF_WIDE = 1.0, 0.1
"""In units of half the squared coefficients against summed losses, as 1/C of scikit-learn's. Rows of texts have length 1, so that
their coefficients are larger."""
ITERATIONS = 100
CELLS = 2**23


@dataclass(frozen=True)
class Chain:
    """``order`` (labels,): the labels in turn. ``of_x`` (features, labels), ``of_y`` (labels, labels), ``bias`` (labels,), all in
    the labels' own numbering."""

    order: NDArray[np.intp]
    of_x: Tensor
    of_y: Tensor
    bias: Tensor

    def log_probability(self, x: Tensor, y: Tensor) -> Tensor:
        """(rows,) exact."""
        return -F.binary_cross_entropy_with_logits(self.logits(x, y), y, reduction="none").sum(1)

    def logits(self, x: Tensor, y: Tensor) -> Tensor:
        """(rows, labels) of each label after those before it in y."""
        return x @ self.of_x + y @ self.of_y + self.bias

    def of_flips(self, x: Tensor, y: Tensor) -> Tensor:
        """(rows, labels) log-probability of y with one label turned over, exact."""
        logits, out = self.logits(x, y), torch.empty_like(y)
        for label in range(y.shape[1]):
            turned = y.clone()
            turned[:, label] = 1 - y[:, label]
            moved = logits + (1 - 2 * y[:, label, None]) * self.of_y[label]
            out[:, label] = -F.binary_cross_entropy_with_logits(moved, turned, reduction="none").sum(1)
        return out

    def draw(self, x: Tensor, known: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Label sets (rows, draws, labels), the log-weights of the draws (rows, draws), the labels' probabilities when drawn;
        ``uniform`` (draws, labels)."""
        fields = (x @ self.of_x + self.bias).unsqueeze(1).repeat(1, len(uniform), 1)
        y, p = torch.zeros_like(fields), torch.zeros_like(fields)
        log_weight = torch.zeros(fields.shape[:2])
        for label in self.order.tolist():
            p[:, :, label] = torch.sigmoid(fields[:, :, label])
            told = known[:, label, None]
            value = torch.where(told.isnan(), (uniform[:, label] < p[:, :, label]).float(), torch.nan_to_num(told))
            sign = 2 * value - 1
            log_weight += torch.where(told.isnan(), 0.0, F.logsigmoid(sign * fields[:, :, label]))
            y[:, :, label] = value
            fields += value.unsqueeze(2) * self.of_y[label]
        return y, log_weight, p


@dataclass(frozen=True)
class Chains:
    chains: list[Chain]
    scale: Scale
    draws: int = DRAWS

    def marginals(self, X: Any, known: Array) -> NDArray[np.float64]:
        drawn = self._drawn(X, known)
        return np.concatenate([_answers(*one) for one in drawn]) if len(known) else np.zeros(known.shape)

    def log_probability(self, X: Any, Y: Array) -> LogProbability:
        y, x = torch.from_numpy(np.asarray(Y, dtype=np.float32)), inputs(self.scale, X)
        each = torch.stack([chain.log_probability(x, y) for chain in self.chains]).double()
        return LogProbability((torch.logsumexp(each, 0) - np.log(len(self.chains))).numpy(), np.zeros(len(Y)))

    def given_others(self, X: Any, Y: Array) -> NDArray[np.float64]:
        """(rows, labels) p(y_i = 1 | x, y_-i) of the mean of the chains' joints, exact."""
        y, x = torch.from_numpy(np.asarray(Y, dtype=np.float32)), inputs(self.scale, X)
        as_given = torch.logsumexp(torch.stack([chain.log_probability(x, y) for chain in self.chains]).double(), 0)
        turned = torch.logsumexp(torch.stack([chain.of_flips(x, y) for chain in self.chains]).double(), 0)
        p = torch.sigmoid(as_given[:, None] - turned)
        return np.asarray(torch.where(y > 0.5, p, 1 - p).numpy())

    def likely_sets(self, X: Any) -> NDArray[np.uint8]:
        """The draw that the mean of the joints holds to be the most probable."""
        n_labels = len(self.chains[0].order)
        parts = []
        for first in range(0, X.shape[0], self._block(n_labels)):
            rows = X[first : first + self._block(n_labels)]
            nothing = np.full((rows.shape[0], n_labels), np.nan, dtype=np.float32)
            y = next(iter(self._drawn(rows, nothing)))[0].to(torch.uint8).numpy()
            densities = np.stack([self.log_probability(rows, y[:, s]).value for s in range(y.shape[1])], axis=1)
            parts.append(y[np.arange(len(y)), densities.argmax(1)])
        return np.concatenate(parts)

    def worth_asking(self, X: Any, known: Array) -> Array | None:
        return None

    def _block(self, n_labels: int) -> int:
        return max(1, CELLS // (len(self.chains) * self.draws * n_labels))

    def _drawn(self, X: Any, known: Array) -> Any:
        size = self._block(known.shape[1])
        uniform = torch.rand(len(self.chains), self.draws, known.shape[1], generator=torch.Generator().manual_seed(0))
        for first in range(0, len(known), size):
            x = inputs(self.scale, X[first : first + size])
            told = torch.from_numpy(np.asarray(known[first : first + size], dtype=np.float32))
            drawn = [chain.draw(x, told, of_chain) for chain, of_chain in zip(self.chains, uniform, strict=True)]
            yield tuple(torch.cat(side, 1) for side in zip(*drawn, strict=True))


def _answers(y: Tensor, log_weight: Tensor, p: Tensor) -> NDArray[np.float64]:
    """(rows, labels)."""
    weight = torch.softmax(log_weight.double(), 1)
    effective = 1 / weight.square().sum(1, keepdim=True)
    mean, own = (torch.einsum("rs,rsl->rl", weight, side.double()) for side in (y, p))
    return np.asarray(((effective * mean + own) / (effective + 1)).numpy())


def fit_chains(table: Table, seed: int) -> TwoFits:
    many = table.n_labels > MANY_LABELS
    chains = CHAINS_OF_MANY if many else CHAINS
    train, held = table.training, table.held
    X_held, Y_held = table.X[held], table.Y[held]

    @cache
    def judged(place: int) -> tuple[float, Chains]:
        judge = fit_ensemble(table.X[train], table.Y[train], RIDGES[place], chains, seed)
        return float(judge.log_probability(X_held, Y_held).value.mean()), judge

    best = RIDGES.index(START_OF_WIDE if is_wide(table.X) else START)
    for step in (-1, 1):
        while 0 <= best + step < len(RIDGES) and judged(best + step)[0] > judged(best)[0]:
            best += step
    return TwoFits(judged(best)[1], fit_ensemble(table.X, table.Y, RIDGES[best], chains, seed), X_held)


def fit_ensemble(X: Any, Y: NDArray[np.float32], ridge: float, chains: int, seed: int) -> Chains:
    rng = np.random.default_rng(seed)
    scale, draws = Scale.of(X), DRAWS if Y.shape[1] <= MANY_LABELS else DRAWS_OF_MANY
    x = inputs(scale, X)
    return Chains([fit_chain(x, Y, ridge, rng.permutation(Y.shape[1])) for _ in range(chains)], scale, draws)


def inputs(scale: Scale, X: Any) -> Tensor:
    """(rows, features) dense, or CSR where they are very many."""
    return csr_batch(X) if is_wide(X) else scale(X)


def fit_chain(x: Tensor, Y: NDArray[np.float32], ridge: float, order: NDArray[np.intp]) -> Chain:
    """All of a chain's regressions at once, which share no coefficients: sum of losses + ridge / 2 * squared coefficients."""
    y = torch.from_numpy(np.asarray(Y, dtype=np.float32))
    place = torch.from_numpy(np.argsort(order))
    earlier = (place[:, None] < place[None, :]).float()
    of_x, of_y, bias = (
        torch.zeros(*shape, requires_grad=True) for shape in ((x.shape[1], len(order)), earlier.shape, (len(order),))
    )
    optimizer = torch.optim.LBFGS([of_x, of_y, bias], max_iter=ITERATIONS, history_size=8, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = x @ of_x + y @ (of_y * earlier) + bias
        value = F.binary_cross_entropy_with_logits(logits, y, reduction="sum")
        value = (value + ridge / 2 * (of_x.square().sum() + (of_y * earlier).square().sum())) / len(y)
        value.backward()
        return value

    optimizer.step(loss)
    return Chain(order, of_x.detach(), (of_y * earlier).detach(), bias.detach())
