"""What somebody tells of labels: a table like Y in which unknown cells are NaN.

Told labels come as an array like Y with NaN, None or -1 where nothing is told (a data frame's columns may be in any order), or as
one dict a row, {label: yes or no}, or None for a row of which nothing is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.errors import DataError, shown, unknown_name
from enstruct.estimators.label_format import LabelFormat, is_missing

YES, NO = (True, 1), (False, 0)


def are_dicts(y: Any) -> bool:
    """Whether label sets come as dicts, which say of each label that they name whether it is there; None says nothing."""
    if not isinstance(y, (list, tuple)) or not any(isinstance(row, Mapping) for row in y):
        return False
    return all(row is None or isinstance(row, Mapping) for row in y)


def told_format(y: Any) -> LabelFormat:
    """The form of labels that may have holes. DataError for y without labels, and where -1 would be yes's opposite."""
    if are_dicts(y):
        names = sorted({name for row in y for name in row or ()}, key=str)
        if not names:
            raise DataError("No row of y tells a label.")
        return LabelFormat("names", np.array(names, dtype=None if all(isinstance(name, str) for name in names) else object))
    columns = _columns(y, "y")
    if (table := _table(y)) is None or (isinstance(y, (list, tuple)) and not _are_cells(table).all()):
        return LabelFormat.infer(y)  # lists of numbers may be names, as many in each row
    if table.shape[1] == 1 and not np.isnan(table).any():  # a class a row, in a column
        return LabelFormat.infer(np.asarray(getattr(y, "values", y)))
    if (table == -1).any() and (table == 1).any() and not (table == 0).any():
        raise DataError("y holds 1 and -1 but no 0; -1 means that a label is unknown: write 0 for no, as by (y > 0).astype(int).")
    inferred = LabelFormat.infer(np.nan_to_num(np.where(table == -1, np.nan, table)))
    if columns is None or inferred.kind == "single":
        return inferred
    return LabelFormat(inferred.kind, np.array(columns))


def told_labels(known: Any, labels: LabelFormat, what: str = "known") -> NDArray[np.float32]:
    """(rows, labels) of 0, 1 and NaN. DataError for what is neither yes, no nor unknown, other widths, names that are none."""
    if are_dicts(known):
        return _of_dicts(known, labels, what)
    if what == "known" and isinstance(known, (list, tuple)) and known and all(row is None for row in known):
        return np.full((len(known), labels.n_labels), np.nan, dtype=np.float32)
    if labels.kind == "single" and what != "known":
        return labels.encode(known).toarray().astype(np.float32)
    if labels.kind == "single" and _is_flat(known):
        return _of_classes(known, labels)
    table = _table(known)
    if table is None or (what != "known" and labels.kind == "names" and _are_names(table, known, labels)):
        if what == "known" and not sparse.issparse(known):
            raise DataError(
                f"known must be a table (rows, {labels.n_labels}) of 1, 0 and NaN where nothing is told, or a list of dicts, "
                f"{{label: True or False}} for each row; it is {_form(known)}."
            )
        if what == "known" and np.isnan(known.tocoo().data).any():
            raise DataError(
                "known is a sparse matrix with NaN, and tells every label absent that it has no entry of: give a dense array, "
                "NaN where nothing is told, or a list of dicts."
            )
        return labels.encode(known).toarray().astype(np.float32)
    columns = _columns(known, what)
    if columns is not None and (what == "known" or labels.kind != "indicator" or labels.classes.dtype.kind == "U"):
        place, names = {name: i for i, name in enumerate(columns)}, [str(name) for name in labels.classes.tolist()]
        for name in place:
            if name not in names:
                raise _unknown(f"label in {what}", name, labels)
        whole = np.full((len(table), labels.n_labels), np.nan)
        for i, name in enumerate(names):
            if name in place:
                whole[:, i] = table[:, place[name]]
        table = whole
    if table.shape[1] != labels.n_labels:
        raise DataError(f"{what} has {table.shape[1]} columns, and there are {labels.n_labels} labels: one column a label.")
    wrong = ~_are_cells(table)
    if wrong.any():
        row, label = np.argwhere(wrong)[0]
        raise DataError(
            f"{what} holds {shown(table[row, label])} in row {row}, label {_name(labels, int(label))}: 1 for yes, 0 for no, "
            "NaN (or None, or -1) for unknown."
        )
    return np.where(table == -1, np.nan, table).astype(np.float32)


def truth_of(y: Any, labels: LabelFormat) -> Any:
    """What answers are scored by: an indicator, or where y has holes an array (rows, labels) with NaN there. DataError."""
    table = None if labels.kind != "indicator" or are_dicts(y) else _table(y)
    if not are_dicts(y) and (table is None or not (np.isnan(table) | (table == -1)).any()):
        return labels.encode(y)  # sparse stays sparse
    told = told_labels(y, labels, "y")
    if np.isnan(told).all():
        raise DataError("Nothing is known of these labels: there is nothing to score by them.")
    return told


