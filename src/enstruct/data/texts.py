"""Texts as rows: a list, column or array of strings, one a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import DataError


def are_texts(X: Any) -> bool:
    """Whether X is meant for texts: one string, or one dimension of which the first entry that is there is a string or bytes.

    A column of a data frame counts, as a series or as a frame of this column alone, and so does an array of one column.
    """
    if isinstance(X, (str, bytes)):
        return True
    column = _column(X)
    if column is None:
        return False
    first = next((one for one in column if not _is_missing(one)), None)
    return isinstance(first, (str, bytes))


def as_texts(X: Any) -> list[str]:
    """The strings of what :func:`are_texts` takes for texts. Empty ones may be among them.

    DataError for one string alone, and for rows that are missing, bytes, something else, or no characters that can be written.
    """
    if isinstance(X, (str, bytes)):
        raise DataError("X is one text, and must be one a row: put it into a list, as [text].")
    texts = []
    for row, text in enumerate(_column(X) or ()):
        if not isinstance(text, str):
            raise DataError(f"Row {row} of X is {_kind(text)}.")
        if not text.isascii() and not is_writable(text):
            raise DataError(
                f"Row {row} of X holds half a character (a lone surrogate): read the file with its own encoding, as latin-1, or "
                "take it out of the text."
            )
        texts.append(str(text))
    return texts


def check_some_text(X: Any) -> None:
    """DataError where all rows are missing, so that nothing says whether they were to be texts."""
    column = _column(X)
    if column is not None and len(column) and all(map(_is_missing, column)):
        raise DataError(f"Row 0 of X is {_kind(None)}.")


def as_array(texts: Sequence[str]) -> NDArray[np.object_]:
    """(rows,), which can be indexed by rows."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def _column(X: Any) -> Any:
    """The entries, one a row; None where X has more than one dimension, or none."""
    if hasattr(X, "columns") and getattr(X, "shape", (0, 0))[1:] == (1,):  # a data frame of one column
        return list(X.iloc[:, 0]) if hasattr(X, "iloc") else list(X[X.columns[0]])
    if isinstance(X, (list, tuple)):
        return X
    if "string" in str(getattr(X, "type", "")) and hasattr(X, "to_pylist"):  # Arrow's
        return X.to_pylist()
    if getattr(getattr(X, "dtype", None), "kind", "O") not in "OUST":  # numbers
        return None
    if getattr(X, "ndim", None) == 2 and X.shape[1] == 1:  # as a ColumnTransformer hands on a column of an array
        return X[:, 0].tolist()
    if getattr(X, "ndim", None) == 1 or (hasattr(X, "dtype") and not hasattr(X, "ndim") and hasattr(X, "to_list")):
        return X.tolist() if hasattr(X, "tolist") else X.to_list()
    return None


def _is_missing(entry: Any) -> bool:
    return entry is None or (isinstance(entry, float) and np.isnan(entry)) or type(entry).__name__ in ("NAType", "NaTType")


def _kind(entry: Any) -> str:
    if _is_missing(entry):
        return 'missing, and the others are texts: give "" for an empty text, or leave the row out'
    if isinstance(entry, bytes):
        return "bytes, no text: decode them, as entry.decode('utf-8')"
    return f"of type {type(entry).__name__}, and the others are texts: make a string of it"


def is_writable(text: str) -> bool:
    """Whether it is made of whole characters."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
