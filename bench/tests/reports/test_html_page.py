"""The results page as one file: what the summaries hold, in their order, and nothing from outside."""

import json
from pathlib import Path

import pytest
from bench.tests.either import main
from tests.html_checks import check_page

from enstruct.errors import DataError
from enstruct_bench.reports.html_page import results_page
from enstruct_bench.reports.results import on_page

ROOT = Path(__file__).parents[3]
ORIGIN = {"runs": 3, "seeds": [0, 1], "commits": {}, "versions": {"enstruct 0.2.0": 3}, "machines": {}}
BAD = "<script>alert(1)</script>"


def summary(folder, name, *blocks):
    (folder / "summaries").mkdir(exist_ok=True)
    (folder / "summaries" / f"{name}.json").write_text(json.dumps({"section": name, "blocks": list(blocks), "from": ORIGIN}))


def test_all_that_git_keeps_is_one_page():
    page = check_page(results_page(ROOT / "results"))
    assert len(page.of("section")) == len(on_page(ROOT / "results")) + 1
    words = page.words()
    for said in ("The automatic classifier", "yeast: label sets as a distribution", "68.80", "+3.36 [+2.10, +4.58]"):
        assert said in words, said


def test_text_tables_and_intervals(tmp_path):
    table = {
        "columns": ["method", "F1", "Δ", BAD],
        "rows": [
            ["`a`", {"mean": 47.8, "spread": 0.15}, {"mean": -1.2, "low": -2.0, "high": -0.4}, 1500],
            [BAD, "–", {"mean": 3.0, "low": 1.0, "high": 5.0, "note": " ¹"}, 2],
        ],
    }
    text = (
        f"## yeast (`compare-y.json`)\n\nSome words of {BAD},\nand **more** of [a page](papers/spen.md).\n\n"
        "- one\n- two\n### Less\n"
    )
    summary(tmp_path, "compare-y", text, table, "\n¹ A note.\n")
    page = check_page(results_page(tmp_path))
    words = page.words()
    assert "Some words of <script>alert(1)</script>, and more of a page." in words.replace(" ,", ",").replace(" .", ".")
    for said in ("yeast (compare-y.json)", "47.80 ±0.15", "−1.20 [−2.00, −0.40]", "+3.00 [+1.00, +5.00] ¹", "1,500", "¹ A note."):
        assert said in words, said
    assert words.count(BAD) == 3
    assert [attributes["class"] for attributes in page.of("circle")] == ["of-second", "of-first"]
    assert len(page.of("h3")) == 1
    assert len(page.of("code")) > 1
    assert "From 3 runs of 2 seeds" in words


def test_a_damaged_summary_is_named(tmp_path):
    summary(tmp_path, "compare-y", "text")
    (tmp_path / "summaries" / "compare-y.json").write_text("{")
    with pytest.raises(DataError, match=r"compare-y\.json"):
        results_page(tmp_path)


def test_the_command_writes_it_beside_the_pages(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "docs").mkdir()
    summary(tmp_path / "results", "compare-y", "## yeast\n")
    assert main(["report", "--html", "all.txt"]) == 2
    assert "name it FILE.html" in capsys.readouterr().err
    assert main(["report", "--html", "all.html"]) == 0
    assert "one file: all.html" in capsys.readouterr().out
    assert "yeast" in check_page((tmp_path / "all.html").read_text(encoding="utf-8")).words()
    assert main(["report", "--html", "all.html"]) == 2
    assert "add --overwrite" in capsys.readouterr().err
