"""The reader of the New York Times Annotated Corpus, on files of the publisher's layout."""

import io
import tarfile

import pytest

from enstruct.errors import DatasetNotFoundError, ParseError
from enstruct_bench.texts.collections import read_nyt

ARTICLE = """<?xml version="1.0" encoding="UTF-8"?>
<nitf><head><docdata><identified-content>
<classifier class="online_producer" type="taxonomic_classifier">{path}</classifier>
<classifier class="online_producer" type="taxonomic_classifier">Top/Features</classifier>
<classifier class="online_producer" type="descriptor">Wheat</classifier>
</identified-content></docdata></head>
<body><body.head><hedline><hl1>Headline</hl1></hedline></body.head>
<body.content><block class="lead_paragraph"><p>Lead.</p></block>
<block class="full_text"><p>Lead.</p><p>The <b>rest</b>.</p></block></body.content></body></nitf>
"""


@pytest.fixture
def nyt(tmp_path):
    month = tmp_path / "data" / "2003" / "07"
    (month / "11").mkdir(parents=True)
    (month / "11" / "1.xml").write_text(ARTICLE.format(path="Top/News/Sports"), encoding="utf-8")
    with tarfile.open(month / "12.tgz", "w:gz") as tarred:
        for number, path in ((2, "Top/News"), (3, "Top/Features/Travel"), (4, "Top/Never")):
            content = ARTICLE.format(path=path).encode()
            entry = tarfile.TarInfo(f"12/{number}.xml")
            entry.size = len(content)
            tarred.addfile(entry, io.BytesIO(content))
    (tmp_path / "train.txt").write_text("data/2003/07/11/1.xml\n", encoding="utf-8")
    (tmp_path / "validation.txt").write_text("data/2003/07/12/3.xml\n", encoding="utf-8")
    (tmp_path / "test.txt").write_text("data/2003/07/12/2.xml\n", encoding="utf-8")
    return tmp_path


def test_articles_of_the_lists_with_all_parents_of_their_labels(nyt):
    found = read_nyt(nyt)
    assert found.train.names == ("Top/Features", "Top/Features/Travel", "Top/News", "Top/News/Sports")
    assert found.train.Y.tolist() == [[1, 0, 1, 1], [1, 1, 0, 0]]
    assert found.train.texts[0] == "Headline\nLead.\nThe rest."
    assert found.test.Y.tolist() == [[1, 0, 1, 0]]


def test_what_is_missing(nyt):
    (nyt / "validation.txt").unlink()
    assert len(read_nyt(nyt).train) == 1
    (nyt / "train.txt").write_text("data/2003/07/11/9.xml\n", encoding="utf-8")
    with pytest.raises(ParseError, match=r"1 articles of the lists are not there, the first data/2003/07/11/9\.xml"):
        read_nyt(nyt)
    (nyt / "test.txt").unlink()
    with pytest.raises(DatasetNotFoundError, match=r"test\.txt"):
        read_nyt(nyt)
