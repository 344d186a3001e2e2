"""The reader of Reuters-21578, on files of the publisher's layout."""

import lzma

import pytest

from enstruct.errors import ParseError
from enstruct_bench.texts.collections import read_reuters

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


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ParseError, match="no document of the ModApte split"):
        read_reuters(tmp_path)
