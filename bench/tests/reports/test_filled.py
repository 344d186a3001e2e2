"""Gaps that another section of a table fills: rows, cells, commands and headings, and nothing else of what is printed."""

import pytest

from enstruct_bench.comparison.quantity import Quantity
from enstruct_bench.reports.filled import printed_sections
from enstruct_bench.reports.markdown import Text, markdown_table
from enstruct_bench.reports.reproduced import TITLES
from enstruct_bench.reports.summaries import FOLDER, Section, printed, renew

ASKED = "Fewer runs than others (fair): `enstruct-bench run t --protocol fair --datasets a --methods {} --seeds 5`."


def row(name, published="–", fair="–"):
    """A quantity where there are figures."""
    cells = [Quantity(value) if isinstance(value, float) else value for value in (published, fair)]
    return [name, "–", *[cells[0]] * 2, *[cells[1]] * 3, "–", "not run", "–", 1]


def section(place, *parts):
    lines = [f"### t: A table{place}", ""]
    for dataset, rows, said in parts:
        lines += [f"#### {dataset}", "", *(markdown_table(TITLES, rows) if rows else []), *((said, "") if said else ())]
    return Text(lines)


@pytest.fixture
def summaries(tmp_path):
    """Two files of one table, the newer first, as on a page."""

    def of(*texts):
        names = [f"reproduce-t{version}" for version in ("@0.2.0", "")][: len(texts)]
        renew((Section(name, lambda text=text: text, ()) for name, text in zip(names, texts, strict=True)), tmp_path, print)
        return [tmp_path / FOLDER / f"{name}.json" for name in names]

    return of


def test_sections_without_gaps_are_printed_as_they_are(summaries):
    paths = summaries(
        Text([section(" (one)", ("a", [row("x", fair=1.0)], "")), section(" (another)", ("a", [row("y", fair=3.0)], "Said."))]),
        section("", ("a", [row("x", fair=2.0)], ""), ("b", [row("x", fair=2.5)], "")),
    )
    assert printed_sections(paths) == [printed(path) for path in paths]


def test_rows_cells_and_commands(summaries):
    gap = [row("x", fair=2.0), row("y", fair="not run"), row("z", 7.0, "not run"), row("w", fair="not run")]
    newer, older = printed_sections(
        summaries(
            section("", ("a", [row("y", fair=1.0), row("z", "not run", 4.0)], "")),
            section("", ("a", gap, ASKED.format("y,z,w"))),
        )
    )
    cells = {line.split(" | ")[0].lstrip("| "): line for line in older.splitlines() if line.startswith("| ")}
    assert "y" not in cells  # all of it is above
    assert cells["z"] == "| z | – | 7.00 | 7.00 | above | above | above | – | not run | – | 1 |"
    assert cells["w"] == "| w | – | – | – | not run | not run | not run | – | not run | – | 1 |"
    assert ASKED.format("w") in older
    assert "| z | – | below | below | 4.00 | 4.00 | 4.00 | – | not run | – | 1 |" in newer


def test_a_data_set_of_which_nothing_is_left_to_say(summaries):
    missing = "Not run (fair): `enstruct-bench run t --protocol fair --datasets {}` (its rows: `x`)."
    _, older = printed_sections(
        summaries(
            section("", ("a", [row("x", fair=1.0)], "")),
            section("", ("a", [], missing.format("a")), ("b", [], missing.format("b")), ("c", [row("x", fair=2.0)], "Said.")),
        )
    )
    assert "#### a" not in older
    assert missing.format("a") not in older
    assert f"#### b\n\n{missing.format('b')}\n\n#### c" in older
    assert "Said." in older


def test_of_a_whole_data_set_the_rows_that_none_has_are_asked_for(summaries):
    missing = "Not run (fair): `enstruct-bench run t --protocol fair --datasets a` (its rows: `x`)."
    newer = section("", ("a", [row("x", fair=1.0)], ""))
    for rows, declared in (([row("x", fair="not run"), row("y", fair="not run")], ()), ([], ("x", "y"))):
        _, older = printed_sections(summaries(newer, section("", ("a", rows, missing))), declared)
        assert missing.replace("a`", "a --methods y`") in older
    _, older = printed_sections(summaries(newer, section("", ("a", [row("x", fair="not run")], "Said."))))
    assert "#### a\n\nAll of its rows have figures in another section.\n\nSaid." in older


def test_sections_of_machines_in_one_file(summaries):
    (text,) = printed_sections(
        summaries(
            Text([section(" (one)", ("a", [row("x", 1.0, 2.0)], "")), section(" (other)", ("a", [row("x", 3.0, "not run")], ""))])
        )
    )
    assert "| x | – | 3.00 | 3.00 | above |" in text
