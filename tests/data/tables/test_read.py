"""CSV files: which columns are labels, what cells mean, and what is said of those that cannot be read."""

import gc
import gzip
from pathlib import Path

import numpy as np
import pytest

from enstruct.cli.main import main
from enstruct.data.load import load, load_splits, read_file
from enstruct.data.npz import read_npz
from enstruct.data.tables.csv_file import LONGEST_CELL
from enstruct.data.tables.read import column_names, read_table, read_told, told_columns
from enstruct.errors import DataError, ParseError

COLUMNS = "a,b,jazz,pop\n1,2.5,0,1\n-3e2,,1,1\n"
NAMES = "title\tloud\ttags\none\tTrue\tpop;jazz\ntwo\tno\t\nthree\t?\tjazz | pop|jazz\n"


@pytest.fixture
def write(tmp_path):
    def written(text, name="songs.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return written


@pytest.mark.parametrize("labels", [-2, "jazz,pop", "jazz, pop", ["jazz", "pop"]])
def test_columns_of_labels(write, labels):
    data = read_table(write(COLUMNS), labels)
    assert (data.feature_names, data.label_names) == (("a", "b"), ("jazz", "pop"))
    np.testing.assert_array_equal(data.X, [[1, 2.5], [-300, np.nan]])
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1], [1, 1]])


def test_a_column_of_names(write):
    path = write(NAMES, "songs.tsv")
    data = read_table(path, "tags", drop=["title"])
    assert (data.feature_names, data.label_names) == (("loud",), ("jazz", "pop"))
    np.testing.assert_array_equal(data.X.ravel(), [1, 0, np.nan])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 1], [0, 0], [1, 1]])
    wider = read_table(path, "tags", ["title"], known=["blues", "pop", "jazz"])
    np.testing.assert_array_equal(wider.Y.toarray(), [[0, 1, 1], [0, 0, 0], [0, 1, 1]])
    with pytest.raises(ParseError, match=r"songs.tsv, line 2, column 'tags': the model has no label 'jazz'"):
        read_table(path, "tags", ["title"], known=["pop"])


def test_gaps_are_no_names(write):
    """In a column of 0 and 1 a gap is an unknown label; in one of names it is a row without labels, however it is written."""
    for gap in ("", "?", "NA", "NaN", "null", " "):
        holed = read_table(write(f"x,y\n1,1\n2,{gap}\n3,0\n"), "y")
        assert holed.label_names == ("y",)
        np.testing.assert_array_equal(holed.told(), [[1], [np.nan], [0]])
        np.testing.assert_array_equal(holed.unknown, [[False], [True], [False]])
        assert holed.Y.toarray().ravel().tolist() == [1, 0, 0]
    data = read_table(write("x,tags\n1,pop\n2,NA\n3,?\n4,\n"), "tags")
    assert data.label_names == ("pop",)
    assert data.Y.toarray().ravel().tolist() == [1, 0, 0, 0]
    numbered = read_table(write("x,tags\n1,3;0\n2,1\n3,\n"), "tags")  # names may be numbers
    assert (numbered.label_names, numbered.Y.sum()) == (("0", "1", "3"), 3)


def test_a_table_without_gaps_has_nothing_unknown(write):
    data = read_table(write(COLUMNS), ["jazz", "pop"], ["b"])
    assert data.unknown is None
    assert data.told().tolist() == data.Y.toarray().tolist()


def test_labels_alone_are_read_where_the_rest_is_dropped(write):
    data = read_table(write("smiles,a,b\nCCO,1,\nC,,0\n"), -2, ["smiles"])
    assert data.X.shape == (2, 0)
    np.testing.assert_array_equal(data.told(), [[1, np.nan], [np.nan, 0]])


def test_told_labels_come_by_name(write):
    told = read_told(write("c,a\n1,\n,0\nNA,yes\n"), ["a", "b", "c"])
    nan = np.nan
    np.testing.assert_array_equal(told, [[nan, nan, 1], [0, nan, nan], [1, nan, nan]])
    np.testing.assert_array_equal(read_told(write("b\n1\n\n0\n\n"), ["a", "b"])[:, 1], [1, nan, 0, nan])
    with pytest.raises(ParseError, match=r"line 1, column 'id': the model has no label 'id': take the column out"):
        read_told(write("id,a\n7,1\n"), ["a", "b"])
    with pytest.raises(ParseError, match=r"line 3, column 'a': a label must be 0 or 1"):
        read_told(write("a\n1\n2\n"), ["a"])


