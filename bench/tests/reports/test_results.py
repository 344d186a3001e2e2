"""docs/results.md is what the results files say."""

from pathlib import Path

import pytest

from enstruct.environment import environment
from enstruct.errors import DataError
from enstruct_bench.reports.results import page
from enstruct_bench.reproduce import store

ROOT = Path(__file__).parents[3]


def test_the_page_is_generated(monkeypatch):
    """Whichever versions print it."""
    monkeypatch.setattr(store, "environment", lambda: environment() | {"torch": "9.9", "numpy": "9.9"})
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page(ROOT / "results")


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "compare-x.json").write_text('{"setting": {')
    with pytest.raises(DataError, match=r"compare-x\.json is damaged"):
        page(tmp_path)
