"""A page of its parts is what pages must be."""

from tests.html_checks import check_page

from enstruct.report.blocks import beside, facts, figure, paragraph, ranged, signed, table
from enstruct.report.markup import element
from enstruct.report.page import MANY, Section, document
from enstruct.report.whiskers import Whisker, whiskers

BAD = '<img src=x onerror=alert(1)>"&'


def test_whatever_the_words_the_page_is_well_formed():
    drawing = whiskers("w", BAD, [Whisker(BAD, 50.0, 40.0, float("nan")), Whisker("b", 10.0, float("nan"), float("nan"), True)])
    blocks = [
        paragraph(BAD, element("strong", BAD), quiet=True),
        facts({BAD: BAD, "none": None}),
        beside(table(BAD, [BAD, "n"], [[BAD, ranged(1, 2, 3)]], chosen=[0]), figure(drawing, BAD)),
    ]
    page = check_page(
        document(BAD, BAD, BAD, [Section("one", BAD, blocks, leaf=True), Section("two", "b")], warning=BAD, foot=[BAD])
    )
    assert page.words().count(BAD) >= 12
    assert page.of("img") == []
    assert page.of("h1") == [{}]
    assert "none" not in page.words()


def test_many_sections_are_listed_in_columns():
    page = check_page(document("t", "k", "l", [Section(f"s{i}", str(i)) for i in range(MANY + 1)]))
    assert page.of("ol") == [{"class": "many"}]


def test_signs_are_true_ones():
    assert (signed(-1.5), signed(0.25)) == ("−1.50", "+0.25")
