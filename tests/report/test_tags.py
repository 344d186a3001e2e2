"""What a tagger takes for what, and sentences with their spans."""

import numpy as np
from tests.html_checks import Page

from enstruct.report.confusion import confusion
from enstruct.report.marked_sentences import TOKENS, marked

TRUE = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "O"]]
FOUND = [["B-PER", "O", "O", "I-PER"], ["B-LOC", "O"]]


def test_tokens_are_counted_by_their_types():
    names, n = confusion(TRUE, FOUND)
    assert names[-1] == "O"
    place = {name: i for i, name in enumerate(names)}
    expected = np.zeros((3, 3), dtype=int)
    for a, b in (("PER", "PER"), ("PER", "O"), ("O", "O"), ("LOC", "PER"), ("O", "LOC"), ("O", "O")):
        expected[place[a], place[b]] += 1
    assert np.array_equal(n, expected)


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
