"""Rows asked about again and again, as more is told of them: what a base says of them is found once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.joint.asking import drop_in_entropy

if TYPE_CHECKING:
    from enstruct.estimators.joint import JointMultiLabelClassifier


class Conditionals:
    """Rows of which one label after another is told: ``known`` as in :meth:`JointMultiLabelClassifier.predict_proba`.

    ``logits`` (rows, labels that vary): the base's log-odds.
    """

    def __init__(self, model: JointMultiLabelClassifier, logits: NDArray[np.float32]) -> None:
        self.model, self.logits = model, logits

    def __len__(self) -> int:
        return len(self.logits)

    def take(self, rows: Any) -> Conditionals:
        """Some of them, by an array of numbers."""
        return Conditionals(self.model, self.logits[rows])

    def told(self, known: Any) -> NDArray[np.float32]:
        """(rows, labels that vary) with what follows by the rules, NaN where nothing is told. DataError for what cannot be."""
        return self.model._checked(known, self.logits.shape)

    def predict_proba(self, known: Any = None) -> NDArray[np.float64]:
        """(rows, labels) p(y_i = 1 | x, what is told)."""
        return self.model._probabilities(self.logits, self.told(known))

    def drop_in_entropy(self, known: Any = None) -> NDArray[np.float64]:
        """(rows, labels) nats of the labels' entropies that an answer to each is expected to save; -1 where nothing is asked."""
        drop = drop_in_entropy(self.model._joint(self.logits), torch.from_numpy(self.told(known)))
        return self.model._expanded(drop.numpy(), np.full(len(self.model.constants_), -1.0))
