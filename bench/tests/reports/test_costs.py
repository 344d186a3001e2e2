"""The section of costs says what the files say, each version and machine by itself."""

import json

from enstruct_bench.reports.costs import costs_section

ENV = {
    "enstruct": "1",
    "torch": "2",
    "scikit-learn": "1",
    "numpy": "2",
    "machine": "m",
    "threads": 1,
    "cores": 2,
    "processor": "p",
}


def test_growth_is_shown_with_its_ratio_memory_and_share(tmp_path):
    shape = {"changed": "labels", "labels": 1000, "rows": 32, "samples": 20}
    ours = {**shape, "way": "ours", "seconds": 0.01, "peak_mib": 12.0, "gflop": 0.2}
    theirs = {**shape, "way": "as published", "seconds": 0.05, "peak_mib": 80.0, "gflop": 2.0}
    content = {"environment": ENV, "matmul_gflops": 80.0, "lines": [ours, theirs]}
    (tmp_path / "benchmark-growth.json").write_text(json.dumps(content))
    lines = costs_section(tmp_path).splitlines()
    shape = "1,000 labels, 32 rows, 20 samples"
    assert "| product of two matrices of 1,024 x 1,024 | 26.8 |  | 2.15 |  | 100% |" in lines  # of 80 GFLOP a second
    assert f"| step of seal-nce, growing labels: {shape}, ours | 10 | 5.00 | 0.20 | 12 | 25% |" in lines
    assert f"| step of seal-nce, growing labels: {shape}, as published | 50 |  | 2.00 | 80 | 50% |" in lines


def test_two_machines_have_two_tables(tmp_path):
    row = {"rule": "expected-F1", "rows": 5, "shape": "x", "ours": 0.5, "formula": 1.0}
    (tmp_path / "benchmark-decoding.json").write_text(json.dumps({"environment": ENV, "rows": [row]}))
    content = {
        "environment": ENV | {"processor": "another"},
        "parameters": [{"data": "x", "predictor": 1000, "energy": 2000, "published": [1000, 2001]}],
        "rows": 500,
        "test_rows": 60,
        "seconds": [{"method": "spen", "epoch": 1.5, "predict": 0.25}],
    }
    (tmp_path / "benchmark-methods.json").write_text(json.dumps(content))
    text = costs_section(tmp_path)
    assert text.count("| what |") == 2
    assert "| an epoch of spen, 500 rows of bibtex's shape (published, elsewhere: 28.0 s) | 1,500 |" in text
    assert "| x | 1,000 | 2,000 | 1,000 | 2,001 |" in text


def test_steps_have_their_share_where_the_rate_was_measured(tmp_path):
    row = {"shape": "x", "batch": 32, "step_ratio": 3.0, "inference_ratio": 2.0}
    for side, seconds in (("ours", 0.01), ("published", 0.03)):
        row |= {f"{side}_step": seconds, f"{side}_gflop": 0.4, f"{side}_inference": seconds / 10, f"{side}_inference_gflop": 0.02}
    content = {"environment": ENV, "rows": [row]}
    (tmp_path / "benchmark-step.json").write_text(json.dumps(content))
    assert "| training step of seal-nce, x's shape, 32 rows, ours | 10 | 3.00 | 0.40 |  |  |" in costs_section(tmp_path)
    (tmp_path / "benchmark-step.json").write_text(json.dumps(content | {"matmul_gflops": 80.0}))
    lines = costs_section(tmp_path).splitlines()
    assert "| training step of seal-nce, x's shape, 32 rows, ours | 10 | 3.00 | 0.40 |  | 50% |" in lines
    assert "| inference pass, x's shape, 32 rows, as published | 3 |  | 0.02 |  | 8% |" in lines


def test_files_with_sections_of_their_own_make_no_table(tmp_path):
    (tmp_path / "benchmark-bilevel.json").write_text(json.dumps({"environment": ENV, "rows": []}))
    assert costs_section(tmp_path) == ""


def test_without_files_there_is_no_section(tmp_path):
    assert costs_section(tmp_path) == ""
