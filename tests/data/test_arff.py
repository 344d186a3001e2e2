"""ARFF: what the collections write, and what a damaged file says."""

import bz2
import gzip
import lzma
import tracemalloc

import numpy as np
import pytest

from enstruct.data.arff import read_arff
from enstruct.data.hierarchy import Hierarchy
from enstruct.errors import DataError, DatasetNotFoundError, ParseError

DENSE = """% a comment
@relation 'demo: -C -2'
@attribute 'a b' numeric
@attribute yes {YES, NO}
@attribute colour {red, 'dark blue', green}
@attribute flag {0,1}
@attribute l1 {0,1}
@attribute l2 {NO,YES}

@data
1.5, YES, red, 0, 1, YES
?, NO, 'dark blue', 1, 0, NO
"""
SPARSE = """@relation 'meka: -C 2'
@attribute l1 {0,1}
@attribute l2 {0,1}
@attribute x numeric
@attribute n {YES,NO}
@attribute y numeric
@data
{0 1, 2 3.5}
{}
{1 1,3 NO,4 ?}
"""


def write(tmp_path, text, name="file.arff"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_dense_file_with_nominals_by_meaning(tmp_path):
    data = read_arff(write(tmp_path, DENSE))
    assert data.feature_names == ("a b", "yes", "colour=red", "colour=dark blue", "colour=green", "flag")
    np.testing.assert_array_equal(data.X, [[1.5, 1, 1, 0, 0, 0], [np.nan, 0, 0, 1, 0, 1]])
    assert data.label_names == ("l1", "l2")
    assert data.Y.toarray().tolist() == [[1, 1], [0, 0]]
    assert data.has_missing


def test_declared_order_does_not_decide_the_meaning(tmp_path):
    """genbase declares {YES,NO}: an ordinal reader makes YES = 0, as the published systems had it."""
    swapped = read_arff(write(tmp_path, DENSE.replace("{YES, NO}", "{NO, YES}")))
    np.testing.assert_array_equal(swapped.X[:, 1], [1, 0])


def test_sparse_file_with_meka_labels_first(tmp_path):
    data = read_arff(write(tmp_path, SPARSE))
    assert data.label_names == ("l1", "l2")
    assert data.Y.toarray().tolist() == [[1, 0], [0, 0], [0, 1]]
    # an omitted nominal holds its first declared value, here YES, which means 1
    np.testing.assert_array_equal(data.X.toarray(), [[3.5, 1, 0], [0, 1, 0], [0, 0, np.nan]])


@pytest.mark.parametrize(("suffix", "compress"), [(".xz", lzma.compress), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files(tmp_path, suffix, compress):
    path = tmp_path / f"file.arff{suffix}"
    path.write_bytes(compress(DENSE.encode()))
    assert len(read_arff(path)) == 2
    path.write_bytes(compress(DENSE.encode())[:-10])
    with pytest.raises(ParseError, match="decompressed"):
        read_arff(path)


def test_labels_from_xml_names_number_or_beside_the_file(tmp_path):
    xml = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="flag"></label><label name="l1"/></labels>'
    plain = DENSE.replace(": -C -2", "")
    path = write(tmp_path, plain)
    (tmp_path / "other.xml").write_text(xml)
    assert read_arff(path, tmp_path / "other.xml").label_names == ("flag", "l1")
    assert read_arff(path, ["l1", "l2"]).label_names == ("l1", "l2")
    assert read_arff(path, -1).label_names == ("l2",)
    with pytest.raises(ParseError, match="cannot tell which attributes are labels"):
        read_arff(path)
    (tmp_path / "file.xml").write_text(xml)
    assert read_arff(path).label_names == ("flag", "l1")
    assert read_arff(write(tmp_path, plain, "file-train.arff")).label_names == ("flag", "l1")
    assert read_arff(path, ()).Y.shape == (2, 0)


TREE = """@relation tree
@attribute x numeric
@attribute class hierarchical 01,01/02,01/02/03,04
@data
1,01/02/03@04
2,01
"""
GRAPH = """@relation graph
@attribute x numeric
@attribute class hierarchical root/A,A/B,A/C,B/D,C/D,root/E
@data
1,D
2,E
"""


def test_hierarchies_are_closed_upwards_without_a_root(tmp_path):
    tree = read_arff(write(tmp_path, TREE))
    assert tree.label_names == ("01", "01/02", "01/02/03", "04")
    assert tree.Y.toarray().tolist() == [[1, 1, 1, 1], [1, 0, 0, 0]]
    graph = read_arff(write(tmp_path, GRAPH))
    assert graph.label_names == ("A", "B", "C", "D", "E")
    assert graph.Y.toarray().tolist() == [[1, 1, 1, 1, 0], [0, 0, 0, 0, 1]]
    p = np.array([[0.1, 0.2, 0.3, 0.9, 0.5]])
    assert graph.hierarchy.raise_parents(p).tolist() == [[0.9, 0.9, 0.9, 0.9, 0.5]]


def test_cyclic_hierarchy_is_refused():
    with pytest.raises(DataError, match="cycle"):
        Hierarchy(2, ((0, 1), (1, 0))).close(np.eye(2, dtype=int))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda t: t.replace("1.5, YES", "1.x, YES"), r"line 11, column 'a b'.*'1.x' is not a number"),
        (lambda t: t.replace("1.5, YES", "1.5, MAYBE"), r"line 11, column 'yes'.*'MAYBE' is not one of"),
        (lambda t: t.replace("red, 0, 1, YES", "red, 0"), r"line 11: 4 values where 6"),
        (lambda t: t.replace("l1 {0,1}", "l1 numeric").replace("0, 1, YES", "0, 2, YES"), r"line 11, column 'l1'.*0 or 1"),
        (lambda t: t.replace("{YES, NO}", "{YES, NO"), r"line 4, column 'yes'.*not closed"),
        (lambda t: t.replace("@attribute flag", "@attribute fl\0ag"), "line 6: an attribute's name holds a NUL"),
        (lambda t: t.replace("numeric", "complex"), r"line 3, column 'a b'.*unknown attribute type 'complex'"),
        (lambda t: t.replace("@attribute flag {0,1}", "nonsense"), r"line 6: expected @attribute"),
        (lambda t: t.split("@data")[0] + "@data\n", "no rows"),
        (lambda t: "just text", "line 1"),
        (
            lambda t: t.replace("@attribute flag {0,1}", "@attribute flag hierarchical"),
            r"line 6, column 'flag'.*needs its classes",
        ),
        (lambda t: t.replace("@attribute flag {0,1}", "@attribute flag string"), r"line 6, column 'flag'.*drop=\['flag'\]"),
        (lambda t: t.replace("-C -2", "-C -9"), "6 columns"),
    ],
)
def test_damage_is_located(tmp_path, change, where):
    with pytest.raises(ParseError, match=where):
        read_arff(write(tmp_path, change(DENSE)))


