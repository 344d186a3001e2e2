import pytest

from enstruct.rules.inequality import Inequality, at_least

NAMES = ("a", "b", "c")


@pytest.mark.parametrize(
    ("inequality", "words"),
    [
        (Inequality((1,), (0,), 0), "'a' implies 'b'"),
        (Inequality((2,), (0, 1), -1), "'a' and 'b' together imply 'c'"),
        (Inequality((), (0, 1), -1), "'a', 'b' exclude one another"),
        (Inequality((), (0, 1, 2), -2), "'a', 'b', 'c' are not all there together"),
        (Inequality((), (0, 1, 2), -1), "at most 1 of 'a', 'b', 'c'"),
        (Inequality((0, 1), (), 1), "at least 1 of 'a', 'b'"),
        (Inequality((0,), (), 1), "'a'"),
        (Inequality((), (0,), 0), "not 'a'"),
        (Inequality((0, 1), (2,), 1), "at least 2 of 'a', 'b', not 'c'"),
    ],
)
def test_words(inequality, words):
    assert inequality.words(NAMES) == words


def test_literals_count():
    assert at_least(2, (0, 1), (2,)) == Inequality((0, 1), (2,), 1)
    assert Inequality((0,), (1,), -1).always
    assert Inequality((0,), (1,), 2).never
    assert not Inequality((0,), (1,), 0).always
