"""The default beside single bases over tables: what hindsight is, what is compared, from the command to the page."""

import json
import sys

import numpy as np
import pytest

from enstruct_bench.joint import unseen
from enstruct_bench.joint.small_tables import wine
from enstruct_bench.reports.unseen import unseen_section


def row(joint, halves):
    """A row of which the joint has so much F1 and the bases so much on either half."""
    single = [{"f1": float(np.mean(pair)), "halves": list(pair), "fit_seconds": 2.0} for pair in halves]
    sides = {f"base:{name}": one for name, one in zip(unseen.SINGLE, single, strict=True)}
    return {"sides": {"joint": {"f1": joint, "nll": 1.0, "fit_seconds": 9.0, "halves": [joint, joint]}, **sides}}


def test_hindsight_and_what_is_left_of_it():
    halves = [(70, 50), (40, 90), *[(30, 30)] * 4]  # the first half takes the first, the second the second
    sides = unseen.with_hindsight(row(64, halves))
    assert sides[unseen.HINDSIGHT] == {"f1": 65}
    assert sides[unseen.HALVES] == {"f1": (50 + 40) / 2}


def test_over_tables():
    """Means, differences with their intervals, and who is ahead."""
    rows = [row(60, [(60.4, 60.4)] + [(50, 50)] * 5), row(60, [(70, 70)] + [(50, 50)] * 5), row(60, [(44, 44)] + [(50, 50)] * 5)]
    lines = {line["side"]: line for line in unseen.compared(rows)}
    first, second = (lines[f"base:{name}"] for name in unseen.SINGLE[:2])
    assert first["f1 apart"][0] == pytest.approx((0.4 + 10 - 16) / 3)
    assert first["f1 apart"][1] < -5
    assert first["f1 apart"][2] > 5
    assert first["ahead"] == [1, 1, 1]
    assert second["f1 apart"] == [-10, -10, -10]
    assert "nll apart" not in first
    assert "f1 apart" not in lines["joint"]
    assert lines["joint"]["fit_seconds"] == 9.0


def test_without_all_single_bases_there_is_no_hindsight(monkeypatch, capsys):
    rows = [row(60, [(70, 70)] * 6)]
    del rows[0]["sides"][f"base:{unseen.SINGLE[0]}"]
    assert [line["side"] for line in unseen.compared(rows)] == ["joint", *(f"base:{name}" for name in unseen.SINGLE[1:])]
    for argv in (["--tables", "0"], ["--sides", "base"]):
        monkeypatch.setattr(sys, "argv", ["unseen", *argv])
        with pytest.raises(SystemExit):
            unseen.main()
        assert "one table at least, and joint" in capsys.readouterr().err


def test_from_the_command_to_the_page(tmp_path, monkeypatch, capsys):
    X, Y = wine()
    monkeypatch.setattr(unseen, "tables", lambda: {"p/red": (X, Y), "p/white": (X[::-1] ** 2, Y[::-1])})
    monkeypatch.setattr(unseen, "SINGLE", ("binary-relevance", "extra-trees"))
    out, done, row_of = tmp_path / "unseen.json", [], unseen.row_of
    monkeypatch.setattr(unseen, "row_of", lambda name, *which: done.append(name) or row_of(name, *which))
    sides = "joint,base:binary-relevance,base:extra-trees"
    for tables, wanted in (("1", 1), ("2", 2), ("2", 2)):
        argv = ["unseen", "--tables", tables, "--minutes", "0.001", "--sides", sides, "--out", str(out)]
        monkeypatch.setattr(sys, "argv", argv)
        unseen.main()
        assert len(done) == wanted
    assert set(done) == {"p/red", "p/white"}
    assert "best single, other rows" in capsys.readouterr().out
    content = json.loads(out.read_text())
    first = content["rows"][0]
    assert (first["rows"], first["features"], first["labels"]) == (178, 6, 10)
    assert first["base"] == "binary-relevance"  # the time was up after it
    lines = content["compared"]
    assert [line["side"] for line in lines[-2:]] == [unseen.HINDSIGHT, unseen.HALVES]
    monkeypatch.setattr("enstruct_bench.reports.unseen.SINGLE", unseen.SINGLE)
    page = unseen_section(out)
    assert f"| joint | {lines[0]['f1']:.2f} |" in page
    assert f"| {first['table']} | 178 | 6 | 10 | binary-relevance | {first['sides']['joint']['f1']:.2f} |" in page
