"""A Parquet table is read as the CSV file of the same cells would be."""

import gc
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from enstruct.data.kinds import is_table, is_text_folder, kind_of, parquet_parts
from enstruct.data.load import load, read_file
from enstruct.data.tables import parquet_file
from enstruct.data.tables.read import column_names, raw_table, read_table, read_told
from enstruct.errors import ConfigError, DatasetNotFoundError, ParseError

FRAME = pd.DataFrame(
    {
        "loud": [1.5, None, -3e30, 4.0],
        "plays": pd.array([1, None, 3, 2**40], dtype="Int64"),
        "live": [True, False, None, True],
        "jazz": pd.array([1, 0, None, 0], dtype="Int8"),
        "pop": [True, False, True, True],
        "genre": ["pop;jazz", None, "pop", "blues"],
        "body": ["a text\nof lines", "", None, '"quoted", too'],
    }
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(parquet_file, "ROWS", 3)


@pytest.fixture
def both(tmp_path):
    """The same table as Parquet and as CSV."""
    FRAME.to_parquet(tmp_path / "songs.parquet")
    FRAME.to_csv(tmp_path / "songs.csv", index=False)
    return tmp_path / "songs.parquet", tmp_path / "songs.csv"


@pytest.mark.parametrize(
    "options",
    [
        {"labels": ["jazz", "pop"], "drop": ["genre", "body"]},
        {"labels": "jazz", "drop": ["genre", "body"]},
        {"labels": "genre", "drop": ["body"]},
        {"labels": "genre", "drop": ["body"], "known": ["pop", "rock", "jazz", "blues"]},
        {"labels": "genre", "text": ["body", "plays"]},
        {"labels": (), "drop": ["genre", "body"]},
        {"labels": "jazz,pop", "drop": ["loud", "plays", "live", "genre", "body"]},
    ],
)
def test_as_the_csv_file_of_the_same_cells(both, options):
    parquet, csv = (read_table(path, **options) for path in both)
    assert (parquet.feature_names, parquet.label_names) == (csv.feature_names, csv.label_names)
    if csv.holds_texts:
        assert parquet.X.tolist() == csv.X.tolist()
    else:
        np.testing.assert_array_equal(parquet.X, csv.X)
    np.testing.assert_array_equal(parquet.told(), csv.told())


def test_cells_as_they_stand(both):
    assert column_names(both[0]) == column_names(both[1]) == [*FRAME]
    parquet, csv = map(raw_table, both)
    assert all(parquet[name] == csv[name] for name in ("genre", "body"))
    assert parquet["plays"] == ("1", "", "3", str(2**40))
    assert parquet["loud"] == ("1.5", "", "-3e+30", "4")


def test_lists_categories_and_decimals(tmp_path):
    table = {
        "price": [Decimal("1.25"), None],
        "tags": [["rock", "hard, loud"], []],
        "numbered": [[1, 2], None],
        "kind": pd.Categorical(["a;b", None]),
        "nothing": [None, None],
    }
    pq.write_table(pa.Table.from_pandas(pd.DataFrame(table)), tmp_path / "t.parquet")
    named = read_table(tmp_path / "t.parquet", "tags", ["numbered", "kind"])
    assert (named.label_names, named.Y.toarray().tolist()) == (("hard, loud", "rock"), [[1, 1], [0, 0]])
    np.testing.assert_array_equal(named.X, [[1.25, np.nan], [np.nan, np.nan]])
    assert read_table(tmp_path / "t.parquet", "numbered", ["tags", "kind"]).label_names == ("1", "2")
    assert read_table(tmp_path / "t.parquet", "kind", ["tags", "numbered"]).label_names == ("a", "b")


def test_what_double_precision_or_dates_of_python_do_not_hold(tmp_path):
    """Names, numbers of rows and texts are those of the file."""
    table = {
        "a": [1, 2, 3],
        "id": [2**60, 2**60 + 1, None],
        "short": pa.array([0.1, None, 3.0], pa.float32()),
        "when": pa.array([2**62, 0, None], pa.timestamp("us")),
        "raw": pa.array([b"pop;jazz", b"pop", None], pa.binary()),
        "odd": [["a|b"], [], None],
    }
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(table), path)
    others = {*table} - {"a"}
    assert read_table(path, "id", [*others - {"id"}]).label_names == (str(2**60), str(2**60 + 1))
    assert read_table(path, "raw", [*others - {"raw"}]).label_names == ("jazz", "pop")
    cells = raw_table(path)
    assert (cells["id"], cells["short"]) == ((str(2**60), str(2**60 + 1), ""), ("0.1", "", "3"))
    assert cells["when"][1].startswith("1970-01-01")
    assert (cells["raw"], cells["odd"]) == (("pop;jazz", "pop", ""), ("a|b;", "", ""))
    assert raw_table(path, ["a"]) == {"a": ("1", "2", "3")}
    pq.write_table(pa.table({"a": [1], "y": pa.array([b"\xff"], pa.binary())}), path)
    with pytest.raises(ParseError, match="not a readable Parquet file"):
        read_table(path, "y")


def test_numbers_of_rows_are_no_column_and_a_named_index_is(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "y": ["p", "q"]}, index=[7, 9])
    frame.to_parquet(tmp_path / "numbered.parquet")
    frame.set_index("y").to_parquet(tmp_path / "named.parquet")
    for name in ("numbered", "named"):
        data = read_table(tmp_path / f"{name}.parquet", "y")
        assert (data.feature_names, data.label_names) == (("a",), ("p", "q"))


