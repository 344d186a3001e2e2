"""docs/results.md is what the results files say."""

from pathlib import Path

from enstruct.comparison.run import environment
from enstruct.reports.results import page
from enstruct.reproduce import store

ROOT = Path(__file__).parents[2]


def test_the_page_is_generated(monkeypatch):
    """Whichever versions print it."""
    monkeypatch.setattr(store, "environment", lambda: environment() | {"torch": "9.9", "numpy": "9.9"})
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page(ROOT / "results")
