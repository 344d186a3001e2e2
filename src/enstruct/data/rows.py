"""Rows of a data set as the library carries them: features, label indicators, weights."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.errors import DataError


class Supervision(Protocol):
    """What is known of rows beside their truth (:mod:`enstruct.weak_supervision`), row by row."""

    def take(self, index: NDArray[Any]) -> Self: ...


@dataclass(frozen=True)
class Rows:
    """``X`` (rows, features) dense or CSR; ``Y`` (rows, labels) CSR of 0/1; ``weight`` (rows,) or None.

    Or sentences and their tags (:mod:`enstruct.data.sentences`), or images and their masks (:mod:`enstruct.data.images`), which
    have a shape and are indexed by row as well.
    """

    X: Any
    Y: Any
    weight: NDArray[Any] | None = None
    supervision: Supervision | None = None

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    def take(self, index: NDArray[Any]) -> Rows:
        return Rows(
            self.X[index],
            self.Y[index],
            None if self.weight is None else self.weight[index],
            None if self.supervision is None else self.supervision.take(index),
        )


def as_indicator(Y: Any) -> sparse.csr_matrix:
    """Any 0/1 matrix as a CSR matrix of uint8; one that is that already is given back.

    DataError for other numbers, NaN among them, which are no labels and would become some by rounding.
    """
    if isinstance(Y, sparse.csr_matrix) and Y.dtype == np.uint8 and Y.data.all():
        return Y
    values = Y.data if sparse.issparse(Y) else np.asarray(Y)
    if values.dtype.kind in "iuf" and ((values != 0) & (values != 1)).any():
        odd = values[(values != 0) & (values != 1)].flat[0]
        raise DataError(
            f"A label matrix has the value {odd:g}, and its cells are 0 or 1. Fill or leave out what is unknown; cut "
            "probabilities by a decision rule, as p >= 0.5."
        )
    matrix = sparse.csr_matrix(Y, dtype=np.uint8)
    matrix.eliminate_zeros()
    return matrix


def indicator_of(label_sets: Sequence[Collection[int]], n_labels: int) -> sparse.csr_matrix:
    """Label sets, each the numbers of its labels, as CSR (rows, labels) of uint8; a label listed twice is one label."""
    rows = np.repeat(np.arange(len(label_sets)), [len(labels) for labels in label_sets])
    columns = [label for labels in label_sets for label in labels]
    Y = sparse.csr_matrix((np.ones(len(columns), np.uint8), (rows, columns)), shape=(len(label_sets), n_labels))
    Y.data[:] = 1
    return Y