def test_what_is_told(tmp_path):
    pd.DataFrame({"pop": [1, None], "jazz": [None, False]}).to_parquet(tmp_path / "told.parquet")
    np.testing.assert_array_equal(
        read_told(tmp_path / "told.parquet", ["jazz", "rock", "pop"]), [[np.nan, np.nan, 1], [0, np.nan, np.nan]]
    )


def test_a_folder_of_parts(tmp_path):
    folder = tmp_path / "songs"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    pd.DataFrame({"a": [1, 2, 3, 4], "y": ["p", "q", "p", "q"]}).to_parquet(folder / "part-0.parquet")
    pd.DataFrame({"y": ["r", "p"], "a": [5, 6]}).to_parquet(folder / "part-1.parquet")
    assert is_table(folder)
    assert kind_of(str(folder)) == "labels"
    for data in (read_file(folder, "y"), load(folder, labels="y")):
        assert data.X.ravel().tolist() == [1, 2, 3, 4, 5, 6]
        assert data.label_names == ("p", "q", "r")
    pd.DataFrame({"y": ["r"], "a": ["six"]}).to_parquet(folder / "part-2.parquet")
    with pytest.raises(ParseError, match=r"songs, row 7, column 'a': 'six' is no number"):
        read_file(folder, "y")
    pd.DataFrame({"y": ["r"]}).to_parquet(folder / "part-2.parquet")
    with pytest.raises(ParseError, match=r"part-2.parquet: column 'a' is not in all parts"):
        read_file(folder, "y")
    with pytest.raises(DatasetNotFoundError, match="nor a folder of that name that holds"):
        read_told(tmp_path, ["p"])


def test_which_files_of_a_folder_are_its_parts(tmp_path):
    for name in ("part.10.parquet", "part.2.PARQUET", "._part.1.parquet", "_part.parquet", "readme.txt"):
        (tmp_path / name).touch()
    (tmp_path / "inner.parquet").mkdir()
    assert [part.name for part in parquet_parts(tmp_path)] == ["part.2.PARQUET", "part.10.parquet"]
    assert is_table(tmp_path)
    assert not is_text_folder(tmp_path)
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.png").touch()
    assert not is_table(tmp_path)
    assert kind_of(str(tmp_path)) == "masks"


def test_files_are_closed_whatever_comes_of_them(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in range(300):
        pq.write_table(pa.table({"a": [k], "y": [k % 2]}), folder / f"{k}.parquet")
    gc.collect()
    gc.disable()  # nothing is closed for having been forgotten
    try:
        before = len([*Path("/proc/self/fd").iterdir()])
        assert read_table(folder, "y").X.ravel().tolist() == [*range(300)]
        for labels in ("z", "a,y"):
            with pytest.raises(ParseError):
                read_table(folder, labels)
        assert len([*Path("/proc/self/fd").iterdir()]) == before
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("columns", "labels", "message"),
    [
        ({"y": [0, 2], "z": [0, 1]}, "y,z", "row 2, column 'y': a label must be 0 or 1"),
        ({"a": [1, np.inf]}, "y", "row 2, column 'a': 'inf' is no number: it is too large, or infinite"),
        ({"a": ["1,5", "2"]}, "y", "row 1, column 'a': '1,5' is no number: decimals are written with a point"),
        ({"a": pd.to_datetime(["2024-01-01", None])}, "y", "is no number: make 0/1 columns of words"),
        ({"y": [["x|y"], []]}, "y", "row 1, column 'y': 'x|y' in a list holds a ; or"),
        ({"y": [[2, 1], [0, 0]]}, "y", "row 2, column 'y': a list that names a label twice, or has a place"),
        (
            {"y": [[True, False], [True]]},
            "y",
            "row 1, column 'y': a list that names a label twice, or has a place",
        ),
        ({"y": ["x\ty", None]}, "y", r"row 1, column 'y': the label name 'x\ty' holds the character U+0009"),
        ({"y": [0.5, 1.5]}, "y", "row 1, column 'y': '0.5' is a number with a fraction"),
        ({"y": ["x,z", "x"]}, "y", "row 1, column 'y': 'x,z' looks like several labels"),
        ({"": [1, 2]}, "y", "column 3 has no name"),
        ({}, "z", "there is no column 'z'; the header has a, y."),
        ({}, None, "which columns are labels"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, columns, labels, message):
    pd.DataFrame({"a": [1, 2], "y": [0, 1], **columns}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ParseError, match=re.escape(message)):
        read_table(tmp_path / "t.parquet", labels)


def test_what_is_no_table(tmp_path, monkeypatch):
    with pytest.raises(DatasetNotFoundError, match="There is no file"):
        read_table(tmp_path / "none.parquet", "y")
    pd.DataFrame({"a": [], "y": []}).to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ParseError, match="there are no rows"):
        read_table(tmp_path / "empty.parquet", ["y"])
    names = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(names, tmp_path / "twice.parquet")
    with pytest.raises(ParseError, match="two columns are called 'a'"):
        read_table(tmp_path / "twice.parquet", ["y"])
    FRAME.to_parquet(tmp_path / "cut.parquet")
    content = (tmp_path / "cut.parquet").read_bytes()
    for part in (content[:-9], content[:4] + bytes(300) + content[304:]):
        (tmp_path / "cut.parquet").write_bytes(part)
        with pytest.raises(ParseError, match="not a readable Parquet file"):
            read_table(tmp_path / "cut.parquet", "pop", ["genre", "body"])
    monkeypatch.setattr(parquet_file, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'enstruct\[parquet\]'"):
        read_table(tmp_path / "cut.parquet", "pop")
