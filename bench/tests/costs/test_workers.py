"""Whole commands with one worker and two make the same cells, and their seconds are printed."""

from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.files import write_json
from enstruct_bench.costs.workers import measured
from enstruct_bench.reports.pairs import workers_section


def test_a_small_set(tmp_path):
    write_npz(tmp_path / "mine.npz", block_exclusive(90, seed=1))
    row = measured(str(tmp_path / "mine.npz"), ("--model.max_epochs", "2", "--model.hidden", "8"), fits=2)
    assert row["one"] > 0 < row["two"]
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    write_json(
        tmp_path / "benchmark-workers.json", {"rows": [{**row, "data": "mine", "one": 3.0, "two": 2.0}], "environment": env}
    )
    assert "| mine | seal-nce | 2 | 3.0 | 2.0 | 1.50 |" in workers_section(tmp_path / "benchmark-workers.json")
