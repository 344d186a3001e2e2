"""Hierarchies measured on a small one, and their section of the page."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from enstruct.data.hierarchy import Hierarchy
from enstruct.files import write_json
from enstruct_bench.joint import hierarchies
from enstruct_bench.reports.hierarchies import hierarchies_section

TREE = Hierarchy(5, ((0, 1), (0, 2), (2, 3)))


def parts(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4)).astype(np.float32)
    Y = (X @ rng.standard_normal((4, 5)) > 0.6).astype(np.int64)
    for above, below in reversed(TREE.edges):
        Y[:, above] |= Y[:, below]
    return X[:60], Y[:60], X[60:], Y[60:], TREE, ("a", "b", "c", "d", "GO:0003674")


def test_measured_sides_break_nothing_and_are_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hierarchies, "parts_of", parts)
    out = tmp_path / "hierarchies-toy.json"
    monkeypatch.setattr(sys, "argv", ["x", "toy", "--sides", "extra-trees,cross-entropy", "--seeds", "1", "--out", str(out)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hierarchies.main()
        capsys.readouterr()
        hierarchies.main()  # what the file has is not run again
    assert capsys.readouterr().out == ""
    section = hierarchies_section(out)
    assert "| extra-trees | 0." in section
    assert "published AU(PRC)" not in section
    row = hierarchies.measured("extra-trees", "toy", 0)
    assert (row["rows_broken"], row["marginals_broken"]) == (0, 0)
    X, Y, new, truth, *_ = parts("toy")
    marginals, _ = hierarchies.SIDES["extra-trees"](X, Y, TREE, 0)
    assert row["auprc"] == pytest.approx(average_precision_score(truth[:, :4], marginals(new)[:, :4], average="micro"))


def test_answers_of_pishield_are_by_the_best_rule_after_its_layer(monkeypatch):
    pytest.importorskip("pishield")
    X, Y, new, *_ = parts("toy")
    seen = []
    fit = hierarchies.LabelRules.fit
    monkeypatch.setattr(hierarchies.LabelRules, "fit", lambda *given: seen.append((given, fit(*given))) or seen[-1][1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        marginals, sets = hierarchies.shielded(X, Y, TREE, 0)
        p, chosen = marginals(new), sets(new)
    # its version 1.0.0 leaves labels below the first one as they are, on the toy; on the real hierarchies it breaks none
    assert (p[:, 3] <= p[:, 2] + 1e-6).all()
    (p_held, held, metric, decision, _), rules = seen[-1]
    assert (len(held), metric, decision) == (len(p_held), "example-f1", "auto")
    np.testing.assert_array_equal(p_held, marginals(held.X))  # of what comes out of the layer
    np.testing.assert_array_equal(chosen, rules.rules[rules.decision].predict(p).toarray())
    assert set(np.unique(chosen)) == {0, 1}


def test_published_figures_are_said(tmp_path):
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    row = {
        "side": "joint",
        "auprc": 0.25,
        "exact": 0.1,
        "rows_broken": 0,
        "fit_seconds": 1.0,
        "answer_seconds": 2.0,
        "commit": "c",
    }
    write_json(tmp_path / "h.json", {"data": "d", "published": 0.215, "environment": env, "rows": [row, row | {"auprc": 0.35}]})
    section = hierarchies_section(tmp_path / "h.json")
    assert "C-HMCNN's published AU(PRC): 0.215." in section
    assert "| joint | 0.3000 | 0.2500 to 0.3500 | 10.00 | 0 | 1.0 | 2.0 | 2 | c |" in section
