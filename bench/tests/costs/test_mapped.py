"""A fit on rows in a file has its seconds and memory printed."""

from enstruct.files import write_json
from enstruct_bench.costs.mapped import measured
from enstruct_bench.reports.mapped import mapped_section


def test_few_rows(tmp_path):
    row = measured(300)
    assert row["seconds"] > 0 < row["mib"]
    assert 0.1 < row["file_mib"] < 1
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    told = {"rows": 300, "file_mib": 0.7, "seconds": 3.2, "mib": 400.0}
    write_json(tmp_path / "benchmark-mapped.json", {"rows": [told], "environment": env})
    assert "| 300 | 1 | 3 | 400 |" in mapped_section(tmp_path / "benchmark-mapped.json")
