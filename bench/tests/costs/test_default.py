"""The default is fitted in a process of its own, once, and has its line on the page."""

import json
import sys
from types import SimpleNamespace

import pytest

from enstruct_bench.costs import default
from enstruct_bench.reports.default_cost import default_cost_section


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_from_the_command_to_the_page(tmp_path, monkeypatch, capsys):
    commands = []

    def in_this_process(command, **_):
        commands.append(command)
        return SimpleNamespace(stdout=json.dumps(default.fitted(command[-2])))

    monkeypatch.setattr(default, "subprocess", SimpleNamespace(run=in_this_process, PIPE=None))
    monkeypatch.setattr(sys, "argv", ["default", "wine", "--out", str(tmp_path / "benchmark-default.json")])
    for _ in range(2):
        default.main()
    assert len(commands) == 1
    row = json.loads((tmp_path / "benchmark-default.json").read_text())["rows"][0]
    assert (row["rows"], row["features"], row["labels"]) == (142, 6, 10)
    assert row["f1"] > 60
    assert f"wine: {row['seconds']:.1f} s" in capsys.readouterr().out
    assert f"| wine | 142 | 6 | 10 | {row['seconds']:.1f} |" in default_cost_section(tmp_path / "benchmark-default.json")
