"""Averages by each criterion: on the same bases, what each asks for, kept, compared and printed."""

import json
import sys

import numpy as np
import pytest

from enstruct.estimators.training_table import Table
from enstruct_bench.joint import averages
from enstruct_bench.reports.averages import averages_section


def test_criteria_ask_for_what_they_say():
    """Marginals scaled down are worse by likelihood, no worse by precision; those of other rows are worse by each."""
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 4)) < 0.4).astype(np.float32)
    good = np.clip(0.5 + 0.3 * (Y - 0.5) + rng.normal(0, 0.1, Y.shape), 0.01, 0.99)
    low, other = good * 0.3, good[::-1]
    scores = {name: criterion(Table(np.zeros((60, 1)), Y)) for name, criterion in averages.CRITERIA.items()}
    assert scores["likelihood"](low) < scores["likelihood"](good)
    assert scores["precision"](low) == pytest.approx(scores["precision"](good))
    assert all(score(other) < score(good) for score in scores.values())
    assert averages.nats(Y, np.full(Y.shape, 0.5)) == pytest.approx(4 * np.log(2))


def test_from_the_command_to_the_page(tmp_path, monkeypatch, capsys):
    automatic = averages.automatic
    monkeypatch.setattr(averages, "automatic", lambda table, metric: automatic(table, metric)[:2])
    out, measured, done = tmp_path / "averages.json", averages.measured, []
    monkeypatch.setattr(averages, "measured", lambda *which: done.append(which) or measured(*which))
    for seeds, wanted in (("1", 1), ("2", 2), ("2", 2)):
        monkeypatch.setattr(sys, "argv", ["averages", "wine", "--seeds", seeds, "--out", str(out)])
        averages.main()
        assert len(done) == wanted
    assert "wine by likelihood: F1 " in capsys.readouterr().out
    content = json.loads(out.read_text())
    row, lines = content["rows"][0], content["compared"]
    assert row["bases"] == ["binary-relevance", "extra-trees"]
    assert [(line["data"], line["criterion"]) for line in lines[:3]] == [("wine", name) for name in averages.CRITERIA]
    assert lines[0]["gain"] == [0, 0, 0]
    assert {line["splits"] for line in lines} == {2}
    assert (lines[3]["data"], lines[3]["f1"]) == ("all", lines[0]["f1"])
    assert set(row["likelihood"]["average"].split("+")) <= set(row["bases"])
    assert f"| wine | 2 | likelihood | {lines[1]['f1']:.2f} |" in averages_section(out)