def test_names_may_hold_commas_where_sets_are_told_apart(write):
    data = read_table(write('x,y\n1,"rock, hard;pop"\n2,"rock, hard"\n'), "y")
    assert data.label_names == ("pop", "rock, hard")
    cities = read_table(write('x,y\n1,"Paris, France"\n2,"Rome, Italy"\n3,[UNK]\n4,[a] b [c]\n'), "y")
    assert cities.label_names == ("Paris, France", "Rome, Italy", "[UNK]", "[a] b [c]")
    assert read_table(write('x,y\n1,pop;\n2,"pop, hard"\n'), "y").label_names == ("pop", "pop, hard")
    assert read_table(write('x,y\n1,"rock, hard"\n'), "y", known=["pop", "rock, hard"]).Y.toarray().tolist() == [[0, 1]]


def test_a_long_text_is_read(write):
    long = "corn " * 200_000
    assert read_table(write(f"body,genre\n{long},grain\nshort,corn\n"), "genre", text=["body"]).X[0] == long


def test_quotation_marks(write):
    """One that is never closed would swallow the rows below; a closed one may hold lines."""
    rows = "\n".join(f"{i},jazz" for i in range(3, 20))
    for last in ('20,"blues"\n', "20,blues\n"):
        with pytest.raises(ParseError, match=r"line \d+: no field, a quotation mark that is never closed"):
            read_table(write(f'a,genre\n1,pop\n2,"jazz\n{rows}\n{last}'), "genre")
    data = read_table(write('a,genre,b\n1,"rock;\npop",2\n2,rock,3\n'), "genre")
    assert data.label_names == ("pop", "rock")
    assert data.Y.toarray().tolist() == [[1, 1], [0, 1]]


def test_one_column_of_labels_however_it_is_written(write, tmp_path):
    np.savetxt(tmp_path / "s.csv", [[1.5, 0], [2, 1]], delimiter=",", header="a,y", comments="")
    data = read_table(tmp_path / "s.csv", -1)
    assert (data.label_names, data.Y.toarray().ravel().tolist()) == (("y",), [0, 1])
    path = write("a,y\n1,0\n2,1\n")
    assert read_table(path, "y", known=["0", "1", "2"]).Y.toarray().tolist() == [[1, 0, 0], [0, 1, 0]]  # classes, not 0/1
    assert read_table(path, "y", known=["y"]).Y.toarray().ravel().tolist() == [0, 1]


def test_what_separates_fields(write):
    assert read_table(write("a\tb, c, d, e\ty\n1\t2\t0\n", "t.tsv"), -1).feature_names == ("a", "b, c, d, e")
    assert read_table(write('"a;x;y;z;w","c","y"\n1,2,0\n'), -1).feature_names == ("a;x;y;z;w", "c")


def test_arguments_from_python(write):
    path = write(COLUMNS)
    assert read_table(path, np.int64(-2)).label_names == ("jazz", "pop")
    assert read_table(path, "pop", drop="jazz").feature_names == ("a", "b")
    with pytest.raises(ParseError, match="named twice: pop, pop"):
        read_table(path, "pop,pop")
    with pytest.raises(ParseError, match="'1,5' is no number: decimals are written with a point"):
        read_table(write("a;b;y\n1,5;2;0\n"), -1)


def test_what_other_kinds_of_file_cannot_do_is_said(write, tmp_path):
    path = write("0 0:1.5 1:2\n1 0:2\n", "x.svm")
    with pytest.raises(DataError, match=r"only CSV, Parquet and ARFF have columns to leave out; drop=\['f0'\]"):
        read_file(path, drop=["f0"])
    for arguments in ({"drop": ["a"]}, {"labels": -3}):
        with pytest.raises(DataError, match="yeast is a set of the catalogue"):
            load("yeast", **arguments)
        for name in ("bibtex", "spo_FUN"):
            with pytest.raises(DataError, match=f"{name} is a set of the catalogue"):
                load_splits(name, **arguments)


def test_the_first_columns_one_column_and_none(write):
    path = write(COLUMNS)
    with pytest.raises(ParseError, match=r"'jazz' is to be left out and is among the last 2 columns.*name the labels"):
        read_table(path, -2, drop=["jazz"])  # a feature may be meant to take its place, or not
    assert read_table(path, -2, drop=["a"]).label_names == ("jazz", "pop")
    assert read_table(path, "pop").feature_names == ("a", "b", "jazz")
    assert read_table(path, "pop").Y.toarray().ravel().tolist() == [1, 1]
    assert read_table(path, ()).Y.shape == (2, 0)
    assert read_table(path, ["pop"], drop=["a"]).feature_names == ("b", "jazz")


