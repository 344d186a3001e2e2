"""What is put into a page is text unless it is markup."""

import pytest

from enstruct.report.markup import Markup, cut, element, escaped, joined


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a & \"b\" 'c'", "a &amp; &quot;b&quot; &#x27;c&#x27;"),
        (Markup("<b>x</b>"), "<b>x</b>"),
        (3, "3"),
        ("a\x00b\x1b\ud800c", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}c"),
    ],
)
def test_text_is_escaped_and_markup_is_not(value, written):
    assert escaped(value) == written
    escaped(value).encode("utf-8")


def test_elements_escape_children_and_attributes():
    made = element("p", "a<b", element("i", "&"), class_='x"y', aria_label=None, open=True)
    assert made == '<p class="x&quot;y" open>a&lt;b<i>&amp;</i></p>'
    assert isinstance(made, Markup)
    assert element("img", alt="a") == '<img alt="a">'
    assert joined("<", Markup("<br>"), between=" & ") == "&lt; &amp; <br>"


def test_long_text_is_cut_in_one_line():
    assert cut("a\n b\tc", 9) == "a b c"
    assert cut("abcdef", 4) == "abc…"