@pytest.mark.parametrize(
    ("old", "new"),
    [("{0 1, 2 3.5}", "{0 1, 2 3.5"), ("{0 1,", "{9 1,"), ("2 3.5", "x 3.5"), ("2 3.5", "2"), ("{0 1,", "{0 1, 0 1,")],
)
def test_damaged_sparse_rows_are_located(tmp_path, old, new):
    with pytest.raises(ParseError, match="line 8"):
        read_arff(write(tmp_path, SPARSE.replace(old, new)))


def test_quoted_values_of_sparse_rows_may_hold_commas(tmp_path):
    text = SPARSE.replace("{YES,NO}", "{no,'a,b'}").replace("3 NO", "3 'a,b'")
    data = read_arff(write(tmp_path, text))
    assert data.X.toarray()[2, list(data.feature_names).index("n=a,b")] == 1


def test_identifiers_and_text_are_dropped_by_name(tmp_path):
    rows = "\n".join(f"id{i},{i % 2}" for i in range(60))
    values = ",".join(f"id{i}" for i in range(60))
    text = f"@relation 'r: -C -1'\n@attribute key {{{values}}}\n@attribute x numeric\n@attribute l {{0,1}}\n@data\n"
    text += rows.replace(",", ",1,")
    with pytest.raises(ParseError, match="looks like an identifier"):
        read_arff(write(tmp_path, text))
    assert read_arff(write(tmp_path, text), drop=["key"]).feature_names == ("x",)
    learnt = [f"key=id{i}" for i in range(60)]  # the model has seen more rows than these
    assert read_arff(write(tmp_path, text), feature_names=learnt).feature_names[:2] == ("key=id0", "key=id1")
    with pytest.raises(ParseError, match="no attribute 'kye'"):
        read_arff(write(tmp_path, text), drop=["kye"])


