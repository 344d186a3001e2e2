"""Forms that labels come in, beside those of the estimators' own tests."""

import numpy as np
import pandas as pd
import pytest

from enstruct import EnergyMultiLabelClassifier
from enstruct.errors import DataError
from enstruct.estimators.label_format import LabelFormat

Y = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1]])
FRAME = pd.DataFrame(Y, columns=["jazz", "pop", "rock"])


def test_columns_of_a_data_frame_are_the_labels_names(blocks, tmp_path):
    labels = LabelFormat.infer(FRAME)
    assert labels.classes.tolist() == ["jazz", "pop", "rock"]
    np.testing.assert_array_equal(labels.encode(FRAME).toarray(), Y)
    np.testing.assert_array_equal(labels.encode(Y).toarray(), Y)
    with pytest.raises(DataError, match="Label 0 is 'pop' in Y but 'jazz' in fit"):
        labels.encode(FRAME[["pop", "jazz", "rock"]])
    assert LabelFormat.infer(pd.DataFrame(Y)).classes.tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="Two columns of Y are called 'a'"):
        LabelFormat.infer(pd.DataFrame(Y, columns=["a", "b", "a"]))
    names = [f"label {i}" for i in range(blocks.Y.shape[1])]
    frame = pd.DataFrame(blocks.Y.toarray(), columns=names)
    model = EnergyMultiLabelClassifier("binary-relevance").fit(blocks.X, frame)
    model.save(tmp_path / "m")
    again = EnergyMultiLabelClassifier.load(tmp_path / "m")
    assert again.classes_.tolist() == names
    assert again.score(blocks.X, frame) == model.score(blocks.X, blocks.Y)


@pytest.mark.parametrize(
    "given",
    [
        FRAME.astype("Int64").mask(np.arange(9).reshape(3, 3) == 4),
        ["a", None, "b"],
        [{"a"}, None, {"b"}],
        [{"a"}, float("nan"), {"b"}],
        np.array(["a", None, "b"], dtype=object),
        pd.Series(["a", None, "b"]),
        pd.Series([np.array(["a", "b"]), None, np.array(["c"])]),
    ],
)
def test_the_row_of_an_unknown_label_is_named(given):
    with pytest.raises(DataError, match="NaN or None in row 1"):
        LabelFormat.infer(given)


@pytest.mark.parametrize("names", [["a", "a\0"], ["b\0"]])
def test_names_that_an_array_would_change_are_refused(names):
    with pytest.raises(DataError, match="cannot be kept as it is"):
        LabelFormat.infer([{name} for name in names])


def test_columns_that_an_array_would_change_are_refused():
    with pytest.raises(DataError, match=r"'a\\x00' cannot be kept"):
        LabelFormat.infer(pd.DataFrame(Y, columns=["a", "a\0", "b"]))


def test_names_from_python_may_hold_any_character():
    rows = [["a\tb"], ["c\n"], ["c\u2028", "a\tb"]]
    labels = LabelFormat.infer(rows)
    assert [sorted(row) for row in labels.decode(labels.encode(rows))] == [sorted(row) for row in rows]


def test_long_names_are_cut_in_messages():
    labels = LabelFormat.infer([["a"], ["b"]])
    with pytest.raises(DataError, match=r"Row 0 has the label 'x+…x+', which is not among") as said:
        labels.encode([["x" * 10**6]])
    assert len(str(said.value)) <= 300


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([[1, 0, 1]] * 3 + [[0, 0]], "0/1 matrix has as many columns in each row: row 0 has 3 columns, row 3 has 2 columns"),
        ([[1, 0, 1], [1, 0], [1]], "row 0 has 3 columns, row 1 has 2 columns"),
        ([[], [], []], "no label in y"),
        (np.zeros((4, 0)), "no label in y"),
        (["a", ["b"]], "row 0 has 'a', row 1 has 1 columns"),
        ([[[1, 2]], ["a"]], r"row 0 of y has \[1, 2\]"),
    ],
)
def test_labels_of_no_form(given, error):
    with pytest.raises(DataError, match=error):
        LabelFormat.infer(given)


@pytest.mark.parametrize("rows", [[[0], [1], [0, 1]], [[1], []], [{0, 1}, {1}]])
def test_sets_of_the_names_0_and_1_are_sets(rows):
    labels = LabelFormat.infer(rows)
    assert labels.kind == "names"
    assert [set(row) for row in labels.decode(labels.encode(rows))] == [set(row) for row in rows]
