"""The tables' declarations: methods, commands, changes."""

from dataclasses import fields, replace

import pytest

from enstruct.cli import commands as core
from enstruct_bench.cli import commands as bench
from enstruct_bench.comparison.command import parameters
from enstruct_bench.comparison.compare import Compare
from enstruct_bench.comparison.few_labels import Light
from enstruct_bench.comparison.label_comparison import LABEL_COMPARISON
from enstruct_bench.figures.commands import Figure
from enstruct_bench.reproduce import ablation
from enstruct_bench.reproduce.library import Describe, Synthetic, Train
from enstruct_bench.reproduce.runner import plan, run
from enstruct_bench.reproduce.store import Store
from enstruct_bench.reproduce.table import CommandTable, LabelTable
from enstruct_bench.reproduce.tables import TABLES
from enstruct_bench.tuning.tune import Tune

LABEL_TABLES = [table for table in TABLES.values() if isinstance(table, LabelTable)]


def test_every_method_of_a_table_exists():
    for table in LABEL_TABLES:
        for row in table.methods():
            LABEL_COMPARISON.check(table.method(row))
        assert set(table.changed) | set(table.changed.values()) <= set(table.rows), table.name
        for figures in table.rows.values():
            assert set(figures) <= set(table.datasets), table.name


def test_commands_of_tables_are_understood():
    for table in TABLES.values():
        if isinstance(table, CommandTable):
            for command in (*table.parts.values(), *table.made.values()):
                if isinstance(command, Train | Describe | Synthetic):
                    words = command.spelled().split()[1:]
                    core.build_parser(words).parse_args(words)


OURS = {
    part: command
    for table in TABLES.values()
    if isinstance(table, CommandTable)
    for part, command in table.parts.items()
    if isinstance(command, Compare | Light | Tune | Figure)
}


@pytest.mark.parametrize("part", OURS)
def test_what_a_table_runs_is_what_its_printed_command_runs(part, monkeypatch):
    """Each typed as the pages print it: the same options reach the work, but for defaults that the other way states."""
    command, reached = OURS[part], []
    monkeypatch.setattr(type(command), "run", lambda self: reached.append(self))
    words = command.spelled().split()[1:]
    assert bench.prepared(words)() == 0
    (typed,) = reached
    for each in fields(command):
        own, other = getattr(command, each.name), getattr(typed, each.name)
        if isinstance(own, dict):
            task = typed.task if isinstance(typed, Compare) else "tags" if isinstance(typed, Light) else "labels"
            own, other = parameters(task, own), parameters(task, other)
        if each.name != "task":
            assert (other if own is None else type(own)(other)) == own, each.name


@pytest.mark.parametrize("row", ablation.ROWS)
def test_every_change_of_the_ablation_changes_what_is_trained(row, tmp_path):
    table = replace(TABLES["ablation"], datasets=("synthetic-90",), settings={"": {"max_epochs": 1, "hidden": 8}})
    original = table.changed[row]
    keys = list(plan(table, ["synthetic-90"], ["fair"], [original, row], 1))
    store = Store(tmp_path, "ablation")
    assert run(table, store, keys, None, lambda title: []) == 2
    before, after = (store.runs[key].line for key in keys)
    assert before["calibration_error"] != after["calibration_error"]  # the finest score that is kept
