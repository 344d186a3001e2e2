"""One process and two train on the same rows, and their rows a second are printed."""

from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.files import write_json
from enstruct_bench.costs.ranks import measured
from enstruct_bench.reports.pairs import ranks_section


def test_a_small_set(tmp_path):
    write_npz(tmp_path / "mine.npz", block_exclusive(90, seed=1))
    row = measured(str(tmp_path / "mine.npz"), "cross-entropy", 256)
    assert row["one"] > 0 < row["two"]
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    told = {**row, "data": "mine", "one": 100.0, "two": 150.0}
    write_json(tmp_path / "benchmark-ranks.json", {"rows": [told], "environment": env})
    assert "| mine | cross-entropy | 256 | 100 | 150 | 1.50 |" in ranks_section(tmp_path / "benchmark-ranks.json")
