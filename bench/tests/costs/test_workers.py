"""Whole commands with one worker and two are timed, make the same cells, and their seconds are printed."""

import sys
from itertools import count
from types import SimpleNamespace

import pytest

from enstruct.files import write_json
from enstruct_bench.cli.commands import build_parser
from enstruct_bench.costs import workers
from enstruct_bench.costs.workers import measured
from enstruct_bench.reports.pairs import workers_section


def stands_for_the_command(scores):
    """Its cells: that two workers make what one makes is seen in the tests of jobs."""
    scores = iter(scores)

    def run(command, check):
        assert check
        assert command[:3] == [sys.executable, "-m", "enstruct_bench.cli.main"]
        options = build_parser(command[3:]).parse_args(command[3:]).compare
        assert (options.data, options.seeds, options.model.hidden) == ("yeast", 2, 8)
        write_json(options.json, {"runs": [{"seed": 0, "score": next(scores)}]})

    return SimpleNamespace(run=run)


def test_the_seconds_of_both(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "time", SimpleNamespace(perf_counter=count(0, 2).__next__))
    monkeypatch.setattr(workers, "subprocess", stands_for_the_command([0.5, 0.5]))
    row = measured("yeast", ("--model.hidden", "8"), fits=2)
    assert (row["one"], row["two"]) == (2, 2)
    monkeypatch.setattr(workers, "subprocess", stands_for_the_command([0.5, 0.4]))
    with pytest.raises(SystemExit, match="other cells"):
        measured("yeast", ("--model.hidden", "8"), fits=2)
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    write_json(
        tmp_path / "benchmark-workers.json", {"rows": [{**row, "data": "mine", "one": 3.0, "two": 2.0}], "environment": env}
    )
    assert "| mine | seal-nce | 2 | 3.0 | 2.0 | 1.50 |" in workers_section(tmp_path / "benchmark-workers.json")
