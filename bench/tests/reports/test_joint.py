"""Sections of joints say what their splits are."""

from pathlib import Path

import pytest

from enstruct_bench.reports.joint import _splits

PAGE = Path(__file__).parents[3] / "docs" / "results.md"


@pytest.mark.parametrize(("data", "published"), [("spo_FUN", True), ("spo_GO", True), ("yeast", False), ("mine.csv", False)])
def test_splits_that_were_published_are_named(data, published):
    assert _splits(data).startswith("splits")
    assert ("each the published one" in _splits(data)) == published


def test_the_page_says_so_of_a_set_with_published_parts():
    section = PAGE.read_text(encoding="utf-8").split("(`joint-spo_FUN.json`)")[1].split("\n## ")[0]
    assert _splits("spo_FUN") in section
