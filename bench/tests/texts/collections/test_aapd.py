"""The reader of AAPD, on files of the publisher's layout."""

import pytest

from enstruct.errors import DatasetNotFoundError, ParseError
from enstruct_bench.texts.collections import read_aapd


@pytest.fixture
def aapd(tmp_path):
    parts = {
        "train": ("we parse trees\nwe sort lists\n", "cs.CL cs.LG\ncs.DS\n"),
        "val": ("we prove\n", "math.LO\n"),
        "test": ("we learn\nwe dance\n", "cs.LG\nphysics.pop-ph\n"),
    }
    for part, (texts, labels) in parts.items():
        (tmp_path / f"text_{part}").write_text(texts, encoding="utf-8")
        (tmp_path / f"label_{part}").write_text(labels, encoding="utf-8")
    return tmp_path


def test_a_line_is_a_document(aapd):
    found = read_aapd(aapd)
    assert found.train.names == ("cs.CL", "cs.DS", "cs.LG", "math.LO")
    assert found.train.texts == ["we parse trees", "we sort lists", "we prove"]
    assert found.train.Y.tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert found.test.texts == ["we learn"]  # the other one's only label has no training document


def test_the_validation_part_goes_by_two_names(aapd):
    for kind in ("text", "label"):
        (aapd / f"{kind}_val").rename(aapd / f"{kind}_valid")
    assert len(read_aapd(aapd).train) == 3
    (aapd / "text_valid").unlink()
    with pytest.raises(DatasetNotFoundError, match="text_val"):
        read_aapd(aapd)


def test_texts_and_labels_of_different_length(aapd):
    (aapd / "label_train").write_text("cs.CL\n", encoding="utf-8")
    with pytest.raises(ParseError, match="1 lines, and text_train has 2"):
        read_aapd(aapd)
