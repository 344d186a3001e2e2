"""The sections say what their files hold."""

import json

from enstruct.reports.searches import cost_section, search_section

WHERE = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "threads": 1, "cores": 2}


def test_a_search(tmp_path):
    fit = {"f1_at_0.5": 0.5, "f1_tuned": 0.61234, "f1_rule": 0.7, "epochs": 9, "seconds": 12.4}
    plain = {**fit, "implicit_ratio": None, "solver_failed": 0.0}
    bilevel = {**fit, "implicit_ratio": 0.25, "solver_failed": 0.5}
    content = {"data": "yeast", "epochs": 30, "environment": WHERE, "fits": {"a / seed 0": plain, "b c / seed 1": bilevel}}
    (tmp_path / "search-x.json").write_text(json.dumps(content))
    text = search_section(tmp_path / "search-x.json")
    assert "| a | 0 | 50.00 | 61.23 | 70.00 | 9 | – | – | 12 |" in text
    assert "| b c | 1 | 50.00 | 61.23 | 70.00 | 9 | 0.25 | 50% | 12 |" in text
    assert "At most 30 epochs" in text


def test_costs(tmp_path):
    row = {"method": "implicit-cd", "coupling": "neumann 5", "step": 0.08, "times_alternating": 3.75}
    content = {"environment": WHERE, "gflop": {"product": 0.72, "gradient": 0.55}, "rows": [row]}
    (tmp_path / "benchmark-bilevel.json").write_text(json.dumps(content))
    text = cost_section(tmp_path / "benchmark-bilevel.json")
    assert "| implicit-cd | neumann 5 | 80.0 | 3.75 |" in text
    assert "0.72 GFLOP" in text