def test_as_spreadsheets_write_them(write, tmp_path):
    excel = "\ufeff" + 'a;"b; and c";pop\r\n1;2;1\r\n\r\n3;"4";0\r\n'
    data = read_table(write(excel), -1)
    assert data.feature_names == ("a", "b; and c")
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    with gzip.open(tmp_path / "s.csv.gz", "wt") as file:
        file.write(COLUMNS)
    assert read_file(tmp_path / "s.csv.gz", -2).label_names == ("jazz", "pop")


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        (COLUMNS, None, "which columns are labels"),
        (COLUMNS, 4, "4 labels asked for, but the file has 4 columns"),
        (COLUMNS, 0, "0 labels asked for"),
        (COLUMNS, "rock", "no column 'rock'; the header has a, b, jazz, pop"),
        (COLUMNS, -3, "line 2, column 'b': a label must be 0 or 1"),
        (COLUMNS, ["a", "b", "jazz", "pop"], "no feature column is left"),
        ("a,b\n1,x\n", 1, r"line 2, column 'b': 'x' is no number.*--drop \[b\]"),
        ("a,b\n1,2,3\n", 1, "line 2: 3 fields where the header has 2"),
        ("a,a\n1,2\n", 1, "two columns are called 'a'"),
        (",a,b\n0,1,2\n", -1, "column 1 has no name.*index=False"),
        ("1,2\n1,2\n", -1, "must name the columns"),
        ("a,y\n1,pop\n2,jazz\n3,\"('jazz',)\"\n", "y", r"line 4, column 'y': .*looks like several labels"),
        ("a,b\n", -1, "no rows below the header"),
        ("a,y\n1,\"['jazz', 'rock']\"\n2,pop\n", "y", r"line 2, column 'y': .*looks like several labels: join names by ; or"),
        ('a,y\n1,pop\n2,"jazz, rock"\n3,"jazz, pop"\n', "y", r"line 3, column 'y': 'jazz, rock' looks like several labels"),
        ("", -1, "no rows below the header"),
        ('a,b\n1,"' + "x" * (LONGEST_CELL + 1) + '"\n', -1, "more than 16,777,216 characters"),
    ],
)
def test_what_cannot_be_read_is_named(write, text, labels, message):
    with pytest.raises(ParseError, match=message):
        read_table(write(text), labels)


def test_from_training_to_prediction(write, tmp_path, monkeypatch, capsys, blocks):
    """A column of names, other columns first in the second file, and fewer names there."""
    monkeypatch.chdir(tmp_path)
    names = [f"x{i}" for i in range(blocks.X.shape[1])]
    labels = [";".join(blocks.label_names[k] for k in row.indices) for row in blocks.Y]
    X = np.round(blocks.X, 3)

    def rows(indices, order):
        head = ",".join([*(names[i] for i in order), "tags"])
        return "\n".join([head, *(",".join([*(str(X[r, i]) for i in order), labels[r]]) for r in indices)]) + "\n"

    order = range(len(names))
    write(rows(range(250), order), "train.csv")
    write(rows(range(250, 254), order[::-1]), "test.csv")
    fast = ["--model.method", "seal-nce", "--model.max_epochs", "2", "--model.hidden", "8"]
    assert main(["train", "train.csv", "--labels", "tags", "--out", "m", *fast]) == 0
    assert main(["evaluate", "m", "test.csv", "--labels", "tags"]) == 0
    assert main(["predict", "m", "test.csv", "--labels", "tags", "--out", "with.txt"]) == 0
    (tmp_path / "bare.csv").write_text(rows(range(250, 254), order).replace(",tags", "", 1), "utf-8")
    bare = [line.rpartition(",")[0] if k else line for k, line in enumerate((tmp_path / "bare.csv").read_text().splitlines())]
    (tmp_path / "bare.csv").write_text("\n".join(bare), "utf-8")
    assert main(["predict", "m", "bare.csv", "--unlabelled", "--out", "without.txt"]) == 0
    assert (tmp_path / "with.txt").read_text() == (tmp_path / "without.txt").read_text()
    capsys.readouterr()
    assert main(["train", "train.csv", "--out", "m"]) == 2
    assert "which columns are labels" in capsys.readouterr().err


