"""docs/results.md is what the summaries say."""

import json
from pathlib import Path

import pytest

from enstruct.errors import DataError
from enstruct_bench.reports.results import page, sections

ROOT = Path(__file__).parents[3]


def test_the_page_is_printed_from_the_summaries():
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page(ROOT / "results")


def test_every_summary_is_on_the_page():
    text = page(ROOT / "results")
    for path in (ROOT / "results" / "summaries").glob("*.json"):
        first = next(block for block in json.loads(path.read_text(encoding="utf-8"))["blocks"] if isinstance(block, str))
        assert first.strip() in text, path.name


def test_what_git_keeps_is_small():
    kept = list((ROOT / "results" / "summaries").glob("*.json"))
    assert kept
    assert sum(path.stat().st_size for path in kept) < 2**20


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "compare-x.json").write_text('{"setting": {')
    with pytest.raises(DataError, match=r"compare-x\.json is damaged"):
        list(sections(tmp_path))
