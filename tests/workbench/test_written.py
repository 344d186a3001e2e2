"""Answers as data that `enstruct train` reads."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.data.tables.read import read_table
from enstruct.data.text_files import read_jsonl
from enstruct.errors import DataError
from enstruct.workbench.written import Written, filled

TOLD = np.array([[1, 0], [np.nan, 1], [np.nan, np.nan]])


def test_a_csv_file_keeps_its_columns(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text('id,genre,body\n1,a;b,"x, ""y"""\n2,,z\n3,b,\n')
    Written(str(source), lambda: None, ("genre",)).write(tmp_path / "out.csv", ["a", "b"], TOLD)
    assert (tmp_path / "out.csv").read_text() == 'id,body,a,b\n1,"x, ""y""",1,0\n2,z,,1\n3,,,\n'
    data = read_table(tmp_path / "out.csv", ["a", "b"], text=["body"])
    np.testing.assert_array_equal(data.told(), TOLD)


def test_parquet_becomes_csv_with_its_columns(tmp_path):
    """To the last digit; a list that no label may be is a text like others."""
    source = tmp_path / "in.parquet"
    memo = [["x|y"], [], None]
    pd.DataFrame({"id": [2**60, 2**60 + 1, 3], "memo": memo, "genre": ["a;b", None, "b"]}).to_parquet(source)
    Written(str(source), lambda: None, ("genre",)).write(tmp_path / "out.csv", ["a", "b"], TOLD)
    assert (tmp_path / "out.csv").read_text() == f"id,memo,a,b\n{2**60},x|y;,1,0\n{2**60 + 1},,,1\n3,,,\n"


def test_json_lines_keep_their_fields(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "ä", "n": 1, "labels": ["a"]}\n\n{"text": "b"}\n{"text": "c", "labels": null}\n')
    Written(str(source), lambda: None).write(tmp_path / "out.jsonl", ["a", "b"], TOLD)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert lines[0] == {"text": "ä", "n": 1, "labels": {"a": True, "b": False}}
    assert lines[2]["labels"] is None
    np.testing.assert_array_equal(read_jsonl(tmp_path / "out.jsonl").told(), TOLD)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_other_formats_become_csv(tmp_path, form):
    X = np.array([[0.1, 0], [2, 1e-7], [0, 3]])
    data = Dataset(form(X), sparse.csr_matrix((3, 2), dtype=np.uint8), ("f", "g"), ("a", "b"))
    Written("named", lambda: data).write(tmp_path / "out.csv", ["a", "b"], TOLD)
    back = read_table(tmp_path / "out.csv", ["a", "b"])
    np.testing.assert_array_equal(back.X, X)
    np.testing.assert_array_equal(back.told(), TOLD)


def test_what_is_answered_lies_over_what_was_given():
    given = np.array([[1.0, 0.0], [np.nan, 1.0]])
    table = filled(["a", "b"], 2, given, {0: {"a": False, "other": True}, 1: {"a": True}})
    np.testing.assert_array_equal(table, [[0, 0], [1, 1]])
    np.testing.assert_array_equal(given[0], [1, 0])


def test_a_column_that_is_called_as_a_label_is_refused(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("title,tags\nx,title\ny,misc\nz,\n")
    with pytest.raises(DataError, match="The column 'title' and a label have one name: rename the column"):
        Written(str(source), lambda: None, ("tags",)).write(tmp_path / "out.csv", ["misc", "title"], TOLD)
    assert not (tmp_path / "out.csv").exists()