def check_observed(Y: NDArray[np.float32], labels: LabelFormat) -> None:
    """DataError for a row or a label of which nothing is known."""
    observed = ~np.isnan(Y)
    if not observed.any(1).all():
        row = int(np.flatnonzero(~observed.any(1))[0])
        raise DataError(f"Nothing is known of the labels of row {row}: leave such rows out of fit.")
    if not observed.any(0).all():
        label = int(np.flatnonzero(~observed.any(0))[0])
        raise DataError(f"Nothing is known of the label {_name(labels, label)} in any row: leave its column out.")


def constants_of(Y: NDArray[np.float32]) -> NDArray[np.float64]:
    """(labels,) the value of a label that has one in all rows where it was observed; NaN of others. DataError if all have."""
    low, high = np.nanmin(Y, axis=0), np.nanmax(Y, axis=0)
    if (low == high).all():
        raise DataError(
            f"Every label is constant in y ({len(Y)} distinct rows, n_samples={len(Y)}): with only one class there is nothing to "
            "learn."
        )
    return np.where(low == high, low, np.nan)


def _form(known: Any) -> str:
    """In words, of what is neither a table nor dicts."""
    if isinstance(known, Mapping):
        return "one dict: put one for each row into a list"
    if isinstance(known, (list, tuple)) and known:
        first = next((i for i, row in enumerate(known) if type(row) is not type(known[0])), 0)
        return f"a list whose row {first} is {shown(known[first], 40)}"
    return shown(known, 40)


def _name(labels: LabelFormat, label: int) -> str:
    return shown(labels.classes.tolist()[label])


def _unknown(what: str, name: Any, labels: LabelFormat) -> DataError:
    known = labels.classes.tolist()
    alike = next((one for one in known if str(one) == str(name) and one != name), None)
    if alike is not None:
        return DataError(f"Unknown {what} {shown(name)}: labels are {type(alike).__name__}s there, as {shown(alike)}.")
    return DataError(str(unknown_name(what, str(name), map(str, known))))


def _table(y: Any) -> NDArray[np.float64] | None:
    """A two-dimensional table of numbers with holes; None for other forms, which have no holes."""
    if sparse.issparse(y) or not hasattr(y, "__len__"):
        return None
    values = getattr(y, "values", y)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64) if values.ndim == 2 else None
    if isinstance(values, (list, tuple)) and not all(isinstance(row, (list, tuple, np.ndarray)) for row in values):
        return None
    try:
        array = np.asarray(values, dtype=object)
    except ValueError:
        return None
    if array.ndim != 2 or any(isinstance(cell, str) for cell in array.flat):
        return None
    for missing in (lambda: array == None, lambda: np.frompyfunc(is_missing, 1, 1)(array).astype(bool)):  # noqa: E711
        try:
            return np.where(missing(), np.nan, array).astype(np.float64)
        except (TypeError, ValueError):  # pandas' NA is found one by one, which takes longer
            continue
    return None


def _are_cells(table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers say yes, no, or that nothing is known."""
    return np.isnan(table) | (table == 0) | (table == 1) | (table == -1)


def _columns(y: Any, what: str) -> list[str] | None:
    """The names of a data frame's columns, as texts. DataError where two are alike."""
    columns = getattr(y, "columns", None)
    if columns is None:
        return None
    names = [str(name) for name in columns]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"Two columns of {what} are called {shown(twice)}: rename one, or leave it out.")
    return names


def _is_flat(known: Any) -> bool:
    """Whether it is a list of classes, or a column of them, and no table of yes and no."""
    try:
        shape = np.shape(getattr(known, "values", known))
    except ValueError:  # rows of several lengths
        return False
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1 and not isinstance(known, (list, tuple)))


def _are_names(table: NDArray[np.float64], y: Any, labels: LabelFormat) -> bool:
    """Whether lists of numbers are names of labels, and no table of yes and no."""
    return isinstance(y, (list, tuple)) and not (table.shape[1] == labels.n_labels and _are_cells(table).all())


def _of_classes(known: Any, labels: LabelFormat) -> NDArray[np.float32]:
    """Of a class a row, or a column of them, None or NaN where it is not told."""
    given = getattr(known, "values", known)
    if isinstance(given, (list, tuple)) and any(isinstance(one, (list, tuple, set, frozenset, Mapping)) for one in given):
        raise DataError(f"known must tell a class a row, or None; it is {_form(known)}.")
    values = np.asarray(given, dtype=object).ravel()
    told = np.flatnonzero([not is_missing(value) for value in values])
    out = np.full((len(values), labels.n_labels), np.nan, dtype=np.float32)
    if len(told):
        out[told] = labels.encode(np.array(values[told].tolist())).toarray()
    return out


def _of_dicts(known: Any, labels: LabelFormat, what: str) -> NDArray[np.float32]:
    number = {name: i for i, name in enumerate(labels.classes.tolist())}
    out = np.full((len(known), labels.n_labels), np.nan, dtype=np.float32)
    for row, told in enumerate(known):
        for name, value in (told or {}).items():
            if name not in number:
                raise _unknown(f"label in row {row} of {what}", name, labels)
            if is_missing(value) or value == -1:
                continue
            if not (isinstance(value, (bool, np.bool_, int, float, np.integer, np.floating)) and value in (0, 1)):
                raise DataError(f"{what} says {shown(value)} of {shown(name)} in row {row}: True, False or None.")
            out[row, number[name]] = value
    return out
