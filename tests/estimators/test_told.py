"""Told labels: the forms they come in."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from enstruct.errors import DataError
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.told import told_format, told_labels, truth_of

HOLE = np.nan
SETS = LabelFormat("indicator", np.array(["a", "b"]))
CLASSES = LabelFormat("single", np.array(["a", "b", "c"]))


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float64", "object"])
def test_what_pandas_holds_to_be_missing(dtype):
    frame = pd.DataFrame({"a": [1, None, 0], "b": [None, None, 1]}).astype(float)
    frame = frame.astype("object").where(frame.notna(), pd.NA) if dtype == "object" else frame.astype(dtype)
    wanted = [[1, HOLE], [HOLE, HOLE], [0, 1]]
    np.testing.assert_array_equal(told_labels(frame, SETS), wanted)
    np.testing.assert_array_equal(told_labels(frame, told_format(frame), "y"), wanted)
    np.testing.assert_array_equal(told_labels(frame.iloc[1:2], SETS), [[HOLE, HOLE]])


def test_nothing_told():
    np.testing.assert_array_equal(told_labels([None, None], SETS), np.full((2, 2), HOLE))
    np.testing.assert_array_equal(told_labels([None, {"b": True}], SETS), [[HOLE, HOLE], [HOLE, 1]])


def test_classes_by_name_by_yes_and_no_and_by_dict():
    one = [[0, 1, 0], [HOLE] * 3]
    for known in (["b", None], np.array(["b", None], dtype=object), pd.Series(["b", HOLE])):
        np.testing.assert_array_equal(told_labels(known, CLASSES), one)
    np.testing.assert_array_equal(told_labels([{"b": True}, {"c": False}], CLASSES), [[HOLE, 1, HOLE], [HOLE, HOLE, 0]])
    np.testing.assert_array_equal(told_labels([[HOLE, 1, HOLE], [HOLE, HOLE, 0]], CLASSES), [[HOLE, 1, HOLE], [HOLE, HOLE, 0]])
    with pytest.raises(DataError, match="'d'"):
        told_labels(["b", "d"], CLASSES)
    with pytest.raises(DataError, match="2 columns, and there are 3"):
        told_labels([[1, 0]], CLASSES)


@pytest.mark.parametrize("classes", [np.array(["a", "b"]), np.array(["a", "b"], dtype=object), np.array([1, 2])])
def test_columns_of_a_frame_are_classes_by_name(classes):
    labels = LabelFormat("single", classes)
    frame = pd.DataFrame([[1, HOLE], [HOLE, 0]], columns=classes[::-1])
    np.testing.assert_array_equal(told_labels(frame, labels), [[HOLE, 1], [0, HOLE]])
    with pytest.raises(DataError, match="Unknown label in known 'q'"):
        told_labels(frame.rename(columns={classes[0]: "q"}), labels)


def test_columns_of_a_frame_are_labels_by_number():
    """Of labels that y had as columns of an array: never by where a column stands."""
    labels = LabelFormat("indicator", np.arange(3))
    frame = pd.DataFrame([[1, HOLE, 0]], columns=[2, 1, 0])
    np.testing.assert_array_equal(told_labels(frame, labels), [[0, HOLE, 1]])
    np.testing.assert_array_equal(told_labels(frame[[2]], labels), [[HOLE, HOLE, 1]])
    with pytest.raises(DataError, match="Unknown label in known 'a'"):
        told_labels(pd.DataFrame([[1, 0, 1]], columns=list("abc")), labels)


def test_a_column_of_classes():
    one = [[0, 1, 0], [HOLE] * 3]
    for known in (np.array([["b"], [None]], dtype=object), pd.DataFrame({"y": ["b", None]})):
        np.testing.assert_array_equal(told_labels(known, CLASSES), one)


@pytest.mark.parametrize("known", [[{"a"}, {"b"}], [["a", "b"], ["c"]], "a", {"a": True}], ids=repr)
def test_what_tells_no_class(known):
    with pytest.raises(DataError, match=r"known must .*it is"):
        told_labels(known, CLASSES)


def test_numbers_that_are_names():
    """Label sets of as many numbers in each row are names, where labels have names."""
    names = told_format([[1, 2], [3], [5]])
    np.testing.assert_array_equal(told_labels([[1, 2], [3, 5]], names, "y"), [[1, 1, 0, 0], [0, 0, 1, 1]])
    np.testing.assert_array_equal(told_labels([[1, HOLE, 0, 0]], names), [[1, HOLE, 0, 0]])


def test_what_answers_are_scored_by():
    assert truth_of([[1, 0], [0, 1]], SETS).nnz == 2
    many = LabelFormat("indicator", np.arange(10**6))
    assert truth_of(sparse.csr_matrix((10**5, 10**6)), many).nnz == 0  # as a dense table it would have 400 GB
    np.testing.assert_array_equal(truth_of([[1, HOLE], [0, 1]], SETS), [[1, HOLE], [0, 1]])
    assert truth_of(["a", "c"], CLASSES).toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    for odd, match in (([[2, 0]], "only 0 and 1"), ([[2, HOLE]], "holds 2")):
        with pytest.raises(DataError, match=match):
            truth_of(odd, SETS)
    with pytest.raises(DataError, match="nothing to score"):
        truth_of([[HOLE, HOLE]], SETS)


def test_columns_of_one_name_are_refused():
    twice = pd.DataFrame([[0, 1, 1], [1, 0, 1]], columns=["a", "b", "b"])
    for told in (twice, twice.astype(float), twice.set_axis(["a", 1, "1"], axis=1)):
        with pytest.raises(DataError, match=r"Two columns of y are called '(b|1)': rename one"):
            told_format(told)
    with pytest.raises(DataError, match="Two columns of known are called 'b'"):
        told_labels(twice, LabelFormat("indicator", np.array(["a", "b"])))


@pytest.mark.parametrize(
    "y", [[[3], [1], [2]], [["2019"], ["2020"]], [[3, 5], [1, 2]], [["0", "1"], ["1", "0"]], [[1, 0], [0, 1]]]
)
def test_lists_are_names_where_they_are_for_networks(y):
    form, plain = told_format(y), LabelFormat.infer(y)
    assert (form.kind, form.classes.tolist()) == (plain.kind, plain.classes.tolist())
    np.testing.assert_array_equal(told_labels(y, form, "y"), plain.encode(y).toarray())


def test_a_frame_of_one_column_holds_a_class_a_row():
    with pytest.warns(Warning, match="column-vector"):
        form = told_format(pd.DataFrame({"a": [0, 1, 1]}))
    assert (form.kind, form.classes.tolist()) == ("single", [0, 1])


@pytest.mark.parametrize("near", [1 + 1e-9, 1e-50, np.inf])
def test_what_is_nearly_yes_or_no_is_neither(near):
    with pytest.raises(DataError, match="1 for yes, 0 for no"):
        told_labels(np.array([[near, 0.0]]), SETS)


def test_pandas_na_in_dicts_tells_nothing():
    np.testing.assert_array_equal(told_labels([{"a": pd.NA, "b": True}], SETS), [[HOLE, 1]])


def test_minus_one_is_no_no():
    Y = np.array([[1, -1, 1], [-1, 1, 1]])
    with pytest.raises(DataError, match="holds 1 and -1 but no 0"):
        told_format(Y)
    assert told_format(np.array([[1, -1, 0]])).n_labels == 3


@pytest.mark.parametrize("classes", [(0, 1), (-1, 1), (2, 5)])
def test_a_column_of_classes_keeps_them(classes):
    with pytest.warns(Warning, match="column-vector"):
        labels = told_format(np.array(classes * 3)[:, None])
    assert labels.kind == "single"
    assert labels.classes.tolist() == list(classes)
    assert labels.classes.dtype.kind == "i"


@pytest.mark.parametrize("form", ["csr", "lil", "dok"])
def test_a_sparse_matrix_leaves_nothing_open(form):
    known, labels = sparse.csr_matrix([[1, np.nan, 0], [0, 1, 0]]), LabelFormat("indicator", np.arange(3))
    with pytest.raises(DataError, match="tells every label absent that it has no entry of: give a dense array"):
        told_labels(known.asformat(form), labels)
    told = told_labels(sparse.csr_matrix([[1, 0, 1]]).asformat(form), labels)
    assert told.tolist() == [[1, 0, 1]]
