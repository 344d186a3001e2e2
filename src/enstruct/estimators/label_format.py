"""The forms label sets come in, and going back to them.

"indicator"  (rows, labels) of 0/1, dense or CSR          classes_ = 0..labels-1, or the names of a data frame's columns
"names"      a list of collections of label names         classes_ = the names, sorted
"single"     1-D y, binary or multiclass                  classes_ = the classes; one label a row
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from enstruct.data.rows import as_indicator
from enstruct.errors import DataError, shown

JSON_TYPES: dict[str, Any] = {"U": str, "i": int, "u": int, "b": bool, "f": (int, float), "O": object}
"""What the classes of each kind of array are in a model's header."""


class Labels(Struct, forbid_unknown_fields=True):
    """What a saved model holds of a :class:`LabelFormat`."""

    kind: Literal["indicator", "names", "single"]
    classes: Annotated[list[str | int | float | bool], Meta(min_length=1)]
    dtype: Annotated[str, Meta(pattern="^[<>|=]?([biuf](1|2|4|8|16)|U[0-9]{1,9}|O)$")]
    sparse: bool


@dataclass
class LabelFormat:
    """How the labels of ``fit`` were given. ``sparse_output``: predictions are CSR."""

    kind: str
    classes: NDArray[Any]
    sparse_output: bool = False

    @classmethod
    def infer(cls, Y: Any, classes: Any = None) -> LabelFormat:
        """From a first Y (and, for ``partial_fit``, all ``classes``)."""
        if Y is None:
            raise DataError("requires y to be passed, but the target y is None: labels are needed to fit.")
        Y = _plain(Y)
        if sparse.issparse(Y):
            return cls("indicator", np.arange(Y.shape[1]), True)
        if _is_name_lists(Y):
            _check_scores(Y)
            _check_hashable(Y)
            every = {name for row in Y for name in row} if classes is None else set(classes)
            if not every:
                raise DataError(f"There is no label in y: each of its {len(Y)} label sets is empty.")
            return cls("names", _sorted(every))
        array = _as_array(Y)
        if array.ndim == 1:
            _check_targets(array)
            return cls("single", np.unique(array if classes is None else np.asarray(classes)))
        if not array.shape[1]:
            raise DataError(f"There is no label in y: it has shape {array.shape}.")
        names = _column_names(Y)
        return cls("indicator", np.arange(array.shape[1]) if names is None else names)

    def record(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "classes": self.classes.tolist(),
            "dtype": self.classes.dtype.str,
            "sparse": self.sparse_output,
        }

    @classmethod
    def from_record(cls, record: Labels) -> LabelFormat:
        """ValueError for classes that are not different, or not of their type."""
        kind = np.dtype(record.dtype).kind
        if not all(isinstance(name, JSON_TYPES[kind]) for name in record.classes):
            raise ValueError(f"its classes are not of the type {record.dtype}")
        if len(set(record.classes)) < len(record.classes):
            raise ValueError("its classes are not different")
        return cls(record.kind, np.array(record.classes, dtype=str if kind == "U" else record.dtype), record.sparse)

    @property
    def n_labels(self) -> int:
        return len(self.classes)

    def encode(self, Y: Any) -> sparse.csr_matrix:
        """Y as an indicator (rows, labels); DataError says what does not fit."""
        if Y is None:
            raise DataError("requires y to be passed, but the target y is None.")
        Y = _plain(Y)
        if self.kind == "names":
            return self._encode_names(Y)
        if sparse.issparse(Y):
            Y = sparse.csr_matrix(Y, copy=True)
            Y.sum_duplicates()
            return self._checked(Y, Y.data)
        array = _as_array(Y)
        if self.kind == "single":
            return self._encode_single(array)
        if array.ndim != 2:
            raise DataError(f"Y must be a 0/1 matrix (rows, {self.n_labels}) as in fit, not an array of shape {array.shape}.")
        self._check_names(Y)
        return self._checked(array, array)

    def decode(self, indicator: sparse.csr_matrix) -> Any:
        """An indicator in the form Y had in ``fit``."""
        if self.kind == "single":
            return self.classes[np.asarray(indicator.argmax(axis=1)).ravel()]
        if self.kind == "names":
            return [self.classes[indicator.indices[a:b]].tolist() for a, b in pairwise(indicator.indptr)]
        return indicator if self.sparse_output else indicator.toarray().astype(np.int64)

    def _check_names(self, Y: Any) -> None:
        """Of a data frame: its columns are those of ``fit``, in their order."""
        names = _column_names(Y)
        if names is None or self.classes.dtype.kind != "U" or len(names) != self.n_labels:
            return
        for i, (name, known) in enumerate(zip(names, self.classes, strict=True)):
            if name != known:
                raise DataError(
                    f"Label {i} is {shown(str(name))} in Y but {shown(str(known))} in fit: order the columns as there."
                )

    def _checked(self, Y: Any, values: Any) -> sparse.csr_matrix:
        if Y.shape[1] != self.n_labels:
            raise DataError(f"Y has {Y.shape[1]} labels, expected {self.n_labels}.")
        array = np.asarray(values)
        if not ((array == 0) | (array == 1)).all():
            raise DataError("A label matrix must hold only 0 and 1. Unknown label type: it holds other values (or NaN).")
        return as_indicator(Y)

    def _encode_names(self, Y: Any) -> sparse.csr_matrix:
        if not _is_collections(Y):
            raise DataError("Y was given as lists of label names in fit; give it in the same form.")
        number = {name: i for i, name in enumerate(self.classes.tolist())}
        rows, columns = [], []
        for i, row in enumerate(Y):
            for name in dict.fromkeys(row):
                if name not in number:
                    raise DataError(f"Row {i} has the label {shown(name)}, which is not among the classes known from fit.")
                rows.append(i)
                columns.append(number[name])
        return sparse.csr_matrix((np.ones(len(rows), np.uint8), (rows, columns)), shape=(len(Y), self.n_labels))

    def _encode_single(self, y: NDArray[Any]) -> sparse.csr_matrix:
        if y.ndim != 1:
            raise DataError(f"y must be 1-D as in fit, not of shape {y.shape}.")
        column = np.searchsorted(self.classes, y).clip(max=len(self.classes) - 1)
        unknown = self.classes[column] != y
        if unknown.any():
            raise DataError(
                f"Unknown class {shown(y[unknown][0])} in y; the classes are {shown(self.classes.tolist()[:10], 150)}."
            )
        ones = np.ones(len(y), np.uint8)
        return sparse.csr_matrix((ones, (np.arange(len(y)), column)), shape=(len(y), self.n_labels))


