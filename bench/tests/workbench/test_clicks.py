"""Clicks through the page's paths, against a count by hand."""

import numpy as np
import pytest
from bench.tests.either import main
from sklearn.linear_model import LogisticRegression

from enstruct import JointMultiLabelClassifier
from enstruct_bench.joint.table import Table
from enstruct_bench.reports.workbench import workbench_section
from enstruct_bench.workbench import clicks, kills, teaching, waiting
from enstruct_bench.workbench.command import measure


@pytest.fixture(scope="module")
def fitted():
    """Labels 0 and 1 are one another's opposite, which the base does not know; label 2 is the sign of x."""
    rng = np.random.default_rng(0)
    x, coin = rng.normal(size=(300, 1)), rng.random(300) < 0.5
    Y = np.column_stack([coin, ~coin, x[:, 0] > 0]).astype(np.float32)
    model = JointMultiLabelClassifier(LogisticRegression(), folds=2, random_state=0).fit(x, Y)
    return model, Table(x, Y, np.arange(3), x[:40], Y[:40])


@pytest.mark.parametrize("order", clicks.ORDERS)
def test_a_click_mends_both_of_a_pair(fitted, order):
    """One click for each row whose pair is shown the other way round; the base alone would take two."""
    model, table = fitted
    counted = clicks.clicks(model, table, table.X_test, table.Y_test, order)
    p = model.predict_proba(table.X_test)
    shown = p >= 0.5
    wrong_pair = shown[:, 0] != table.Y_test[:, 0]
    wrong_sign = shown[:, 2] != table.Y_test[:, 2]
    np.testing.assert_array_equal(counted, wrong_pair.astype(int) + wrong_sign)


def test_lists_are_in_the_page_s_order():
    assert clicks.page_order(["a", "b", "c"], [0.9, 0.02, 0.5], "surest") == ["b", "a", "c"]
    assert clicks.page_order(["a", "b", "c"], [0.9, 0.02, 0.5], "likeliest") == ["a", "c", "b"]


def test_nothing_is_lost_though_the_server_is_killed():
    counts = kills.campaign(answers=25, kills=1, seed=0)
    assert (counts["lost"], counts["twice"], counts["out of order"], counts["rows that say otherwise"]) == (0, 0, 0, 0)
    assert counts["starts"] == 2


def test_sections(tmp_path, monkeypatch):
    monkeypatch.setattr(clicks, "measured", lambda *a: {
        "data": a[0], "seed": a[1], "base": a[2], "rows": 2, "clicks": {"surest": [1, 0], "likeliest": [1, 1]},
        "base_clicks": {"a half": [2, 0], "its own rule": [2, 2]},
    })  # fmt: skip
    common = {"base": "auto", "minutes": 1.0, "answers": 1, "kills": 1, "labels": "20", "rows": 30}
    path = tmp_path / "workbench-clicks.json"
    for _ in range(2):  # what is there is kept
        assert len(measure("clicks", "mine", 2, **common, out=path)) == 2
    section = workbench_section(path)
    assert "| mine | auto | 4 | 0.50 | 1.00 | 1.00 | 2.00 |" in section
    assert "| mine | +50.0 [" in section
    told = {"data": "mine", "sizes": [20], "teaching": [0.5], "random": [0.4]}
    monkeypatch.setattr(teaching, "measured", lambda *a: told)
    measure("teaching", "mine", 1, **common, out=tmp_path / "workbench-teaching.json")
    assert "| mine | 1 | 20 | 50.00 | 40.00 | 10.00 |" in workbench_section(tmp_path / "workbench-teaching.json")
    counts = dict.fromkeys(("answers", "kills", "sent again", "lost", "twice", "out of order", "rows that say otherwise"), 3)
    monkeypatch.setattr(kills, "campaign", lambda *a: counts)
    measure("kills", None, 1, **common, out=tmp_path / "workbench-kills.json")
    assert "| 3 | 3 | 3 | 3 | 3 | 3 | 3 |" in workbench_section(tmp_path / "workbench-kills.json")
    assert main(["workbench", "clicks", "--json", str(tmp_path / "workbench-kills.json")]) == 2
    assert main(["workbench", "anything"]) == 2


def test_waiting_is_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(waiting, "TRAINED", 60)
    monkeypatch.setattr(waiting.shutil, "which", lambda name: None)
    row = waiting.answer_times(20, rows=2)
    assert row["clicks"] == 2 * waiting.TOLD
    assert row["answers"]["50%"] <= row["answers"]["95%"] < 5000
    page = waiting.first_page(30, n_labels=20)
    assert page["in"] == "requests alone"
    assert page["seconds"] < 10
