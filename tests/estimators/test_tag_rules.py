"""Rules over tags, counted on sentences."""

import pytest

from enstruct.errors import ConfigError, DataError
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.tag_rules import check_sentences, counts
from enstruct.rules import Soft
from enstruct.rules.tags import AtMostOnce, Ends, Gazetteer, NeverFollows, OnlyFollows, Starts

X = [["a", ("b", "NN"), "c"], ["b", "b"], [], ["c"], ["a", "b"]]
Y = [["B-P", "I-P", "O"], ["B-P", "B-P"], [], ["O"], [None, "B-Q"]]
FORMAT = TagFormat.fit(Y, "IOB2", None)


@pytest.mark.parametrize(
    ("rule", "broken", "about"),
    [
        (AtMostOnce("P"), 1, 2),
        (AtMostOnce("Q"), 0, 1),
        (NeverFollows("B-P", "B-P"), 1, 2),
        (NeverFollows("I-P", "O"), 1, 2),
        (OnlyFollows("B-P", ["O"]), 2, 2),  # both begin with it
        (OnlyFollows("I-P", ["B-P"]), 0, 1),
        (Starts(["O"]), 2, 4),  # open tags break nothing
        (Ends(["O"]), 2, 4),
        (Gazetteer("P", ["a b"]), 1, 2),
        (Gazetteer("P", ["a b c"]), 1, 1),
        (Gazetteer("P", ["b"], must=False), 2, 3),
    ],
)
def test_counts(rule, broken, about):
    (found,) = counts(rule, FORMAT, X, Y)
    assert (found.words, found.broken, found.about) == (str(rule), broken, about)


@pytest.mark.parametrize("phrases", ["London", [["New", "York"]]])
def test_phrases_are_a_list_of_texts(phrases):
    with pytest.raises(ConfigError, match="phrases are a list of texts"):
        counts([Gazetteer("P", phrases)], FORMAT, X, Y)


def test_rules_that_sentences_break_often_are_refused():
    check_sentences([AtMostOnce("P")], FORMAT, X, Y)
    with pytest.raises(DataError, match="of the 40 training sentences"):
        check_sentences([AtMostOnce("P")], FORMAT, X * 20, Y * 20)
    check_sentences([Soft(AtMostOnce("P"), 1.0)], FORMAT, X * 20, Y * 20)
    assert counts(Soft(AtMostOnce("P"), 1.0), FORMAT, X, Y) == [("1 nats: at most one 'P' a sentence", 1, 2)]
    (never,) = counts(Soft(Starts(["I-P"]), 1.0), FORMAT, X, Y)  # which none can keep: no rule that binds could be so
    assert (never.broken, never.about) == (3, 4)
    assert counts(None, FORMAT, X, Y) == []


def test_lists_of_phrases_that_overlap_are_judged_together():
    """The longest of all lists counts, and what must not be gives way: neither breaks the other."""
    words = [["Paris", "Hilton", "sang"], ["in", "Paris"]] * 10
    y = [["B-PER", "I-PER", "O"], ["O", "B-LOC"]] * 10
    tags = TagFormat.fit(y, "IOB2", None)
    for other in (Gazetteer("LOC", ["Paris"]), Gazetteer("PER", ["Paris"], must=False)):
        rules = [other, Gazetteer("PER", ["Paris Hilton"])]
        check_sentences(rules, tags, words, y)
        assert [count[1:] for count in counts(rules, tags, words, y)] == [(0, 10), (0, 10)]
    with pytest.raises(DataError, match="10 of the 10"):
        check_sentences([Gazetteer("LOC", ["Hilton"])], tags, words, y)
