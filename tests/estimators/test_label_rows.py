"""Rows that decision rules are fitted to: all of few, as many as there is room for of many."""

import numpy as np
import pytest

from enstruct import EnergyMultiLabelClassifier
from enstruct.data.rows import Rows, as_indicator
from enstruct.data.synthetic import block_exclusive
from enstruct.estimators import label_rows
from enstruct.estimators.label_rows import for_rules
from enstruct.estimators.label_rules import LabelRules


def test_as_many_rows_as_there_is_room_for_evenly_spread(monkeypatch):
    Y = as_indicator(np.arange(100 * 5).reshape(100, 5) % 3 == 0)
    rows = Rows(np.arange(100.0)[:, None], Y, np.arange(100.0))
    assert for_rules(rows) is rows
    monkeypatch.setattr(label_rows, "MOST_CELLS", 60)
    few = for_rules(rows)
    assert len(few) == 12
    assert few.X[0, 0] == 0
    assert few.X[-1, 0] == 99
    assert np.array_equal(few.X[:, 0], few.weight)
    assert set(np.diff(few.X[:, 0])) <= {8, 9, 10}
    for cells in (9, 0):  # one half of them chooses for the other
        monkeypatch.setattr(label_rows, "MOST_CELLS", cells)
        assert len(for_rules(rows)) == 2


@pytest.mark.parametrize("method", ["binary-relevance", "cross-entropy"])
def test_rules_are_those_of_these_rows(monkeypatch, method):
    data = block_exclusive(400, seed=0)
    rows, held = data.take(np.arange(250)), data.take(np.arange(250, 400))
    monkeypatch.setattr(label_rows, "MOST_CELLS", 40 * held.Y.shape[1])
    settings = {} if method == "binary-relevance" else {"max_epochs": 3}
    model = EnergyMultiLabelClassifier(method, random_state=0, **settings).fit(rows.X, rows.Y, X_val=held.X, y_val=held.Y)
    few = for_rules(Rows(held.X, as_indicator(held.Y)))
    p = model.predict_proba(few.X)
    expected = LabelRules.fit(p, few, "example-f1", "auto", None)
    assert model.rules_["threshold"].threshold == expected.rules["threshold"].threshold
    assert model.decision_scores_["threshold"] == pytest.approx(expected.scores["threshold"], abs=1e-6)
    everything = LabelRules.fit(model.predict_proba(held.X), Rows(held.X, as_indicator(held.Y)), "example-f1", "auto", None)
    assert everything.scores["threshold"] != pytest.approx(model.decision_scores_["threshold"], abs=1e-6)
