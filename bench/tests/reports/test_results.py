"""docs/results.md is what the summaries say."""

import json
import re
from pathlib import Path

import pytest

from enstruct.errors import DataError
from enstruct_bench.reports.papers import PAPERS, paper_page
from enstruct_bench.reports.results import page, sections
from enstruct_bench.reports.summaries import origin_of

ROOT = Path(__file__).parents[3]


def test_the_page_is_printed_from_the_summaries():
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page(ROOT / "results")


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_a_paper_has_a_page_of_a_verdict_and_its_tables(paper):
    text = paper_page(paper, ROOT / "results")
    assert (ROOT / "docs" / "papers" / f"{paper.name}.md").read_text(encoding="utf-8") == text
    tables = text[text.index("## Its tables") :]
    figures = re.findall(r"[+-]?\d+\.\d\d(?: ±\d\.\d\d| \[[^]]+\])?", " ".join(paper.verdict))
    assert [figure for figure in figures if figure not in tables] == []
    assert len(paper.verdict) == 5


def test_every_summary_is_on_a_page():
    text = page(ROOT / "results") + "".join(paper_page(paper, ROOT / "results") for paper in PAPERS)
    for path in (ROOT / "results" / "summaries").glob("*.json"):
        first = next(block for block in json.loads(path.read_text(encoding="utf-8"))["blocks"] if isinstance(block, str))
        assert first.partition("\n#### ")[0].strip() in text, path.name  # sets of which another section has all are left out


def test_what_git_keeps_is_small():
    kept = list((ROOT / "results" / "summaries").glob("*.json"))
    assert kept
    assert sum(path.stat().st_size for path in kept) < 2**20


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "compare-x.json").write_text('{"setting": {')
    with pytest.raises(DataError, match=r"compare-x\.json is damaged"):
        list(sections(tmp_path))


def test_the_runs_of_a_table_of_commands_count_whatever_their_version(tmp_path):
    runs = [{"method": "infnet", "seed": seed, "commit": "abc"} for seed in (0, 1)]
    setting = {"environment": {"enstruct": "0.9.0", "torch": "2"}}
    (tmp_path / "tags-twitter_pos-variants.json").write_text(json.dumps({"setting": setting, "runs": runs}))
    (table,) = [section for section in sections(tmp_path) if section.name == "reproduce-variants"]
    assert origin_of(table.files, table.version)["runs"] == 2
