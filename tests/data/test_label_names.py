"""Every reader hands on names that occur once and fit in a line."""

import numpy as np
import pytest

from enstruct.data.arff import read_arff, read_label_names
from enstruct.data.conll import read_conll
from enstruct.data.label_names import check_label_names
from enstruct.data.npz import read_npz
from enstruct.data.tables.read import read_table
from enstruct.errors import ParseError

BREAKING = ["\t", "\n", "\r", "\0", "\x0b", "\x1c", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"]
ROWS = "@data\n1,0,1\n2,1,1\n"


@pytest.mark.parametrize("mark", BREAKING)
def test_what_breaks_lines_is_in_no_name(mark):
    with pytest.raises(ParseError, match=rf"d\.x, line 7: the label name .*U\+{ord(mark):04X}, which breaks lines apart: rename"):
        check_label_names(["pop", f"rock{mark}y"], "d.x", [3, 7])


def test_other_names_are_taken():
    check_label_names(["rock, hard", "10\u00a0000", "naïve ☃", "a;b|c", "\U0001f468\u200d\U0001f469", "0", " "], "d.x")


def test_names_that_occur_twice_are_located():
    with pytest.raises(ParseError, match=r"d\.x, line 9: two labels are called 'a' \(lines 3 and 9\)"):
        check_label_names(["a", "b", "a"], "d.x", [3, 7, 9])
    with pytest.raises(ParseError, match=r"two labels are called 'a' \(labels 1 and 3\)"):
        check_label_names(["a", "b", "a"], "d.x")
    with pytest.raises(ParseError, match="a label without a name"):
        check_label_names(["a", ""], "d.x")


@pytest.mark.parametrize(
    ("header", "labels", "message"),
    [
        ("x numeric|l {0,1}|l {0,1}", -2, r"line 4: two labels are called 'l' \(lines 3 and 4\)"),
        ("x numeric|l {0,1}|l {0,1}", ["l"], r"line 4, column 'l': the label stands in line 3 as well"),
        ("l numeric|l {0,1}|m {0,1}", ["l", "m"], r"line 3, column 'l': the label stands in line 2 as well"),
        ("x numeric|l {0,1}|m {0,1}", ["l", "l"], r"a label is named twice: 'l', 'l'"),
        ("x numeric|'l\tm' {0,1}|m {0,1}", -2, r"line 3: the label name 'l\\tm' holds the character U\+0009"),
        ("x numeric|'l\u2028m' {0,1}|m {0,1}", -2, r"line 3: the label name 'l\\u2028m' holds"),
        ("x numeric|'' {0,1}|m {0,1}", -2, r"line 3: a label without a name"),
    ],
)
def test_arff(tmp_path, header, labels, message):
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n" + "".join(f"@attribute {part}\n" for part in header.split("|")) + ROWS, "utf-8")
    with pytest.raises(ParseError, match=message):
        read_arff(path, labels)


def test_classes_of_a_hierarchy(tmp_path):
    path = tmp_path / "h.arff"
    path.write_text("@relation r\n@attribute x numeric\n@attribute c hierarchical A,A/B\tC\n@data\n1,A\n", "utf-8")
    with pytest.raises(ParseError, match=r"line 3: the label name 'A/B\\tC'"):
        read_arff(path)
    path.write_text("@relation r\n@attribute x numeric\n@attribute c hierarchical A/B,B/A\n@data\n1,A\n", "utf-8")
    with pytest.raises(ParseError, match=r"line 3, column 'c': The label hierarchy contains a cycle"):
        read_arff(path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ('<label name="a"/><label name="b"/><label name="a"/>', r"two labels are called 'a' \(labels 1 and 3\)"),
        ('<label name="a&#9;b"/>', r"U\+0009"),
        ('<label name="a&#x2028;b"/>', r"U\+2028"),
        ("<label/>", "without a name"),
    ],
)
def test_xml(tmp_path, entries, message):
    (tmp_path / "l.xml").write_text(f"<labels>{entries}</labels>", "utf-8")
    with pytest.raises(ParseError, match=rf"l\.xml: .*{message}"):
        read_label_names(tmp_path / "l.xml")


def test_csv(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text('x,y\n1,pop\n2,"rock;a\nb"\n', "utf-8")
    with pytest.raises(ParseError, match=r"line 4, column 'y': the label name 'a\\nb' holds the character U\+000A"):
        read_table(path, "y")
    path.write_text('x,"a\u2028b",c\n1,0,1\n', "utf-8")
    with pytest.raises(ParseError, match=r"line 1, column 'a\\u2028b': the label name"):
        read_table(path, -2)


@pytest.mark.parametrize(
    ("names", "message"),
    [(["p", "q", "p"], r"called 'p' \(labels 1 and 3\)"), (["p", "q\tr", "s"], r"U\+0009"), (["p", "", "s"], "without")],
)
def test_npz(tmp_path, names, message):
    np.savez(tmp_path / "d.npz", X=np.eye(3), Y=np.eye(3), label_names=np.array(names))
    with pytest.raises(ParseError, match=message):
        read_npz(tmp_path / "d.npz")


def test_tags(tmp_path):
    (tmp_path / "a.conll").write_text("EU\tORG\nno\tA\u2028B\n", "utf-8")
    with pytest.raises(ParseError, match=r"line 2: the label name 'A\\u2028B'"):
        read_conll(tmp_path / "a.conll")
