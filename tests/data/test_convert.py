"""Files become folders of arrays block by block, and are what the whole reader makes of them."""

import gzip

import numpy as np
import pandas as pd
import pytest

from enstruct.data import convert as module
from enstruct.data.convert import convert
from enstruct.data.load import load, read_file
from enstruct.errors import EnstructError, ParseError

LINES = {
    "headed": "4 5 3\n0,2 0:1 4:0.5\n1 1:2\n\n2 3:1e-3\n",
    "from one": "0,2 1:1 5:0.5\n# a remark\n1 2:2\n\n2 3:1 # another\n\n",
    "from nought": "1 0:1 3:2\n0 1:1\n",
    "without labels": "\n1 1:1\n 2:1\n",
    "headed, empty at the end": "3 8 4\n0 1:1\n\n\n",
    "headed, empty at the start": "2 8 4\n\n0 1:1\n",
}
BAD = {
    "0 1:a\n": "expected feature:value",
    "0 2:1 1:1\n": "out of order",
    "x 1:1\n": "labels must be whole numbers",
    "-1 1:1\n": "below 0",
    "": "no rows",
    " 1:1\n": "no row has a label",
    "3 5 3\n0 1:1\n": "promises 3 rows",
    "1 2 3\n0 4:1\n": "promises 2 features",
    "1 5 1\n4 1:1\n": "promises 1 labels",
    "0 1:1e39\n": "beyond single precision",
    "1 3 1000000000\n0 1:1\n": "1000000000 labels, more than",
    "1 30000000 2\n0 1:1\n": "30000000 features, more than",
    "0 30000000:1\n": "features, more than",
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 2)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("packed", [False, True])
def test_svmlight_line_by_line(name, packed, tmp_path):
    file = tmp_path / ("mine.svm.gz" if packed else "mine.svm")
    file.write_bytes(gzip.compress(LINES[name].encode()) if packed else LINES[name].encode())
    told = []
    convert(file, tmp_path / "rows", told=told.append)
    whole, mapped = read_file(file), load(tmp_path / "rows")
    np.testing.assert_allclose(mapped.X.read().toarray(), whole.X.toarray(), rtol=1e-6)
    assert (mapped.Y != whole.Y).nnz == 0
    assert mapped.first_feature == whole.first_feature
    assert mapped.label_names == whole.label_names
    assert told[-1] == len(whole)


@pytest.mark.parametrize("content", BAD)
def test_lines_at_fault_leave_nothing(content, tmp_path):
    (tmp_path / "mine.svm").write_text(content)
    with pytest.raises(EnstructError, match=BAD[content]):
        convert(tmp_path / "mine.svm", tmp_path / "rows")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.svm"]


def test_what_is_read_whole(tmp_path):
    (tmp_path / "mine.csv").write_text("a,b,sun,rain\n1,2,0,1\n3,4,1,0\n5,6,1,1\n")
    convert(tmp_path / "mine.csv", tmp_path / "rows", -2)
    data = load(tmp_path / "rows")
    assert data.feature_names == ("a", "b")
    assert data.label_names == ("sun", "rain")
    np.testing.assert_array_equal(data.X.read(), [[1, 2], [3, 4], [5, 6]])


def table(tmp_path, **columns):
    told = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "name": ["x", "y", "z"], "sun": [0, 1, 1], "rain": [True, False, True]}
    pd.DataFrame(told | columns).to_parquet(tmp_path / "mine.parquet")
    return tmp_path / "mine.parquet"


@pytest.mark.parametrize("labels", [-2, "sun,rain", ["sun", "rain"]])
def test_parquet(labels, tmp_path):
    convert(table(tmp_path), tmp_path / "rows", labels, ["name"])
    data = load(tmp_path / "rows")
    assert data.feature_names == ("a", "b")
    np.testing.assert_array_equal(data.X.read(), [[1, 0.5], [2, 1.5], [3, 2.5]])
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("columns", "labels", "drop", "error"),
    [
        ({}, None, ["name"], "which columns are labels"),
        ({}, -2, [], "is no number"),
        ({}, "sum", ["name"], "there is no column 'sum'"),
        ({"sun": [0, 2, 1]}, -2, ["name"], "must be 0 or 1"),
        ({"b": [0.5, None, 1]}, -2, ["name"], "missing"),
        ({}, "a,b,name,sun,rain", [], "no feature column is left"),
    ],
)
def test_tables_at_fault_leave_nothing(columns, labels, drop, error, tmp_path):
    with pytest.raises(EnstructError, match=error):
        convert(table(tmp_path, **columns), tmp_path / "rows", labels, drop)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.parquet"]


