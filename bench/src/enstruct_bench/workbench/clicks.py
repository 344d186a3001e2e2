"""Clicks until a label set is right, of a person who corrects what the page shows wrong, against correcting a base's answers.

The person knows the truth. Every look goes through the page's paths: labels are read in the order in which the page lists them,
the first that is shown wrong is told (a click), what stands above it counts as read, as on the page, and all is read anew as it
has moved. A base's answers take one click for each wrong label. Neither counts the click that finishes the row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.workbench.contents import Contents
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.row_order import RowOrder
from enstruct.workbench.server import application
from enstruct.workbench.session import Session
from enstruct.workbench.written import Written
from enstruct_bench.comparison.protocols import load_protocol
from enstruct_bench.joint.table import Table, table_of

ORDERS = ("surest", "likeliest")
"""In which the page lists labels: the first of few labels, the second of many, unless it is asked otherwise."""
ROWS = 100


def measured(data: str, seed: int, base: str, minutes: float, rows: int = ROWS) -> dict[str, Any]:
    """Mean clicks a row of each way, on the same test rows, with the base's wrong labels under every rule."""
    table = table_of(load_protocol(data, "auto", seed, None, [])[0])
    model = JointMultiLabelClassifier(base, minutes=minutes, random_state=seed).fit(table.X, table.Y)
    chosen = np.random.default_rng([seed, 21]).permutation(len(table.Y_test))[:rows]
    X, Y = table.X_test[chosen], table.Y_test[chosen]
    out: dict[str, Any] = {"data": data, "seed": seed, "rows": len(chosen), "labels": table.n_labels, "base": base}
    wrong = {name: _wrong(sets, Y) for name, sets in model.predict_by_rule(X).items()}
    out["base_rule"], out["base_by_rule"] = model.decision_, {name: float(each.mean()) for name, each in wrong.items()}
    out["clicks"] = {order: clicks(model, table, X, Y, order).tolist() for order in ORDERS}
    out["base_clicks"] = {"a half": wrong["fixed"].tolist(), "its own rule": wrong[model.decision_].tolist()}
    return out


def _wrong(sets: Any, Y: NDArray[Any]) -> NDArray[np.int64]:
    dense = sets.toarray() if sparse.issparse(sets) else np.asarray(sets)
    return np.asarray((dense != Y).sum(1), dtype=np.int64)


def clicks(model: JointMultiLabelClassifier, table: Table, X: Any, Y: NDArray[Any], order: str) -> NDArray[np.int64]:
    """(rows,) through the page's paths."""
    names = [str(k) for k in range(table.n_labels)]
    data = Dataset(X, as_indicator(np.zeros(Y.shape)), tuple(map(str, range(X.shape[1]))), tuple(names))
    sets = LabelSets(names, X, Contents(data), None, Written("none", lambda: data), model)
    header = {"task": "labels", "data": "none", "rows": len(Y), "names": names, "content": "none"}
    with tempfile.TemporaryDirectory() as folder:
        session = Session(sets, Journal(Path(folder) / "answers.jsonl", header), RowOrder(len(Y), "given"), "clicks")
        try:
            client = TestClient(application(session))
            return np.array([_until_right(client, row, dict(zip(names, y > 0, strict=True)), order) for row, y in enumerate(Y)])
        finally:
            session.close()


def _until_right(client: TestClient, row: int, truth: Mapping[str, bool], order: str) -> int:
    names, number = list(truth), 0
    cells: dict[str, bool] = {}
    read: dict[str, bool] = {}
    while True:
        answers = client.post(f"/api/rows/{row}/answers", json={"read": read}).json()
        shown = dict(zip(names, answers["shown"], strict=True))
        listed = [name for name in page_order(names, answers["p"], order) if name not in cells]
        at = next((k for k, name in enumerate(listed) if shown[name] != truth[name]), None)
        if at is None:
            whole = {name: bool(truth[name]) for name in names}
            body = {"act": f"f{row}", "by": "person", "row": row, "cells": whole, "done": True}
            client.post("/api/acts", json=body).raise_for_status()
            return number
        read |= {name: bool(shown[name]) for name in listed[:at]}
        cells[listed[at]] = bool(truth[listed[at]])
        body = {"act": f"{row}-{number}", "by": "person", "row": row, "cells": {listed[at]: cells[listed[at]]}}
        client.post("/api/acts", json=body).raise_for_status()
        number += 1


def page_order(names: list[str], p: list[float], order: str) -> list[str]:
    """As ``static/labels.js`` lists them, told ones aside."""
    value = np.array(p)
    key = np.abs(value - 0.5) if order == "surest" else value
    return [names[k] for k in np.argsort(-key, kind="stable")]