def test_a_label_may_be_dropped_too(tmp_path):
    text = "@relation 'r: -C -2'\n@attribute x numeric\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,0,1\n2,1,1\n"
    data = read_arff(write(tmp_path, text), drop=["a"])
    assert (data.feature_names, data.label_names) == (("x",), ("b",))


def test_missing_file():
    with pytest.raises(DatasetNotFoundError, match="no file"):
        read_arff("nowhere.arff")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1.5, YES", "1e400, YES", r"line 11, column 'a b': '1e400' is not a number: it is too large, or infinite"),
        ("1.5, YES", "-inf, YES", r"line 11, column 'a b': '-inf' is not a number: it is too large"),
        ("1.5, YES", "9" * 5000 + ", YES", r"line 11, column 'a b': '9+…9+' is not a number: it is too large"),
        ("1.5, YES", "1_000, YES", r"line 11, column 'a b': '1_000' is not a number"),
        ("-C -2", "-C -" + "9" * 5000, "6 columns"),
    ],
)
def test_numbers_beyond_all_bounds(tmp_path, old, new, message):
    with pytest.raises(ParseError, match=message):
        read_arff(write(tmp_path, DENSE.replace(old, new)))


def test_numbers_of_attributes_beyond_all_bounds(tmp_path):
    with pytest.raises(ParseError, match=r"line 8: bad entry '9+…9+ 1': expected"):
        read_arff(write(tmp_path, SPARSE.replace("{0 1,", "{" + "9" * 5000 + " 1,")))


def test_long_cells_are_cut_and_blanks_take_no_time(tmp_path):
    with pytest.raises(ParseError) as said:
        read_arff(write(tmp_path, DENSE.replace("1.5, YES", "x" * 10**6 + ", " + "y" * 10**6)))
    assert len(str(said.value)) <= 300
    blanks = DENSE.replace("'dark blue', 1", "'dark blue'," + " " * 200_000 + "1")
    assert len(read_arff(write(tmp_path, blanks))) == 2


def test_cells_that_say_nan_are_missing(tmp_path):
    assert np.isnan(read_arff(write(tmp_path, DENSE.replace("1.5, YES", "NaN, YES"))).X[0, 0])


def test_question_marks_of_labels_are_unknown(tmp_path):
    data = read_arff(write(tmp_path, DENSE.replace("0, 1, YES", "0, 1, ?")))
    np.testing.assert_array_equal(data.told(), [[1, np.nan], [0, 0]])
    assert data.Y.toarray().tolist() == [[1, 0], [0, 0]]
    sparse_rows = read_arff(write(tmp_path, SPARSE.replace("{1 1,", "{0 ?,1 1,")))
    np.testing.assert_array_equal(sparse_rows.told(), [[1, 0], [0, 0], [np.nan, 1]])
    unlisted = read_arff(write(tmp_path, SPARSE.replace("@attribute l1 {0,1}", "@attribute l1 {1,0}").replace("{0 1,", "{0 ?,")))
    np.testing.assert_array_equal(unlisted.told()[:, 0], [np.nan, 1, 1])  # what is left out is the first declared value
    assert read_arff(write(tmp_path, DENSE)).unknown is None
    with pytest.raises(ParseError, match=r"column 'x': a label must be 0 or 1, or \? where it is unknown"):
        read_arff(write(tmp_path, SPARSE), labels=["x"])


def test_a_class_that_is_a_question_mark_tells_nothing_of_its_row(tmp_path):
    data = read_arff(write(tmp_path, TREE.replace("\n2,01\n", "\n2,?\n")))
    np.testing.assert_array_equal(data.told(), [[1, 1, 1, 1], [np.nan] * 4])


def test_identifiers_are_refused_before_their_values_take_columns(tmp_path):
    values = ",".join(f"v{k}" for k in range(3000))
    rows = "\n".join(f"v{k},1" for k in range(3000))
    (tmp_path / "d.arff").write_text(f"@relation 'x: -C -1'\n@attribute id {{{values}}}\n@attribute y {{0,1}}\n@data\n{rows}\n")
    tracemalloc.start()
    try:
        with pytest.raises(ParseError, match="3000 values in 3000 rows: it looks like an identifier"):
            read_arff(tmp_path / "d.arff")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
