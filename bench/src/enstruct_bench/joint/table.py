"""The rows of one seed: what every side is fitted to, which of them choose thresholds and settings, and what it is tested on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.hierarchy import Hierarchy
from enstruct.data.splits import Splits
from enstruct.errors import DataError

Array = NDArray[Any]
WIDE = 10_000


@dataclass(frozen=True)
class Table:
    """``X`` (rows, features) dense or CSR and ``Y`` (rows, labels) of 0 and 1, training rows and, numbered ``held``, validation
    rows; ``X_test``, ``Y_test`` likewise. Where labels may have holes, Y is NaN there. Labels that the training rows alone do not
    show both values of are left out. ``hierarchy``: over those that are left, where the data have one."""

    X: Any
    Y: NDArray[np.float32]
    held: NDArray[np.intp]
    X_test: Any
    Y_test: NDArray[np.float32]
    hierarchy: Hierarchy | None = None

    @property
    def n_labels(self) -> int:
        return int(self.Y.shape[1])

    @property
    def training(self) -> NDArray[np.intp]:
        """Numbers of the rows that are not held out."""
        return np.setdiff1d(np.arange(len(self.Y)), self.held)


def table_of(splits: Splits) -> Table:
    """DataError where fewer than two labels vary."""
    train, validation, test = (np.asarray(part.Y.toarray(), dtype=np.float32) for part in splits.parts().values())
    varying = varying_of(train)
    if len(varying) < 2:
        raise DataError(f"{splits.train.name or 'This set'}: {len(varying)} labels vary in the training rows; two are needed.")
    X = stacked(splits.train.X, splits.validation.X)
    held = np.arange(len(train), len(train) + len(validation))
    hierarchy = _among(splits.train.hierarchy, varying)
    return Table(X, np.concatenate([train, validation])[:, varying], held, splits.test.X, test[:, varying], hierarchy)


def _among(hierarchy: Hierarchy | None, labels: NDArray[np.intp]) -> Hierarchy | None:
    """Of some of its labels, whose numbers are their places among these."""
    if hierarchy is None:
        return None
    place = {int(label): i for i, label in enumerate(labels)}
    edges = [(place[a], place[b]) for a, b in hierarchy.edges if a in place and b in place]
    return Hierarchy(len(labels), tuple(edges))


def varying_of(Y: Array) -> NDArray[np.intp]:
    """Numbers of the labels that both values were observed of in the rows."""
    return np.flatnonzero(np.equal(Y, 0).any(0) & np.equal(Y, 1).any(0))


def is_wide(X: Any) -> bool:
    """Whether features are sparse, and too many for peers that read a dense array."""
    return bool(sparse.issparse(X) and X.shape[1] > WIDE)


def stacked(above: Any, below: Any) -> Any:
    return sparse.vstack([above, below], format="csr") if sparse.issparse(above) else np.vstack([above, below])
