"""Summaries: what is printed comes back, runs are counted by where they come from, more runs are not replaced by fewer."""

import json

import pytest
from bench.tests.small_table import SMALL

from enstruct.errors import DataError
from enstruct_bench.comparison.quantity import Quantity
from enstruct_bench.reports.markdown import Table, Text, markdown_table
from enstruct_bench.reports.reproduced import reproduced_table
from enstruct_bench.reports.summaries import FOLDER, Section, blocks, origin_of, printed, read_summary, renew

QUANTITIES = [
    [Quantity(47.801234, 0.15), Quantity(-1.234567, low=-2.0, high=0.001, note=" ¹"), Quantity(1771.4, form=",.0f")],
    ["–", Quantity(4.492e-05, form=".4g"), 5],
]
TEXT = Text(
    [
        *(
            "## A title",
            "",
            "Some words.",
            "",
            *markdown_table(["a", "b"], [["1", "x y"], [2, "–"]]),
            "- a line",
            "- another",
            "",
        ),
        *markdown_table(["c", "d", "e"], QUANTITIES),
    ]
)
PRINTED = """## A title

Some words.

| a | b |
|---|---|
| 1 | x y |
| 2 | – |

- a line
- another

| c | d | e |
|---|---|---|
| 47.80 ±0.15 | -1.23 [-2.00, +0.00] ¹ | 1,771 |
| – | 4.492e-05 | 5 |
"""


def section(text, files=()):
    return Section("s", lambda: text, tuple(files))


def test_texts_and_tables_come_back_as_they_were(tmp_path):
    assert [block if isinstance(block, str) else block["rows"] for block in blocks(TEXT)] == [
        "## A title\n\nSome words.\n",
        [["1", "x y"], [2, "–"]],
        "\n- a line\n- another\n",
        [
            [
                {"mean": 47.801234, "spread": 0.15},
                {"mean": -1.234567, "low": -2.0, "high": 0.001, "note": " ¹"},
                {"mean": 1771.4, "form": ",.0f"},
            ],
            ["–", {"mean": 4.492e-05, "form": ".4g"}, 5],
        ],
        "",
    ]
    renew([section(TEXT)], tmp_path, print)
    assert printed(tmp_path / FOLDER / "s.json") == TEXT == PRINTED


def test_sections_of_a_section_keep_their_tables():
    inner = Text(["x", *markdown_table(["a"], [[1]])])
    assert Text([inner, inner, "y"]) == "\n".join([inner, inner, "y"])
    assert [type(block) is Table for block in Text([inner, inner, "y"]).blocks] == [False, True, False, True, False]


def test_a_section_of_real_runs_comes_back(copied_runs, tmp_path):
    text = reproduced_table(SMALL, copied_runs)
    assert text.count("| cross-entropy |") == 1
    renew([section(text, copied_runs.glob("*.jsonl"))], tmp_path, print)
    assert printed(tmp_path / FOLDER / "s.json") == text
    row = next(row for block in blocks(text) if isinstance(block, dict) for row in block["rows"] if row[0] == "cross-entropy")
    assert {"mean", "spread"} in [set(cell) for cell in row if isinstance(cell, dict)]  # numbers, not what is printed of them
    origin = read_summary(tmp_path / FOLDER / "s.json")["from"]
    assert origin["runs"] == 6
    assert origin["seeds"] == [0, 1]
    assert sum(origin["versions"].values()) == sum(origin["machines"].values()) == sum(origin["commits"].values()) == 6


def write_runs(path, n, **fields):
    where = {"enstruct": "9", "torch": "8", "python": "3", "machine": "m"}
    runs = [{"method": "a", "seed": seed, **fields} for seed in range(n)]
    path.write_text(json.dumps({"setting": {"environment": where}, "runs": runs}))
    return path


def test_where_runs_come_from(tmp_path):
    known, unknown = write_runs(tmp_path / "a.json", 3, commit="abc"), write_runs(tmp_path / "b.json", 2)
    assert origin_of([known, unknown]) == {
        "runs": 5,
        "seeds": [0, 1, 2],
        "commits": {"abc": 3, "not known": 2},
        "versions": {"enstruct 9 torch 8 python 3": 5},
        "machines": {"m": 5},
    }


def test_a_summary_of_more_runs_stays(tmp_path):
    said = []
    path = tmp_path / FOLDER / "s.json"
    renew([section("five", [write_runs(tmp_path / "r.json", 5)])], tmp_path, said.append)
    renew([section("two", [write_runs(tmp_path / "r.json", 2)])], tmp_path, said.append)
    assert printed(path) == "five"
    assert said == ["s: the summary of 5 runs stays, as only 2 are at hand"]
    renew([section("none")], tmp_path, said.append)
    assert printed(path) == "five"
    assert len(said) == 1
    renew([section("six", [write_runs(tmp_path / "r.json", 6)])], tmp_path, said.append)
    assert printed(path) == "six"


def test_nothing_to_say_is_no_summary(tmp_path):
    renew([section("")], tmp_path, print)
    assert not (tmp_path / FOLDER).exists()


UNKNOWN_FORM = (
    '{"section": "s", "blocks": [{"columns": ["a"], "rows": [[{"mean": 1.0, "form": "x"}]]}], '
    '"from": {"runs": 0, "seeds": [], "commits": {}, "versions": {}, "machines": {}}}'
)


@pytest.mark.parametrize("content", ["{", "[]", '{"section": "s"}', '{"section": "s", "blocks": [3], "from": {}}', UNKNOWN_FORM])
def test_damage_is_named(content, tmp_path):
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(DataError, match=r"s\.json is not a summary"):
        read_summary(tmp_path / "s.json")


def test_what_nobody_reads_in_a_quantity_is_passed_over(tmp_path):
    summary = json.loads(UNKNOWN_FORM.replace('"form": "x"', '"": 3'))
    (tmp_path / "s.json").write_text(json.dumps(summary))
    assert "1.00" in printed(tmp_path / "s.json")


def test_a_section_that_its_files_make_impossible_is_named(tmp_path):
    def text():
        raise KeyError("model")

    (tmp_path / "compare-x.json").write_text('{"runs": [{"seed": 1}]}')
    with pytest.raises(DataError, match=r"compare-x\.json: damaged, or of another kind.*KeyError"):
        renew([Section("x", text, (tmp_path / "compare-x.json",))], tmp_path, print)
