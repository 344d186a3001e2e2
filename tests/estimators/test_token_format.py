"""Words and tags as taggers take them."""

import pytest

from enstruct.errors import DataError
from enstruct.estimators.token_format import TokenFormat, check_pairs


@pytest.mark.parametrize(
    ("sentences", "tags", "message"),
    [
        ([["a", ""]], [["X", "Y"]], "Token 1 of sentence 0 is an empty word: leave it out"),
        ([["a"], [("", "N")]], [["X"], ["Y"]], "Token 0 of sentence 1 is an empty word"),
        ([["a", "b"]], [["X", ""]], "Sentence 0 has an empty tag"),
        ([["a", ()]], [["X", "Y"]], r"Token 1 of sentence 0 is \(\); it must be a word"),
        ([["a", ("x" * 10**6, 3)]], [["X", "Y"]], r"Token 1 of sentence 0 is \('x+…x+', 3\); it must be a word"),
        ([["a"]], [["X", "Y"]], "1 tokens and 2 tags"),
    ],
)
def test_what_is_no_tagged_sentence(sentences, tags, message):
    with pytest.raises(DataError, match=message) as said:
        check_pairs(sentences, tags)
    assert len(str(said.value)) <= 300


def test_empty_words_are_refused_in_training_and_later_and_empty_columns_are_not():
    words = TokenFormat().fit([[("a", ""), ("b", "N")]])
    assert len(words.encode([[("b", "")]])) == 1
    for use in (TokenFormat().fit, words.encode):
        with pytest.raises(DataError, match="empty word"):
            use([[("a", "N"), ("", "N")]])
