"""Documents from JSON lines, folders of .txt files, and columns of CSV files."""

import json

import numpy as np
import pytest

from enstruct.data.kinds import is_text_folder, kind_of
from enstruct.data.load import load, read_file
from enstruct.data.tables.read import read_table
from enstruct.data.text_files import read_jsonl, read_text_folder
from enstruct.errors import DataError, EnstructError, ParseError


def lines(path, *rows):
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_labels_as_lists_as_text_and_as_objects(tmp_path):
    path = lines(
        tmp_path / "a.jsonl",
        {"text": "one", "labels": ["b", "a"]},
        "",
        {"text": "two", "labels": "a; c|b"},
        {"text": "", "labels": []},
        {"text": "four", "labels": {"a": True, "b": False, "c": None}},
        {"text": "five", "labels": None},
        {"text": "six"},
    )
    data = read_jsonl(path)
    assert data.X.tolist() == ["one", "two", "", "four", "five", "six"]
    assert data.label_names == ("a", "b", "c")
    nan = np.nan
    wanted = [[1, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, nan], [nan] * 3, [nan] * 3]
    assert np.array_equal(data.told(), wanted, equal_nan=True)
    assert data.holds_texts
    assert not data.has_missing
    assert data.take(np.array([3, 0])).X.tolist() == ["four", "one"]


def test_other_fields_and_the_names_that_a_model_knows(tmp_path):
    path = lines(tmp_path / "a.jsonl", {"body": "one", "topics": ["b"]})
    assert read_jsonl(path, "body", "topics", ("a", "b")).Y.toarray().tolist() == [[0, 1]]
    assert read_jsonl(path, "body", ()).Y.shape == (1, 0)
    with pytest.raises(ParseError, match="line 1: the model has no label 'b'"):
        read_jsonl(path, "body", "topics", ("a",))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "no JSON"),
        ("[1]", "must be an object"),
        ({"body": "x"}, "'text' is missing"),
        ({"text": None}, "'text' is null"),
        ({"text": "b\udcff"}, "the field 'text' holds half a character"),
        ({"text": 3}, "'text' is no text"),
        ({"text": "x", "labels": 3}, "no list of names"),
        ({"text": "x", "labels": [3]}, "no list of names"),
        ({"text": "x", "labels": {"a": "yes"}}, "true, false or null"),
        ({"text": "x", "labels": ["a\tb"]}, "breaks lines apart"),
        ({"text": "x", "labels": [""]}, "without a name"),
        ("[" * 5000, "no JSON"),
    ],
)
def test_lines_that_cannot_be_read_are_named(tmp_path, row, said):
    path = lines(tmp_path / "a.jsonl", {"text": "fine", "labels": ["a"]}, row)
    with pytest.raises(ParseError, match=said) as error:
        read_jsonl(path)
    assert "line 2" in str(error.value)
    assert len(str(error.value)) <= 300


def test_a_file_without_documents_and_one_that_is_no_utf8(tmp_path):
    with pytest.raises(ParseError, match="no document"):
        read_jsonl(lines(tmp_path / "a.jsonl", ""))
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "\xff"}')
    with pytest.raises(ParseError, match="not in UTF-8"):
        read_jsonl(tmp_path / "b.jsonl")


@pytest.fixture
def folder(tmp_path):
    for label, name, content in (("a", "1", "x\ny"), ("b", "1", "x\ny"), ("b", "2", "z"), ("c", "1", "other")):
        (tmp_path / "docs" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / label / f"{name}.txt").write_text(content)
    return tmp_path / "docs"


def test_a_document_in_several_folders_has_all_their_labels(folder):
    data = read_text_folder(folder)
    assert data.label_names == ("a", "b", "c")
    assert list(zip(data.X, data.Y.toarray().tolist(), strict=True)) == [
        ("x\ny", [1, 1, 0]),
        ("other", [0, 0, 1]),
        ("z", [0, 1, 0]),
    ]
    assert kind_of(str(folder)) == "labels"
    assert load(folder).X.tolist() == data.X.tolist()
    assert data.files == ("a/1.txt", "c/1.txt", "b/2.txt")
    plain = read_file(folder, ())  # every file is a row
    assert plain.Y.shape == (4, 0)
    assert sorted(plain.files) == ["a/1.txt", "b/1.txt", "b/2.txt", "c/1.txt"]
    assert plain.take(np.array([2])).files == plain.files[2:3]


def test_folders_of_pictures_are_masks_still(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "README.txt").write_text("about them")
    assert not is_text_folder(tmp_path)
    assert kind_of(str(tmp_path)) == "masks"


def test_a_label_may_be_called_images(folder):
    (folder / "c").rename(folder / "images")
    (folder / "images" / "1.txt").rename(folder / "images" / "1.TXT")
    assert read_text_folder(folder).label_names == ("a", "b", "images")
    assert kind_of(str(folder)) == "labels"


def test_labels_that_are_joined_otherwise_or_nowhere(tmp_path):
    rows = [{"text": "one", "labels": "a, b"}, {"text": "two", "labels": "a"}]
    with pytest.raises(ParseError, match=r"line 1.*'a, b' looks like several labels"):
        read_jsonl(lines(tmp_path / "a.jsonl", *rows))
    assert read_jsonl(lines(tmp_path / "b.jsonl", *rows, {"text": "three", "labels": "c;d"})).label_names == (
        "a",
        "a, b",
        "c",
        "d",
    )
    bare = read_jsonl(lines(tmp_path / "c.jsonl", {"text": "one", "tags": ["a"]}))  # to be answered, or labelled
    assert bare.label_names == ()
    assert read_jsonl(tmp_path / "c.jsonl", known=["a"]).unknown.all()


def test_files_without_folders_have_no_labels(tmp_path):
    (tmp_path / "1.txt").write_text("x")
    with pytest.raises(ParseError, match="lie in no folder"):
        read_text_folder(tmp_path)
    assert read_text_folder(tmp_path, labelled=False).X.tolist() == ["x"]
    with pytest.raises(ParseError, match=r"no \.txt file"):
        read_text_folder(tmp_path / "none")


def test_columns_of_a_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,title,body,genre\n7,T,"one, two",a;b\n8,,three,\n')
    data = read_table(path, "genre", text=["body"])
    assert data.X.tolist() == ["one, two", "three"]
    assert data.feature_names == ("body",)
    assert data.Y.toarray().tolist() == [[1, 1], [0, 0]]
    assert read_table(path, "genre", text=["title", "body"]).X.tolist() == ["T\none, two", "\nthree"]
    with pytest.raises(ParseError, match="no column 'bdy'"):
        read_table(path, "genre", text=["bdy"])
    with pytest.raises(ParseError, match="'genre' of texts is said to be a label"):
        read_table(path, "genre", text=["genre"])
    with pytest.raises(ParseError, match="--text"):
        read_table(path, "genre")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("a.arff", {"text": ["x"]}, "texts are read from CSV, Parquet"),
        ("a.jsonl", {"drop": ["x"]}, "no columns to leave out"),
        ("a.jsonl", {"text": ["x", "y"]}, "in one field"),
    ],
)
def test_what_a_kind_of_file_has_not_is_said(tmp_path, name, options, said):
    (tmp_path / name).write_text("{}")
    with pytest.raises(EnstructError, match=said):
        read_file(tmp_path / name, **options)


def test_named_sets_hold_no_texts():
    with pytest.raises(DataError, match="has no texts"):
        load("yeast", text=["x"])
