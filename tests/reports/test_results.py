"""docs/results.md is what the results files say."""

from pathlib import Path

from enstruct.reports.results import page

ROOT = Path(__file__).parents[2]


def test_the_page_is_generated():
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page(ROOT / "results")
