"""The energy of a model of label sets, as reports look at it: over the labels that vary, at any y of some rows.

E(x, y)     of a joint on a base's logits, exp(-E)/Z being its distribution over label sets in nats; of a method of networks what
            its inference minimises, which adds -log p of the predictor where the energy is relative to that
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.estimators import AutoMultiLabelClassifier
from enstruct.estimators.bases import logits_of
from enstruct.estimators.features import validated
from enstruct.estimators.joint import JointMultiLabelClassifier

CELLS = 2**22
"""Numbers of label sets that are asked about at a time."""


class Situation(NamedTuple):
    """Some rows: ``energies(y)`` takes (rows, sets, labels that vary), relaxed or not, and gives (rows, sets); ``marginals``
    (rows, labels that vary) of the model while nothing is told."""

    energies: Callable[[Tensor], Tensor]
    marginals: Tensor


class OnLogits(NamedTuple):
    """A residual energy, and the base's logits (rows, labels that vary) of rows X."""

    energy: ResidualEnergy
    logits: Callable[[Any], Tensor]


@dataclass(frozen=True)
class LabelEnergy:
    """``varying``: numbers of the labels that it is over; ``at(X)``: what it says of rows X; ``own``: of a joint itself, and what
    it stands on; ``in_nats``: whether exp(-E) is the model's own distribution, as of a joint."""

    varying: NDArray[np.intp]
    at: Callable[[Any], Situation]
    own: OnLogits | None = None

    @property
    def in_nats(self) -> bool:
        return self.own is not None


def energy_of(model: Any) -> LabelEnergy | None:
    """Of a fitted classifier of label sets; None where it has none of its own (baselines; averages of several models)."""
    model = getattr(model, "joint_", model)
    if isinstance(model, JointMultiLabelClassifier):
        return _of_joint(model)
    if isinstance(model, AutoMultiLabelClassifier) or model.energy_ is None:
        return None

    def at(X: Any) -> Situation:
        problem = model.inference_problem(X)
        device = problem.predicted.device
        p = torch.from_numpy(np.asarray(model.predict_proba(X)[:, varying], dtype=np.float32))

        @torch.no_grad()
        def energies(y: Tensor) -> Tensor:
            return problem.energy(problem.state, y.to(device)).double().cpu()

        return Situation(energies, p)

    varying = np.asarray(model.data_.constants.varying)
    return LabelEnergy(varying, at)


def _of_joint(model: JointMultiLabelClassifier) -> LabelEnergy:
    energy = model.energy_

    def logits(X: Any) -> Tensor:
        rows = validated(model, X, reset=False)
        return torch.from_numpy(logits_of(np.mean([fitted.answer(rows) for fitted in model.base_], axis=0)))

    def at(X: Any) -> Situation:
        z = logits(X)
        with torch.no_grad():
            state = energy.prepare(z)

        @torch.no_grad()
        def energies(y: Tensor) -> Tensor:
            return torch.as_tensor(energy(state, y)).double()

        return Situation(energies, cast(Tensor, state.terms[1]))

    return LabelEnergy(model.varying_, at, OnLogits(energy, logits))


@torch.no_grad()
def interactions(energy: LabelEnergy, X: Any, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """(labels, labels) how much the log-odds of one label rise, in units of the energy, when another joins it:

        J_ij = mean over rows X of  E(y + i) + E(y + j) - E(y + i + j) - E(y),    y: the marginals, without i and j

    symmetric, 0 on the diagonal, for these ``labels``, positions among those that vary. Of a joint, where y at its marginals says
    nothing of a label, it is what the two say of each other when nothing else is known.
    """
    if energy.own is not None:
        return _by_flips(energy.own.energy, energy.own.logits(X), labels)
    situation = energy.at(X)
    n, mean = len(labels), situation.marginals
    out = np.zeros((n, n))
    first, second = np.triu_indices(n, 1)
    step = max(1, CELLS // (4 * max(1, mean.numel())))
    for start in range(0, len(first), step):
        pairs = slice(start, start + step)
        i, j = (torch.from_numpy(labels[side[pairs]]) for side in (first, second))
        number = torch.arange(len(i))
        corners = mean.unsqueeze(1).unsqueeze(2).repeat(1, len(i), 4, 1)  # (rows, pairs, [neither, i, j, both], labels)
        for corner, (has_i, has_j) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
            corners[:, number, corner, i], corners[:, number, corner, j] = float(has_i), float(has_j)
        values = situation.energies(corners.flatten(1, 2)).unflatten(1, (len(i), 4)).mean(0)
        out[first[pairs], second[pairs]] = (values[:, 1] + values[:, 2] - values[:, 3] - values[:, 0]).numpy()
    return out + out.T


def _by_flips(energy: ResidualEnergy, logits: Tensor, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """The same from the log-odds of all labels at once, with one of them there and with it absent."""
    state = energy.prepare(logits)
    mean = cast(Tensor, state.terms[1])
    where = torch.from_numpy(labels)
    out = np.zeros((len(labels), len(labels)))
    for place, label in enumerate(labels):
        there, absent = mean.clone(), mean.clone()
        there[:, label], absent[:, label] = 1.0, 0.0
        rise = energy.flips(state, there) - energy.flips(state, absent)
        out[place] = rise.double().mean(0)[where].numpy()
    np.fill_diagonal(out, 0)
    return (out + out.T) / 2


def greedy_path(energies: Callable[[Tensor], Tensor], start: NDArray[np.float32], end: NDArray[np.float32]) -> list[float]:
    """Energies along a walk from one label set (labels,) to another, a label at a time: each step changes that one of the labels
    that still differ which leaves the lowest energy. ``energies``: of sets (1, sets, labels) of one row."""
    y, left = start.copy(), [int(i) for i in np.flatnonzero(start != end)]
    values = [float(energies(torch.from_numpy(y)[None, None])[0, 0])]
    while left:
        steps = np.repeat(y[None], len(left), axis=0)
        steps[np.arange(len(left)), left] = end[left]
        found = energies(torch.from_numpy(steps)[None])[0]
        best = int(found.argmin())
        values.append(float(found[best]))
        y = steps[best]
        del left[best]
    return values
