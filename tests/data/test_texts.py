"""What is taken for texts, and what is said of what is none."""

import numpy as np
import pandas as pd
import pytest

from enstruct.data.texts import are_texts, as_texts
from enstruct.errors import DataError

TEXTS = ["one", "", "drei ä"]


@pytest.mark.parametrize(
    "X",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="string"),
        pd.Series(TEXTS, dtype="category"),
        pd.DataFrame({"body": TEXTS}),
        np.array(TEXTS, dtype=object).reshape(-1, 1),
    ],
    ids=["list", "tuple", "array", "objects", "series", "strings", "category", "frame", "array of one column"],
)
def test_a_column_of_strings(X):
    assert are_texts(X)
    assert as_texts(X) == TEXTS


@pytest.mark.parametrize(
    "X",
    [
        [1.0, 2.0],
        [["a", "b"], ["c", "d"]],
        np.arange(3),
        np.eye(2),
        pd.DataFrame({"a": [1, 2]}),
        pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]}),
        [],
        [None, None],
        np.array([["x", "y"]], dtype=object),
        np.array([[1], [2]], dtype=object),
        {"a": "b"},
        None,
    ],
)
def test_what_is_none(X):
    assert not are_texts(X)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ("one text", "put it into a list"),
        (["a", None], "Row 1 of X is missing"),
        (["a", float("nan")], "Row 1 of X is missing"),
        (pd.Series(["a", pd.NA], dtype="string"), "Row 1 of X is missing"),
        (["a", b"b"], "Row 1 of X is bytes"),
        ([b"a"], "Row 0 of X is bytes"),
        (["a", 3], "Row 1 of X is of type int"),
        (["a", "b\udcff"], "Row 1 of X holds half a character"),
    ],
)
def test_rows_that_cannot_be_read_are_named(X, said):
    assert are_texts(X)
    with pytest.raises(DataError, match=said):
        as_texts(X)


def test_arrows_strings_are_texts():
    arrow = pytest.importorskip("pyarrow")
    for column in (arrow.array(["a", "b"]), arrow.chunked_array([["a"], ["b"]])):
        assert are_texts(column)
        assert as_texts(column) == ["a", "b"]
    assert not are_texts(arrow.array([1.0, 2.0]))
