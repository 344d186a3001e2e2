"""Exported models are held against their models on every test row, and printed."""

import pytest

from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.files import write_json
from enstruct_bench.costs.exports import measured
from enstruct_bench.reports.exports import exports_section


@pytest.mark.usefixtures("quick_joints")
def test_a_small_set(tmp_path):
    write_npz(tmp_path / "mine.npz", block_exclusive(150, seed=1))
    row = measured(str(tmp_path / "mine.npz"), "binary-relevance", 1.0)
    assert row["equal"] == row["rows"] == 29
    assert row["largest_difference"] < 1e-5
    assert row["base"] == "binary-relevance"
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    write_json(tmp_path / "exports.json", {"rows": [{**row, "data": "mine"}], "environment": env})
    assert "| mine | binary-relevance |" in exports_section(tmp_path / "exports.json")
