"""The reader of the Blurb Genre Collection, on files of the publisher's layout."""

import pytest

from enstruct.errors import ParseError
from enstruct_bench.texts.collections import read_blurbs

BOOK = """<book date="2018-08-18" xml:lang="en">
<title>{title}</title>
<body>A tale of salt & light, &quot;true&quot;.
Two lines.</body>
<copyright>(c) Penguin Random House</copyright>
<metadata>
<topics>
{topics}
</topics>
<author>A. B.</author>
<isbn>9780000000000</isbn>
</metadata>
</book>
"""


def book(title, *path):
    topics = "".join(f"<d{depth}>{genre}</d{depth}>" for depth, genre in enumerate(path))
    return BOOK.format(title=title, topics=topics)


def write(folder, **parts):
    for part, content in parts.items():
        (folder / f"BlurbGenreCollection_EN_{part}.txt").write_text(content, encoding="utf-8")


def test_books_with_their_genres(tmp_path):
    first = book("Salt", "Fiction", "Mystery & Suspense") + book("Light", "Nonfiction")
    write(tmp_path, train=first, dev=book("Sea", "Fiction"), test=book("End", "Fiction", "Romance"))
    found = read_blurbs(tmp_path)
    assert found.train.names == ("Fiction", "Mystery & Suspense", "Nonfiction")
    assert found.train.Y.tolist() == [[1, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert found.train.texts[0] == 'Salt\nA tale of salt & light, "true".\nTwo lines.'
    assert found.test.Y.tolist() == [[1, 0, 0]]


def test_a_book_without_topics_is_named_by_its_line(tmp_path):
    write(tmp_path, train=book("Salt", "Fiction") + "<book>\n<title>x</title>\n</book>\n", dev="", test="")
    with pytest.raises(ParseError, match="lacks its title, its body or its topics") as caught:
        read_blurbs(tmp_path)
    assert "14" in str(caught.value)


def test_other_files(tmp_path):
    write(tmp_path, train="no books\n", dev="", test="")
    with pytest.raises(ParseError, match="no <book>"):
        read_blurbs(tmp_path)
    (tmp_path / "BlurbGenreCollection_EN_train.txt").write_bytes(b"<book>\xff</book>")
    with pytest.raises(ParseError, match="UTF-8"):
        read_blurbs(tmp_path)