def _column_names(Y: Any) -> NDArray[Any] | None:
    """Those of a data frame, if they are texts; None of anything else."""
    names = list(getattr(Y, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return None
    counts = Counter(names)
    if len(counts) < len(names):
        raise DataError(f"Two columns of Y are called {shown(next(name for name in names if counts[name] > 1))}.")
    return _as_given(names)


def _plain(Y: Any) -> Any:
    """A Series or array of collections, and arrays within a list, as lists of lists."""
    if isinstance(Y, (list, tuple)):
        return [row.tolist() if isinstance(row, np.ndarray) and row.ndim == 1 else row for row in Y]
    values = Y if isinstance(Y, np.ndarray) else getattr(Y, "values", None)
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1 and len(values):
        rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in values]
        if all(isinstance(row, (list, tuple, set, frozenset)) for row in rows):
            return rows
    return Y


def is_missing(name: Any) -> bool:
    """None, NaN, or pandas' NA."""
    if isinstance(name, np.ndarray):
        return False
    try:
        return name is None or bool(name != name)  # NaN differs from itself
    except TypeError:  # and pandas' NA says nothing of the kind
        return True


def _sorted(names: set[Any]) -> NDArray[Any]:
    if any(map(is_missing, names)):
        raise DataError("A label set holds None or NaN: leave out what is not known, or give it a name.")
    try:
        array = _as_given(sorted(names))
    except TypeError as error:
        kinds = ", ".join(sorted({type(name).__name__ for name in names}))
        raise DataError(f"Label names must be of one kind that can be sorted; here are {kinds}.") from error
    if array.ndim > 1:
        raise DataError("Label names must be texts or numbers, not tuples of them: join these to one name.")
    return array


def _as_given(names: list[Any]) -> NDArray[Any]:
    """An array of them. DataError where it would not hold all as they are, as with texts that end in NUL."""
    array = np.array(names)
    if array.ndim == 1 and array.dtype.kind in "USbiuf" and array.tolist() != names:
        changed = next(name for name, kept in zip(names, array.tolist(), strict=True) if name != kept)
        raise DataError(f"The label name {shown(changed)} cannot be kept as it is beside the others: rename it.")
    return array


def _check_scores(Y: Any) -> None:
    """DataError for fractions in the place of names: probabilities, or a regression's targets."""
    odd = next((name for row in Y for name in row if isinstance(name, (float, np.floating)) and name % 1 > 0), None)
    if odd is not None:
        raise DataError(f"Label names are texts or whole numbers, not {float(odd):g}: make label sets of probabilities first.")


def _check_hashable(Y: Any) -> None:
    """DataError for lists in the place of names."""
    for i, row in enumerate(Y):
        if odd := [name for name in row if isinstance(name, (list, dict, set, np.ndarray))]:
            raise DataError(f"Label names must be texts or numbers, and row {i} of y has {shown(odd[0])} among them.")


def _is_collections(Y: Any) -> bool:
    return isinstance(Y, (list, tuple)) and all(isinstance(row, (list, tuple, set, frozenset)) for row in Y)


def _is_name_lists(Y: Any) -> bool:
    """A list of lists, tuples or sets of names, and not a nested list of 0/1 rows."""
    if not _is_collections(Y) or not len(Y):
        return False
    if all(isinstance(row, (list, tuple)) and len(row) == len(Y[0]) for row in Y):
        if _holds_yes_and_no(Y):
            return False
    elif all(isinstance(row, (list, tuple)) for row in Y) and _holds_yes_and_no(Y) and any(len(row) > len(set(row)) for row in Y):
        raise DataError(
            f"A 0/1 matrix has as many columns in each row: {_first_that_differs(Y)}."
        )  # no name stands twice in a set
    return True


def _holds_yes_and_no(Y: Any) -> bool:
    """Whether all values are 0 or 1."""
    flat: Iterable[Any] = (v for row in Y for v in row)
    return all(isinstance(v, (int, float, np.number, np.bool_)) and v in (0, 1) for v in flat)


def _first_that_differs(Y: Any) -> str:
    """The first row that is of another form than row 0, in words."""
    forms = [f"{len(row)} columns" if isinstance(row, (list, tuple, set, np.ndarray)) else f"{shown(row, 30)}" for row in Y]
    other = next((i for i, form in enumerate(forms) if form != forms[0]), 0)
    return f"row 0 has {forms[0]}, row {other} has {forms[other]}"


def _as_array(Y: Any) -> NDArray[Any]:
    try:
        array = np.asarray(Y, dtype=object) if isinstance(Y, list) and any(row is None for row in Y) else np.asarray(Y)
    except ValueError:
        raise DataError(
            f"Y must have one form in all rows, as many columns of 0 and 1, or one class: {_first_that_differs(Y)}."
        ) from None
    if array.dtype == object and (missing := [i for i, value in enumerate(array.ravel()) if is_missing(value)]):
        row = missing[0] // (array.shape[1] if array.ndim == 2 else 1)
        raise DataError(
            f"Input y contains NaN or None in row {row}: every label must be known. A row without labels is an empty set."
        )
    if array.ndim == 2 and array.shape[1] == 1:
        array = column_or_1d(array, warn=True)
    if array.ndim not in (1, 2):
        raise DataError(f"Y must be 1-D or 2-D, not of shape {array.shape}.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError("Input y contains NaN or infinity: every label must be known.")
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: labels cannot be complex.")
    return array


def _check_targets(y: NDArray[Any]) -> None:
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise DataError(str(error)) from error
    if type_of_target(y) not in ("binary", "multiclass"):
        raise DataError(f"Unknown label type: {type_of_target(y)}. 1-D y must hold classes.")
