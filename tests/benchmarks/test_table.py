"""The table of costs runs, counts FLOPs as written down, and reads what other benchmarks kept."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import table


def test_a_step_is_measured_and_its_flops_are_those_of_the_dense_formula():
    shape = {"features": 30, "labels": 10, "hidden": 8, "units": 4, "samples": 3, "cardinality": 2.0}
    row = table.step(shape, 16, 1e9)
    encoder = 30 * 8 + 8 * 8
    predictor, local = encoder + 8 * 10, encoder + 8 * 10
    scores = (3 + 1 + 1) * (10 * 4 + 10)  # samples and truth for the energy, once more for the predictor
    assert row["dense_gflop"] * 1e9 == pytest.approx(6 * 16 * (predictor + local + scores))
    assert row["seconds"] > 0
    assert row["share_of_matmul_rate"] == pytest.approx(row["dense_gflop"] / row["seconds"])


def test_what_other_benchmarks_kept():
    lines = table.kept()
    assert any("training step, bibtex" in line["what"] for line in lines)
    assert all("seconds" in line or "ratio" in line for line in lines)
