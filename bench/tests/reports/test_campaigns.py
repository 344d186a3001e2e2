"""Sections on campaigns, from tables as their commands keep them."""

from enstruct_bench.campaigns.command import counted
from enstruct_bench.reports.campaigns import campaign_section


def row(group, verdict, peak=0, size=0):
    return {
        "number": 1,
        "group": group,
        "change": "c",
        "verdict": verdict,
        "why": "so",
        "seconds": 0.5,
        "peak": peak,
        "size": size,
    }


def test_tables_are_printed_with_what_memory_they_took(tmp_path):
    out = tmp_path / "campaign-sizes.json"
    rows = [row("csv", "accepted", 6 * 10**7, 2 * 10**7), row("csv", "accepted", 10**9, 10**6), row("bomb", "refused", 1, 10**8)]
    assert counted("fuzz sizes", "three", 3, lambda: rows, out) == 0
    text = campaign_section(out)
    assert "three: 3 tried, 0 defects, 954 MiB and 0.5 s at most for one." in text
    assert "| three | csv | 2 | 0 | 2 | 0 | 3.0 |" in text  # of small files the ratio says nothing
    assert "| three | bomb | 1 | 1 | 0 | 0 | – |" in text


def test_a_campaign_without_sizes_has_no_such_column(tmp_path):
    out = tmp_path / "campaign-kill.json"
    assert counted("kill", "one", 1, lambda: [row("saving", "defect")], out) == 1
    text = campaign_section(out)
    assert "times the size" not in text
    assert "| one | saving | 1 | 0 | 0 | 1 |" in text
