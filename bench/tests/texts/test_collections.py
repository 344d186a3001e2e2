"""Readers of raw text collections, on files of the publishers' layout."""

import lzma

import numpy as np
import pytest

from enstruct.errors import ConfigError, DatasetNotFoundError, ParseError
from enstruct_bench.texts.collections import load_collection, read_goemotions, read_reuters

DOCUMENT = """<REUTERS TOPICS="{topics}" LEWISSPLIT="{split}" OLDID="1" NEWID="2">
<TOPICS>{labels}</TOPICS><PLACES><D>usa</D></PLACES>
<TEXT>&#2;
<TITLE>{title}</TITLE><BODY>Prices &lt;up&gt; today
&#3;</BODY></TEXT>
</REUTERS>
"""


def document(split, labels, topics="YES", title="GRAIN"):
    marked = "".join(f"<D>{one}</D>" for one in labels)
    return DOCUMENT.format(split=split, labels=marked, topics=topics, title=title)


@pytest.fixture
def reuters(tmp_path):
    first = document("TRAIN", ["corn", "wheat"]) + document("TRAIN", ["gold"]) + document("TEST", ["wheat", "corn"])
    second = document("TEST", ["zinc"]) + document("NOT-USED", ["corn"]) + document("TRAIN", ["corn"], topics="NO")
    (tmp_path / "reut2-000.sgm").write_text("<!DOCTYPE lewis>\n" + first, encoding="latin-1")
    with lzma.open(tmp_path / "reut2-001.sgm.xz", "wt", encoding="latin-1") as file:
        file.write(second)
    return tmp_path


def test_reuters_has_the_topics_of_both_parts_and_documents_that_have_one(reuters):
    found = read_reuters(reuters)
    assert found.train.names == found.test.names == ("corn", "wheat")
    assert (len(found.train), len(found.test)) == (1, 1)
    assert found.train.Y.tolist() == [[1, 1]]
    assert " ".join(found.train.texts[0].split()) == "GRAIN Prices <up> today"


def test_goemotions_puts_training_and_development_rows_together(tmp_path):
    (tmp_path / "labels.txt").write_text("anger\njoy\n", encoding="utf-8")
    for part, lines in (("train", "so good\t1\ta\r\nboth\t0,1\tb\n"), ("dev", "no\t0\tc\n"), ("test", "yes\t1\td\n")):
        with lzma.open(tmp_path / f"{part}.tsv.xz", "wt", encoding="utf-8", newline="") as file:
            file.write(lines)
    found = read_goemotions(tmp_path)
    assert found.train.texts == ["so good", "both", "no"]
    assert found.train.Y.tolist() == [[0, 1], [1, 1], [1, 0]]
    np.testing.assert_array_equal(found.train.take(np.array([2])).Y, [[1, 0]])
    with lzma.open(tmp_path / "dev.tsv.xz", "wt") as file:
        file.write("no number\t7\tx\n")
    with pytest.raises(ParseError, match="numbers of emotions"):
        read_goemotions(tmp_path)


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="Unknown collection"):
        load_collection("reuters")
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match="put it at multilabel/goemotions"):
        load_collection("goemotions")
    with pytest.raises(ParseError, match="no document of the ModApte split"):
        read_reuters(tmp_path)
