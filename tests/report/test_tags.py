"""What a tagger takes for what, and sentences with their spans."""

import numpy as np
from tests.html_checks import Page

from enstruct.report.confusion import confusion, confusion_section
from enstruct.report.marked_sentences import TOKENS, marked
from enstruct.report.markup import joined

TRUE = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "O"]]
FOUND = [["B-PER", "O", "O", "I-PER"], ["B-LOC", "O"]]


def test_tokens_are_counted_by_their_types():
    names, n, beyond, n_types = confusion(TRUE, FOUND)
    assert (beyond.tolist(), n_types) == ([0, 0, 0], 3)
    assert names[-1] == "O"
    place = {name: i for i, name in enumerate(names)}
    expected = np.zeros((3, 3), dtype=int)
    for a, b in (("PER", "PER"), ("PER", "O"), ("O", "O"), ("LOC", "PER"), ("O", "LOC"), ("O", "O")):
        expected[place[a], place[b]] += 1
    assert np.array_equal(n, expected)


def test_types_beyond_those_shown_count_as_wrong(monkeypatch):
    monkeypatch.setattr("enstruct.report.confusion.TYPES", 2)
    of = confusion([*TRUE, ["B-PER"]], [*FOUND, ["B-LOC"]])
    assert of.types == ["PER", "O"]
    assert of.beyond.tolist() == [1, 1]
    words = Page(joined(*confusion_section([*TRUE, ["B-PER"]], [*FOUND, ["B-LOC"]]).blocks)).words()
    assert "The 2 most frequent of 3 types" in words
    assert "PER 1 1 1 33.3%" in " ".join(words.split())


def test_spans_are_marked_and_words_are_text():
    words = ["<b>Ada</b>", "Lovelace", "in", "London"]
    page = Page(marked(words, TRUE[0]))
    assert page.words() == "<b>Ada</b> Lovelace PER in London LOC"
    assert len(page.of("span")) == 2
    assert Page(marked(["a", "b"], ["N", "V"])).words() == "a N b V"
    assert Page(marked(["a", "b"], ["O", "O"])).words() == "a b"


def test_long_sentences_are_cut():
    words = [f"w{i}" for i in range(TOKENS + 5)]
    tags = ["O"] * (TOKENS - 1) + ["B-X"] + ["I-X"] * 5
    shown = Page(marked(words, tags)).words()
    assert shown.endswith(f"w{TOKENS - 1} X …")
