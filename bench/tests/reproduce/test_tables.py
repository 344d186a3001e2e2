"""The tables' declarations: methods, commands, changes."""

import shlex
from dataclasses import replace

import pytest

from enstruct.cli import commands as core
from enstruct_bench.cli import commands as bench
from enstruct_bench.comparison.label_comparison import LABEL_COMPARISON
from enstruct_bench.reproduce import ablation
from enstruct_bench.reproduce.runner import plan, run
from enstruct_bench.reproduce.store import Store
from enstruct_bench.reproduce.table import CommandTable, LabelTable, is_ours
from enstruct_bench.reproduce.tables import TABLES

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
                if command[0] == "train" or (is_ours(command) and command[0] != "benchmark"):  # others need a model to be there
                    made = bench.build_parser(command) if is_ours(command) else core.build_parser(command)
                    made.parse_args(shlex.split(shlex.join(command)))


@pytest.mark.parametrize("row", ablation.ROWS)
def test_every_change_of_the_ablation_changes_what_is_trained(row, tmp_path):
    table = replace(TABLES["ablation"], datasets=("synthetic-90",), settings={"": {"max_epochs": 1, "hidden": 8}})
    original = table.changed[row]
    keys = list(plan(table, ["synthetic-90"], ["fair"], [original, row], 1))
    store = Store(tmp_path, "ablation")
    assert run(table, store, keys, None, lambda title: []) == 2
    before, after = (store.runs[key].line for key in keys)
    assert before["calibration_error"] != after["calibration_error"]  # the finest score that is kept
