"""``TrainedBase``: a model that is trained already, on other rows, as the model under an energy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from torch import Tensor, nn

from enstruct.errors import ConfigError, shown
from enstruct.estimators.classifier_base import checked, probabilities_of, takes_label_sets
from enstruct.estimators.training_table import Table

Answer = Callable[[Any], Any]
"""Rows -> probabilities (rows, labels)."""


@dataclass(frozen=True)
class TrainedBase:
    """What a function says of rows: probabilities (rows, labels) of all ``n_labels``, of which ``columns`` are those that vary.

    Nothing is fitted. Rows that the model has learnt from would make an energy trust it too much, and nobody sees that here.
    """

    answer: Answer
    n_labels: int
    columns: NDArray[np.intp] = field(repr=False)
    refits: bool = True
    chooses: bool = False
    heeds: bool = True  # its deadline, as nothing takes any time

    @property
    def name(self) -> str:
        return name_of(self.answer)

    def fit(self, train: Table, left_out: Table | None, seed: int, deadline: float, like: Any = None) -> Answer:
        return self.answer

    def marginals(self, model: Answer, X: Any) -> NDArray[np.float64]:
        """ConfigError for other shapes than (rows, labels), and for numbers that are no probabilities."""
        p = model(X)
        p = p.detach().cpu() if isinstance(p, Tensor) else p.toarray() if sparse.issparse(p) else p
        p = np.asarray(p, dtype=np.float64)
        if p.shape != (X.shape[0], self.n_labels):
            raise ConfigError(
                f"base=: {self.name} must give probabilities ({X.shape[0]}, {self.n_labels}), rows and labels, not {p.shape}."
            )
        return checked(p, self.name)[:, self.columns]


def is_trained(base: Any) -> bool:
    """Whether a base is a function of rows, or a classifier that stays as it is."""
    return isinstance(base, FrozenEstimator) or (
        callable(base) and not hasattr(base, "get_params") and not isinstance(base, type)
    )


def answer_of(base: Any) -> Answer:
    """ConfigError for modules, whose logits nobody knows to be logits, and for frozen classifiers of one label."""
    if isinstance(base, nn.Module):
        raise ConfigError(
            "base= is a module: give a function of its probabilities, as lambda X: torch.sigmoid(module(torch.as_tensor(X))), or "
            "give its logits of rows as X, and base=scipy.special.expit."
        )
    if not isinstance(base, FrozenEstimator):
        return base
    if not takes_label_sets(base.estimator):
        raise ConfigError(
            f"base=: the frozen {type(base.estimator).__name__} answers for one label: freeze one of label sets (a "
            "MultiOutputClassifier, or one whose tags say multi_label), or give a function of probabilities (rows, labels)."
        )
    return partial(probabilities_of, base.estimator)


def name_of(answer: Answer) -> str:
    if isinstance(answer, partial):
        return type(answer.args[0]).__name__ if answer.func is probabilities_of else name_of(answer.func)
    return shown(getattr(answer, "__name__", type(answer).__name__)).strip("'\"")
