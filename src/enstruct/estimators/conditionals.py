"""Rows asked about again and again, as more is told of them: what a base says of them is found once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.joint.asking import SAMPLES, drop_in_entropy
from enstruct.joint.distribution import SWEEPS, Joint
from enstruct.joint.gibbs import CHAINS, TOLERANCE

if TYPE_CHECKING:
    from enstruct.estimators.joint import JointMultiLabelClassifier


class Sampling(NamedTuple):
    """How what cannot be enumerated is sampled.

    Marginals by so many ``chains`` a row, to a standard error of ``tolerance``; the question by ``samples`` a row, after so many
    ``sweeps`` of their chains. ``hurried``: of one row at a time, for somebody who waits.
    """

    chains: int = CHAINS
    tolerance: float = TOLERANCE
    samples: int = SAMPLES
    sweeps: int = SWEEPS
    hurried: bool = False

    def marginals(self, joint: Joint, known: Tensor) -> Tensor:
        """(rows, labels)."""
        return (joint.hurried() if self.hurried else joint).marginals(known, self.tolerance, self.chains)

    def question(self, joint: Joint, known: Tensor) -> Tensor:
        """(rows, labels) nats (:mod:`enstruct.joint.asking`)."""
        joint = joint.hurried() if self.hurried else joint
        return drop_in_entropy(joint, known, self.samples, self.sweeps, self.marginals)


BY_DEFAULT, HURRIED = Sampling(), Sampling(chains=64, tolerance=0.02, samples=128, sweeps=10, hurried=True)


class Conditionals:
    """Rows of which one label after another is told: ``known`` as in :meth:`JointMultiLabelClassifier.predict_proba`.

    ``logits`` (rows, labels that vary): the base's log-odds. ``sampling``: how what cannot be enumerated is.
    """

    def __init__(self, model: JointMultiLabelClassifier, logits: NDArray[np.float32], sampling: Sampling = BY_DEFAULT) -> None:
        self.model, self.logits, self.sampling = model, logits, sampling

    def hurried(self) -> Conditionals:
        """For somebody who waits: of one row many chains take hardly longer a sweep than few, and need fewer sweeps."""
        return Conditionals(self.model, self.logits, HURRIED)

    def __len__(self) -> int:
        return len(self.logits)

    def take(self, rows: Any) -> Conditionals:
        """Some of them, by an array of numbers."""
        return Conditionals(self.model, self.logits[rows], self.sampling)

    def told(self, known: Any) -> NDArray[np.float32]:
        """(rows, labels that vary) with what follows by the rules, NaN where nothing is told. DataError for what cannot be."""
        return self.model._checked(known, self.logits.shape)

    def predict_proba(self, known: Any = None) -> NDArray[np.float64]:
        """(rows, labels) p(y_i = 1 | x, what is told)."""
        return self.model._probabilities(self.logits, self.told(known), self.sampling)

    def drop_in_entropy(self, known: Any = None) -> NDArray[np.float64]:
        """(rows, labels) nats of the labels' entropies that an answer to each is expected to save; -1 where nothing is asked."""
        drop = self.sampling.question(self.model._joint(self.logits), torch.from_numpy(self.told(known)))
        return self.model._expanded(drop.numpy(), np.full(len(self.model.constants_), -1.0))
