"""Whole commands with one worker and two make the same cells, and their seconds are printed."""

import sys
from types import SimpleNamespace

from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.files import write_json
from enstruct_bench.cli.main import main
from enstruct_bench.costs import workers
from enstruct_bench.costs.workers import measured
from enstruct_bench.reports.pairs import workers_section


def in_this_process(command, check):
    """Which has imported everything: that the program can be run as a process is seen in the tests of its commands."""
    assert check
    assert command[:3] == [sys.executable, "-m", "enstruct_bench.cli.main"]
    assert main(command[3:]) == 0


def test_a_small_set(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "subprocess", SimpleNamespace(run=in_this_process))
    write_npz(tmp_path / "mine.npz", block_exclusive(90, seed=1))
    row = measured(str(tmp_path / "mine.npz"), ("--model.max_epochs", "2", "--model.hidden", "8"), fits=2)
    assert row["one"] > 0 < row["two"]
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    write_json(
        tmp_path / "benchmark-workers.json", {"rows": [{**row, "data": "mine", "one": 3.0, "two": 2.0}], "environment": env}
    )
    assert "| mine | seal-nce | 2 | 3.0 | 2.0 | 1.50 |" in workers_section(tmp_path / "benchmark-workers.json")
