"""What a classifier of label sets has learnt of its data: the form of the labels, which of them vary, the scaling of features.

Labels that never vary in the training rows are left out of the model and predicted as they were.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import Rows
from enstruct.errors import ConfigError, ConstantLabelWarning, DataError
from enstruct.estimators.features import Features, in_single_precision, seen_columns
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.label_rows import positive_weights
from enstruct.estimators.persistence import Weights
from enstruct.estimators.saved_header import OfLabelSets


@dataclass(frozen=True)
class LabelData:
    """``n_features`` of the user's rows, and their ``names`` if they have such."""

    labels: LabelFormat
    constants: ConstantLabels
    features: Features
    n_features: int
    names: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        """Whether a row has one label, of several classes: argmax decides, whatever the rule."""
        return self.labels.kind == "single"

    @property
    def n_varying(self) -> int:
        return len(self.constants.varying)

    def modelled(self, rows: Rows) -> Rows:
        """Scaled features, in the precision of training; only labels that vary."""
        return Rows(in_single_precision(self.features(rows.X)), rows.Y[:, self.constants.varying], rows.weight)

    def positive_weight(self, class_weight: Any, Y: Any) -> NDArray[np.float64] | None:
        """(labels that vary,) of the positives of label sets; a single label's classes weigh on its rows."""
        weights = None if self.single else positive_weights(class_weight, Y, self.labels.classes)
        return None if weights is None else weights[self.constants.varying]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The numbers of a model's folder."""
        return {"varying": self.constants.varying, "constants": self.constants.values, **self.features.arrays()}

    @classmethod
    def from_record(cls, record: OfLabelSets, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of :meth:`arrays`, with what a header says. ValueError for what does not go together."""
        labels, n_features, names = LabelFormat.from_record(record.labels), record.input.n_features, tuple(record.input.names)
        if names and len(names) != n_features:
            raise ValueError(f"{len(names)} names of {n_features} features")
        constants, features = ConstantLabels(arrays["varying"], arrays["constants"]), Features.from_arrays(arrays)
        constants.check(labels.n_labels)
        check_increasing("columns", np.arange(0) if features.columns is None else features.columns, n_features)
        return cls(labels, constants, features, n_features, names)


def example_row(record: OfLabelSets, weights: Weights) -> Any:
    """A row such as the networks of a folder take; ModelFileError for scalers of another number of features."""
    n_features = record.input.n_features
    scaled = [name.removeprefix("scaler/") for name in weights.shapes if name.startswith("scaler/")]
    weights.check("scaler/", dict.fromkeys(scaled, (n_features,)))
    shape = (1, weights.shapes.get("columns", (n_features,))[0])
    return sparse.csr_matrix(shape, dtype=np.float32) if record.input.sparse else np.zeros(shape, dtype=np.float32)


@dataclass
class ConstantLabels:
    """``varying``: label numbers the model learns; ``values`` (labels,): 0/1 where constant, NaN where not."""

    varying: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def none(cls, n_labels: int) -> ConstantLabels:
        return cls(np.arange(n_labels), np.full(n_labels, np.nan))

    def check(self, n_labels: int) -> None:
        """ValueError unless these are numbers of so many labels, each of which varies or has a value."""
        check_increasing("varying", self.varying, n_labels)
        if self.values.shape != (n_labels,) or not np.isnan(self.values[self.varying]).all():
            raise ValueError(f"constants are not those of {n_labels} labels")
        if not np.isin(np.delete(self.values, self.varying), (0, 1)).all():
            raise ValueError("constants are neither 0 nor 1")

    @classmethod
    def find(cls, Y: sparse.csr_matrix) -> ConstantLabels:
        """DataError if every label is constant; one warning if some are."""
        counts = np.asarray(Y.sum(0, dtype=np.int64)).ravel()
        constant = (counts == 0) | (counts == Y.shape[0])
        if constant.all():
            raise DataError(
                f"Every label is constant in Y ({Y.shape[0]} distinct rows, n_samples={Y.shape[0]}): with only one class "
                "there is nothing to learn."
            )
        if constant.any():
            first = np.flatnonzero(constant)[:5].tolist()
            warnings.warn(
                f"{int(constant.sum())} of {len(counts)} labels never vary in the training rows (first: {first}); "
                "their constant is predicted.",
                ConstantLabelWarning,
                stacklevel=3,
            )
        values = np.where(constant, (counts > 0).astype(float), np.nan)
        return cls(np.flatnonzero(~constant), values)

    def warn_if_they_vary(self, Y: sparse.csr_matrix) -> None:
        """For rows that come later: labels that did not vary before are not learnt from them."""
        fixed = np.flatnonzero(~np.isnan(self.values))
        counts = np.asarray(Y[:, fixed].sum(0, dtype=np.int64)).ravel()
        other = fixed[counts != self.values[fixed] * Y.shape[0]]
        if len(other):
            warnings.warn(
                f"{len(other)} labels that never varied in the rows fitted do so now (first: {other[:5].tolist()}); they are not "
                "learnt: fit anew.",
                ConstantLabelWarning,
                stacklevel=3,
            )

    def expand_numbers(self, table: NDArray[Any], otherwise: Any = None) -> NDArray[np.float64]:
        """(..., varying) -> (..., labels), constants in place (or ``otherwise``)."""
        if len(self.varying) == len(self.values):
            return table.astype(np.float64)
        out = np.empty((*table.shape[:-1], len(self.values)))
        out[...] = self.values if otherwise is None else otherwise
        out[..., self.varying] = table
        return out

    def expand_indicator(self, Y: sparse.csr_matrix) -> sparse.csr_matrix:
        """(rows, varying) -> (rows, labels) with constant labels set."""
        if len(self.varying) == len(self.values):
            return Y
        placed = sparse.csr_matrix((Y.data, self.varying[Y.indices], Y.indptr), shape=(Y.shape[0], len(self.values)))
        always = np.flatnonzero(self.values == 1)
        if not len(always):
            return placed
        n, k = Y.shape[0], len(always)
        ones = sparse.csr_matrix((np.ones(n * k, np.uint8), np.tile(always, n), np.arange(0, n * k + 1, k)), shape=placed.shape)
        return (placed + ones).tocsr()


def check_increasing(name: str, places: NDArray[Any], n: int) -> None:
    """ValueError unless these are different numbers from 0 to below ``n``, in order."""
    if places.dtype.kind != "i" or places.ndim != 1 or not np.isin(places, np.arange(n)).all() or (np.diff(places) <= 0).any():
        raise ValueError(f"{name} are not numbers of {n}, in order")


log = logging.getLogger("enstruct")
ANEW = "Set warm_start=False or make a new estimator."


def check_width(n_features: int, X: Any) -> None:
    """ConfigError for another number of features; a sparse layer would take fewer without a word."""
    width: tuple[int, ...] = tuple(getattr(X, "shape", ()))[1:]
    if width not in ((), (n_features,)):
        raise ConfigError(f"warm_start=True goes on with networks fitted to {n_features} features; X has {width[0]}. {ANEW}")


def check_same_labels(data: LabelData, labels: LabelFormat, constants: ConstantLabels) -> None:
    """ConfigError for other labels than those of ``data``, whose places the outputs would take.

    The columns of a data frame have names, those of an array none: there their number must do.
    """
    before = data.labels
    half_named = before.kind == labels.kind == "indicator" and before.classes.dtype.kind != labels.classes.dtype.kind
    same = before.n_labels == labels.n_labels if half_named else np.array_equal(before.classes, labels.classes)
    if not same or not np.array_equal(data.constants.varying, constants.varying):
        raise ConfigError(
            "warm_start=True goes on with networks fitted to other labels, or to rows in which other labels vary; its outputs "
            f"would stand for others. {ANEW}"
        )


def as_before(features: Features, before: Features, X: Any) -> Features:
    """The features of rows X for networks that keep their inputs; a word about those that they do not take."""
    seen = seen_columns(X)
    if before.columns is not None and seen is not None and (new := len(np.setdiff1d(seen, before.columns))):
        log.warning("%d features that no row had when the networks were made are left out: fit anew to learn them", new)
    return Features(features.scaler, before.columns)
