"""Tags as they are trained, and as they come back."""

import logging

import pytest

from enstruct.data.tag_schemes import convert
from enstruct.estimators.tag_format import TagFormat

WHOLE = ["B-PER", "I-PER", "E-PER", "O", "S-LOC"]


def trained(scheme, row):
    """What becomes of a row given in a scheme, in BIOES."""
    known = [convert(WHOLE, scheme)] * 5
    made = TagFormat.fit([*known, row], scheme)
    return [None if k < 0 else made.tags[k] for k in made.encode([row]).tags]


@pytest.mark.parametrize(
    ("scheme", "row", "expected"),
    [
        ("BIOES", ["B-PER", None, None, "O", "S-LOC"], ["B-PER", None, None, "O", "S-LOC"]),
        ("BIOES", [None, "I-PER", None, "O"], [None, "I-PER", None, "O"]),
        ("BIOES", [None, None, "E-PER", "O"], [None, None, "E-PER", "O"]),
        ("BIOES", ["S-LOC", None, "B-PER", "E-PER"], ["S-LOC", None, "B-PER", "E-PER"]),
        ("BILOU", ["B-PER", None, "L-PER", "U-LOC"], ["B-PER", None, "E-PER", "S-LOC"]),
        ("IOB2", ["B-PER", "I-PER", None, "O"], ["B-PER", "E-PER", None, "O"]),
        ("IOB2", [None, "I-PER", "I-PER", "O"], [None, "I-PER", "E-PER", "O"]),
        ("IOB2", [None, "I-PER", "O", "B-PER"], [None, "E-PER", "O", "S-PER"]),
        ("IOB2", [None, "B-PER", "I-PER", "O"], [None, "B-PER", "E-PER", "O"]),
        ("IOB2", ["O", None, "O", "B-PER"], ["O", None, "O", "S-PER"]),
        ("IOB1", ["I-PER", "I-PER", "O", None], ["B-PER", "E-PER", "O", None]),
        ("IOB1", [None, "I-PER", "O", "I-LOC"], [None, "S-PER", "O", "S-LOC"]),
    ],
)
def test_a_span_beside_a_hole_may_go_on_in_it(scheme, row, expected, caplog):
    with caplog.at_level(logging.WARNING, "enstruct"):
        assert trained(scheme, row) == expected
    assert not caplog.text


def test_whatever_goes_on_in_a_hole_is_trained_rightly():
    """Any part of a sentence made a hole: the rest is trained as it is without."""
    for scheme in ("BIOES", "BILOU"):
        given = convert(WHOLE, scheme)
        for first in range(len(WHOLE)):
            for last in range(first + 1, len(WHOLE) + 1):
                row = [*given[:first], *[None] * (last - first), *given[last:]]
                if any(row):
                    assert all(name in (None, true) for name, true in zip(trained(scheme, row), WHOLE, strict=True))


def test_the_truth_in_another_scheme_is_read_in_one_s_own():
    made = TagFormat.fit([convert(WHOLE, "IOB2")], "IOB2")
    assert made.as_given([WHOLE, ["S-LOC", None]]) == [["B-PER", "I-PER", "I-PER", "O", "B-LOC"], ["B-LOC"]]
    assert TagFormat.fit([["N", "V"]]).as_given([["N", None, "V"]]) == [["N", "V"]]


@pytest.mark.parametrize(
    ("tags", "scheme"), [((), None), (("N", "N"), None), (("O", "B-PER"), "IOB2"), (("B-PER", "O"), "BIOES")]
)
def test_tags_that_no_fit_gives_are_refused(tags, scheme):
    with pytest.raises(ValueError, match="the tags are not"):
        TagFormat(tags, scheme)
