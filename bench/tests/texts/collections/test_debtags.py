"""The reader of Debian's programs, on indices of an archive's layout."""

import pytest

from enstruct.errors import ParseError
from enstruct_bench.texts.collections import debtags, read_debtags

PACKAGES = """Package: abc
Source: letters (1.0)
Description: short words
Tag: role::program, use::editing,
 works-with::text

Package: abc-data
Source: letters
Description: data of abc
Tag: role::app-data, use::editing

Package: xyz
Description: the short one
Tag: role::program, use::viewing, use::editing, special::not-yet-tagged

Package: xyz
Version: 2
Description: again
Tag: role::program, use::viewing
"""
TRANSLATION = """Package: abc
Description-md5: 0
Description-en: short words
 Said at length, and
 .
 in two parts.
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(debtags, "LEAST", 1)
    (tmp_path / "Packages").write_text(PACKAGES, encoding="utf-8")
    (tmp_path / "Translation-en").write_text(TRANSLATION, encoding="utf-8")
    return tmp_path


def everything(found):
    parts = [(part, text, row) for part in (found.train, found.test) for text, row in zip(part.texts, part.Y, strict=True)]
    return {text: {part.names[k] for k in row.nonzero()[0]} for part, text, row in parts}


def test_programs_by_their_longest_description_and_tags(folder, monkeypatch):
    monkeypatch.setattr(debtags.zlib, "crc32", lambda name: 1)  # nothing to test
    assert everything(read_debtags(folder)) == {
        "short words Said at length, and  in two parts.": {"use::editing", "works-with::text"},
        "the short one": {"use::viewing", "use::editing"},
    }


def test_packages_of_one_source_are_in_one_part_and_labels_are_those_of_training(folder, monkeypatch):
    monkeypatch.setattr(debtags.zlib, "crc32", lambda name: 0 if name == b"letters" else 1)
    found = read_debtags(folder)
    assert (found.train.texts, len(found.test)) == (["the short one"], 1)
    assert found.train.names == found.test.names == ("use::editing", "use::viewing")
    monkeypatch.setattr(debtags, "LEAST", 2)
    with pytest.raises(ParseError, match="no tag of programs is on 2"):
        read_debtags(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [(" begins so\n", "no field before"), ("Package\n", "no field and its value"), ("Tag: a\n\n", "names no package")],
)
def test_damaged_indices_are_named_by_their_line(content, said, folder):
    (folder / "Packages").write_text(content, encoding="utf-8")
    with pytest.raises(ParseError, match=said):
        read_debtags(folder)
