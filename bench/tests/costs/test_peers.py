"""Fits of peers and of ours side by side, each in a process of its own."""

import json
import os
import sys

import pytest

from enstruct_bench.costs import peers


def asked(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["peers", *options])
    peers.main()


def test_whole_processes_are_measured_and_a_file_goes_on(monkeypatch, tmp_path, capsys):
    cores, out = os.sched_getaffinity(0), str(tmp_path / "peers.json")
    asked(monkeypatch, "--data", "diabetes", "--only", "scikit-learn ExtraTrees,enstruct binary-relevance", "--out", out)
    assert os.sched_getaffinity(0) == cores
    (trees, ours) = rows = json.loads((tmp_path / "peers.json").read_text())["rows"]
    for row in rows:
        assert 0 < row["fit_seconds"] + row["predict_seconds"] < row["seconds"]
        assert row["fit_seconds"] < 1.5 * row["processor_seconds"]
        assert row["mib"] > 50
        assert 0.3 < row["f1_own_decision"] < row["f1_best_rule"] + 0.05 < 0.9
    assert (trees["side"], ours["side"]) == ("scikit-learn ExtraTrees", "enstruct binary-relevance")
    asked(monkeypatch, "--data", "diabetes", "--only", "scikit-learn ExtraTrees", "--out", out)
    assert json.loads((tmp_path / "peers.json").read_text())["rows"] == rows
    assert "best rule" in capsys.readouterr().out


def test_a_process_that_takes_too_long_is_ended(monkeypatch, capsys):
    asked(monkeypatch, "--data", "wine", "--only", "scikit-learn one-vs-rest", "--limit", "0.05")
    assert "wine       scikit-learn one-vs-rest               more than 0 s" in capsys.readouterr().out


def test_what_is_not_installed_is_named_and_a_failure_ends_all(monkeypatch, capsys):
    monkeypatch.setitem(peers.PEERS, "nothing", ("no_such_package", peers.default))
    asked(monkeypatch, "--data", "wine", "--only", "nothing")
    assert "nothing: not installed" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        asked(monkeypatch, "--data", "wine", "--only", "no such side")
    monkeypatch.setattr(peers.sys, "executable", "false")
    with pytest.raises(SystemExit, match="enstruct default on wine ended with status 1"):
        asked(monkeypatch, "--data", "wine", "--only", "enstruct default")


@pytest.mark.parametrize("side", ["scikit-learn HistGradientBoosting", "scikit-learn one-vs-rest", "enstruct cross-entropy"])
def test_marginals_and_sets_of_a_side_belong_together(side):
    parts = peers.parts_of("wine", 0)
    predict, marginals = peers.PEERS[side][1](parts["train"].X, parts["train"].Y, parts["validation"])
    p, sets = marginals(parts["test"].X), predict(parts["test"].X)
    assert p.shape == parts["test"].Y.shape
    assert ((p >= 0.5) == (peers._dense(sets) > 0)).mean() > 0.99
