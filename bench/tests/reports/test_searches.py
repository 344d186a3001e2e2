"""The sections say what their files hold."""

import json

from enstruct_bench.reports.searches import ablation_section, cost_section, peers_section, search_section, trials_section

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


def test_an_ablation(tmp_path):
    runs = [{"seconds": 2.0 * n, "rule": "top-k", "test_f1": {"top-k": 0.48 + 0.01 * n, "fixed": 0.1}} for n in (1, 3)]
    alone = {name: {"runs": runs} for name in ("cross-entropy", "seal-nce")}
    averages = [
        {"members": ["cross-entropy", "seal-nce"], "validation": 0.6, "test": 0.55, "gain": [1.0, -0.5, 2.5]},
        {"members": ["cross-entropy"], "validation": 0.59, "test": 0.54, "gain": [0.0, 0.0, 0.0]},
        {"members": ["seal-nce"], "validation": 0.58, "test": 0.53, "gain": None},
    ]
    content = {"environment": WHERE, "sets": {"yeast": {"rows": {"train": 3}, "alone": alone, "averages": averages}}}
    (tmp_path / "ablation-x.json").write_text(json.dumps(content))
    text = ablation_section(tmp_path / "ablation-x.json")
    assert "### yeast: train 3" in text
    assert "| cross-entropy | 2 | 50.00 ±1.41 | 54.00 | +0.00 [+0.00, +0.00] | 4 |" in text
    assert "| seal-nce | 2 | 50.00 ±1.41 | 53.00 | – | 4 |" in text
    assert "| cross-entropy, seal-nce | 60.00 | 55.00 | +1.00 [-0.50, +2.50] |" in text


def test_peers(tmp_path):
    line = {"fit_seconds": 12.34, "predict_seconds": 0.126, "f1_own_decision": 0.4, "f1_best_rule": 0.5, "rule": "threshold"}
    line |= {"data": "bibtex", "limit": 60.0, "commit": "c", "mib": 1234.5, "processor_seconds": 14.0}
    sides = [{"side": "a library", "seconds": 15.0}, {"side": "enstruct seal-nce", "seconds": 30.0}]
    late = {"data": "bibtex", "side": "another", "limit": 60.0, "commit": "c"}
    content = {"environment": WHERE, "rows": [*({**line, **side} for side in sides), late]}
    (tmp_path / "benchmark-peers.json").write_text(json.dumps(content))
    text = peers_section(tmp_path / "benchmark-peers.json")
    assert "| a library | 15.0 | 14.0 | 12.3 | 0.13 | 1,234 | 40.0 | 50.0 (threshold) | 0.50 |" in text
    assert "| another | more than 60 |" in text


def test_trials(tmp_path):
    perturbed = {"value": "PerturbedSamples", "fields": {"n": 5, "std": 0.12345}}
    energy = {"value": "EnergySpec", "fields": {"terms": ["local"], "units": 300}}
    settings = {"layers": 2, "learning_rate": 0.0012345, "negatives": perturbed, "energy_network": energy}
    best = {"method": "seal-regression-s", "value": 0.61234, "trials": {"complete": 4, "pruned": 1}, "settings": settings}
    best["metric"] = "hamming"
    content = {"data": "yeast", "environment": WHERE, "best": [best]}
    (tmp_path / "tune-yeast.json").write_text(json.dumps(content))
    text = trials_section(tmp_path / "tune-yeast.json")
    best = "layers=2, learning_rate=0.00123, negatives=PerturbedSamples(n=5, std=0.123), units=300"
    assert f"| seal-regression-s | 61.23 | 4 complete, 1 pruned | {best} |" in text
    assert "The best hamming of each method" in text
    assert "compare-tuned" not in text
    (tmp_path / "compare-tuned-yeast.json").write_text("{}")
    assert "`compare-tuned-yeast.json`" in trials_section(tmp_path / "tune-yeast.json")