def test_the_same_rows_as_in_an_archive(write, tmp_path, monkeypatch, blocks):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "synthetic", "mine.npz", "--rows", "50"]) == 0
    archive = read_npz("mine.npz")
    head = ",".join([*archive.feature_names, *archive.label_names])
    lines = [",".join(map(repr, [*x.tolist(), *y.tolist()])) for x, y in zip(archive.X, archive.Y.toarray(), strict=True)]
    data = read_table(write("\n".join([head, *lines])), -len(archive.label_names))
    np.testing.assert_array_equal(data.X, archive.X)
    assert (data.Y != archive.Y).nnz == 0
    assert (data.feature_names, data.label_names) == (archive.feature_names, archive.label_names)


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("a,y\n1,0\n1e400,1\n", "y", r"line 3, column 'a': '1e400' is no number: it is too large, or infinite"),
        ("a,y\n1.234'5 €,0\n2,1\n", "y", "write the bare number, without units"),
        ("a,y\n12%,0\n2,1\n", "y", "write the bare number, without units"),
        ("a,y\n2024-01-02,0\n2,1\n", "y", "make 0/1 columns of words"),
        ("a,y\nB12,0\n2,1\n", "y", "make 0/1 columns of words"),
        ("a,y,z\n1,Ja,0\n2,1,1\n", -2, r"column 'y': a label must be 0 or 1 \(or no, yes, false, true\)"),
        ("a,genre\n1,x\n2,y\n", "gener", "has a, genre. Did you mean 'genre'?"),
        ("a,y\n1,0\n-inf,1\n", "y", r"line 3, column 'a': '-inf' is no number: it is too large, or infinite"),
        ("a,y\n1_000,0\n2,1\n", "y", r"line 2, column 'a': '1_000' is no number"),
        (f"a,y\n{'9' * 5000},0\n", "y", r"line 2, column 'a': '9+…9+' is no number: it is too large"),
        ("a,y\n1,0\n2,1_0\n", -1, None),
        ("a,y\n1,3\n2,0.37\n3,1.52\n", "y", r"line 3, column 'y': '0.37' is a number with a fraction, and no label"),
        ("a;y\n1;0,37\n2;1,52\n", "y", r"line 2, column 'y': '0,37' is a number with a fraction, and no label"),
        (f"a,y\n{'x' * 100_000},0\n", "y", r"line 2, column 'a': 'x+…x+' is no number: make 0/1 columns"),
    ],
)
def test_numbers_and_names_are_told_apart(write, text, labels, message):
    if message is None:
        assert read_table(write(text), labels).label_names == ("0", "1_0")
        return
    with pytest.raises(ParseError, match=message) as said:
        read_table(write(text), labels)
    assert len(str(said.value)) <= 300


def test_names_that_are_numbers_with_fractions_say_so(write):
    assert read_table(write("a,y\n1,1.1;\n2,1.2\n"), "y").label_names == ("1.1", "1.2")
    assert read_table(write("a,y\n1,1.1\n2,pop\n"), "y").label_names == ("1.1", "pop")
    assert read_table(write("a,y\n1,1.0\n2,3.0\n"), "y").label_names == ("1.0", "3.0")


def test_brackets_and_blanks_take_no_time(write):
    assert read_table(write("a,y\n1,[" + " " * 100_000 + "x\n2,pop\n"), "y").label_names[1] == "pop"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
def test_files_are_closed_whatever_comes_of_them(write):
    path = write("a,b\n" + "1,0\n" * 50_000)
    before = len([*Path("/proc/self/fd").iterdir()])
    gc.disable()
    try:
        for _ in range(5):
            assert column_names(path) == ["a", "b"]
            with pytest.raises(ParseError):
                read_table(path, ["c"])
        assert len([*Path("/proc/self/fd").iterdir()]) == before
    finally:
        gc.enable()


def test_the_line_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "d.csv").write_bytes(b"a,b\n" + b"1,0\n" * 30_000 + b"1,\xff\n")
    with pytest.raises(ParseError, match="line 30002: the file is not in UTF-8"):
        read_table(tmp_path / "d.csv", -1)


def test_a_quotation_mark_that_is_never_closed_is_found_where_it_opens(write):
    rows = [f'{k},"a text",1' for k in range(500)]
    rows[3] = '3,"never closed,1'
    with pytest.raises(ParseError, match="line 5: no field, a quotation mark that is never closed"):
        read_table(write("\n".join(["n,text,y", *rows])), "y", text=["text"])


def test_an_empty_column_of_a_known_label_tells_nothing(write):
    """Of names, too, that may be in it, or be one."""
    source = write("x,spam\n1,\n2,\n")
    data = read_table(source, "spam", known=["spam"])
    assert data.unknown.all()
    assert read_table(source, "spam", known=["ham", "eggs"]).Y.nnz == 0
    np.testing.assert_array_equal(told_columns(source, ["spam"]), [[np.nan], [np.nan]])
    with pytest.raises(ParseError, match="line 2, column 'spam'"):
        told_columns(write("x,spam\n1,maybe\n2,\n"), ["spam"])