def test_numbers_of_rows_of_a_data_frame_are_no_feature(tmp_path):
    pd.DataFrame({"a": [1, 2, 3], "sun": [0, 1, 1]}, index=[5, 9, 7]).to_parquet(tmp_path / "mine.parquet")
    convert(tmp_path / "mine.parquet", tmp_path / "rows", -1)
    assert load(tmp_path / "rows").feature_names == ("a",)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_of_names(kind, tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3], "genre": ["pop;jazz", None, "blues"]})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    frame.to_parquet(tmp_path / "mine.parquet")
    convert(tmp_path / f"mine.{kind}", tmp_path / "rows", "genre")
    data = load(tmp_path / "rows")
    assert data.label_names == ("blues", "jazz", "pop")
    assert data.Y.toarray().tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert data.X.read().ravel().tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("labels", ["sun", "sun,rain"])
def test_labels_that_are_not_known_are_named(kind, labels, tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3], "sun": [1, 0, None], "rain": [0, 1, 1]})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    frame.to_parquet(tmp_path / "mine.parquet")
    where = "line 4" if kind == "csv" else "row 3"
    with pytest.raises(ParseError, match=f"{where}, column 'sun': a label that is not known"):
        convert(tmp_path / f"mine.{kind}", tmp_path / "rows", labels)
    assert not (tmp_path / "rows").exists()


def test_what_features_count_from(tmp_path):
    (tmp_path / "mine.svm").write_text("0 1:1 2:3\n1 2:1\n")
    convert(tmp_path / "mine.svm", tmp_path / "rows", first_feature=0)
    data = load(tmp_path / "rows")
    assert data.first_feature == 0
    np.testing.assert_array_equal(data.X.read().toarray(), [[0, 1, 3], [0, 0, 1]])
    (tmp_path / "other.svm").write_text("0 0:1\n")
    with pytest.raises(ParseError, match="number 0"):
        convert(tmp_path / "other.svm", tmp_path / "more", first_feature=1)
    for source, first, error in ((tmp_path / "mine.svm", 2, "0 or 1"), (tmp_path / "mine.csv", 0, "no svmlight file")):
        with pytest.raises(EnstructError, match=error):
            convert(source, tmp_path / "more", first_feature=first)


def test_what_is_no_parquet(tmp_path):
    (tmp_path / "mine.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(ParseError, match="not a readable Parquet file"):
        convert(tmp_path / "mine.parquet", tmp_path / "rows", -1)


def test_rows_without_labels(tmp_path):
    """To be answered: the features of the same file, whatever its lines begin with, and no labels."""
    for k, content in enumerate([*LINES.values(), " 1:1 3:2\n 2:0.5\n"]):
        (tmp_path / "mine.svm").write_text(content)
        convert(tmp_path / "mine.svm", tmp_path / f"rows{k}", ())
        found, whole = load(tmp_path / f"rows{k}"), read_file(tmp_path / "mine.svm", n_labels=4)
        assert found.Y.shape == (len(whole), 0)
        assert found.first_feature == whole.first_feature
        np.testing.assert_allclose(found.X.read().toarray(), whole.X.toarray(), rtol=1e-6)
    table = {"a": [1.5, 2.0, 3.0], "b": [0, 1, 0]}
    pd.DataFrame(table).to_parquet(tmp_path / "mine.parquet")
    pd.DataFrame(table).to_csv(tmp_path / "mine.csv", index=False)
    for kind in ("parquet", "csv"):
        convert(tmp_path / f"mine.{kind}", tmp_path / kind, (), ["b"])
        found = load(tmp_path / kind)
        assert (found.Y.shape, found.feature_names) == ((3, 0), ("a",))
        assert found.X.read().ravel().tolist() == table["a"]
    (tmp_path / "mine.svm").write_text("0 1:1\n1 2:1\n")
    convert(tmp_path / "mine.svm", tmp_path / "labelled")
    with pytest.raises(EnstructError, match="leave --unlabelled out"):
        convert(tmp_path / "labelled", tmp_path / "again", ())
    np.savez(tmp_path / "mine.npz", X=np.eye(3))
    convert(tmp_path / "mine.npz", tmp_path / "npz", ())
    assert load(tmp_path / "npz").X.read().tolist() == np.eye(3).tolist()
