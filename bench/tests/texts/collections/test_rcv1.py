"""The reader of RCV1-v2, on files of the publisher's layout."""

import gzip
import zipfile

import pytest

from enstruct.errors import DatasetNotFoundError, ParseError
from enstruct_bench.texts.collections import read_rcv1

ITEM = """<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="{number}" id="root" date="1996-08-20" xml:lang="en">
<title>MEXICO: Wheat.</title>
<headline>Wheat {number} \xe9</headline>
<text>
<p>Prices &lt;up&gt;.</p>
<p>More to come.</p>
</text>
<metadata><codes class="bip:topics:1.0"><code code="OLD"/></codes></metadata>
</newsitem>
"""


def item(number):
    return ITEM.format(number=number).encode("latin-1")


@pytest.fixture
def rcv1(tmp_path):
    (tmp_path / "19960820").mkdir()
    (tmp_path / "19960820" / "2286newsML.xml").write_bytes(item(2286))
    with zipfile.ZipFile(tmp_path / "19960821.zip", "w") as packed:
        for number in (26150, 26151, 30000):  # the last has no topic
            packed.writestr(f"{number}newsML.xml", item(number))
    with gzip.open(tmp_path / "rcv1-v2.topics.qrels.gz", "wt", encoding="utf-8") as file:
        file.write("C15 2286 1\nCCAT 2286 1\nCCAT 26150 1\nC15 26151 1\nCCAT 26151 1\n")
    return tmp_path


def test_items_with_the_corrected_topics_by_their_number(rcv1):
    found = read_rcv1(rcv1)
    assert found.train.names == ("C15", "CCAT")
    assert found.train.Y.tolist() == [[1, 1], [0, 1]]
    assert found.train.texts[0] == "Wheat 2286 é\nPrices <up>.\nMore to come."
    assert found.test.Y.tolist() == [[1, 1]]


def test_what_is_missing_or_damaged(rcv1):
    (rcv1 / "19960820" / "2286newsML.xml").write_bytes(b"<newsitem itemid='2286'>")
    with pytest.raises(ParseError, match="no XML"):
        read_rcv1(rcv1)
    (rcv1 / "19960820" / "2286newsML.xml").write_bytes(b"<newsitem itemid='2286'></newsitem>")
    with pytest.raises(ParseError, match="lacks its number or its text"):
        read_rcv1(rcv1)
    (rcv1 / "19960821.zip").write_bytes(b"no archive")
    (rcv1 / "19960820" / "2286newsML.xml").write_bytes(item(2286))
    with pytest.raises(ParseError, match="archive cannot be read"):
        read_rcv1(rcv1)
    (rcv1 / "19960821.zip").unlink()
    with pytest.raises(ParseError, match="both parts"):
        read_rcv1(rcv1)
    with gzip.open(rcv1 / "rcv1-v2.topics.qrels.gz", "wt", encoding="utf-8") as file:
        file.write("C15 x 1\n")
    with pytest.raises(ParseError, match="no topic, item and 1"):
        read_rcv1(rcv1)
    (rcv1 / "rcv1-v2.topics.qrels.gz").unlink()
    with pytest.raises(DatasetNotFoundError, match=r"topics\.qrels"):
        read_rcv1(rcv1)
