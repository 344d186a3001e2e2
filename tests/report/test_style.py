"""Contrast of both palettes, and what paper gets."""

import pytest

from enstruct.report.style import DARK, LIGHT, contrast, style_sheet


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_have_the_contrast_of_level_aa(colours):
    for ground in ("ground", "raised"):
        for name in ("ink", "quiet", "first", "second", "third"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    assert contrast(colours["faint"], colours["ground"]) >= 3


def test_contrast_is_that_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_paper_is_never_dark():
    sheet = style_sheet()
    assert sheet.count("{") == sheet.count("}")
    assert f"@media screen and (prefers-color-scheme: dark) {{ :root {{ --ground: {DARK['ground']}" in sheet
    assert "break-before: page" in sheet
