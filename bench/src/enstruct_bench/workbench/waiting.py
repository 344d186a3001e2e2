"""How long a person waits: for the answers after a click, at so many labels, and for the first page of so many rows.

Answers are asked over loopback from a server as `enstruct label` runs it, one after another, a label more told each time, as in
labelling a row; the first page in Chromium where Playwright has it, else its requests one after another.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.workbench.contents import Contents
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.row_order import RowOrder
from enstruct.workbench.server import serving
from enstruct.workbench.session import Session
from enstruct.workbench.written import Written

TRAINED, FEATURES, TOLD = 400, 20, 6
"""Rows of the generated set, its features, labels told a row."""
GROUPS = 12
"""Of labels that hang together: rows have some of them, and labels come from these."""


def generated(n_labels: int, rows: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(rows, features), (rows, labels): some 15 labels a row, in groups that go together."""
    rng, weights = np.random.default_rng([seed, rows]), np.random.default_rng(1)
    groups = rng.random((rows, GROUPS)) < 0.25
    member = weights.integers(0, GROUPS, n_labels)
    often = np.minimum(0.6, 15 / (0.25 * n_labels)) * weights.uniform(0.5, 1.5, n_labels)
    Y = (groups[:, member] & (rng.random((rows, n_labels)) < often)).astype(float)
    X = groups @ weights.normal(size=(GROUPS, FEATURES)) + rng.normal(0, 1.5, (rows, FEATURES))
    return X, Y


@contextmanager
def served(n_labels: int, rows: int) -> Iterator[tuple[str, Session]]:
    """A model of so many labels at work on so many rows; the page's address."""
    X, Y = generated(n_labels, TRAINED)
    model = JointMultiLabelClassifier(LogisticRegression(max_iter=200), folds=2, random_state=0).fit(X, Y)
    names = [f"label {k}" for k in range(n_labels)]
    fresh = generated(n_labels, rows, seed=1)[0]
    empty = as_indicator(np.zeros((1, n_labels)))
    Yempty = empty[np.zeros(rows, dtype=int)]
    data = Dataset(fresh, Yempty, tuple(f"feature {k}" for k in range(FEATURES)), tuple(names))
    sets = LabelSets(names, fresh, Contents(data), None, Written("none", lambda: data), model)
    header = {"task": "labels", "data": "none", "rows": rows, "names": names, "content": "none"}
    with tempfile.TemporaryDirectory() as folder:
        session = Session(sets, Journal(Path(folder) / "answers.jsonl", header), RowOrder(rows, "teaching"), "waiting")
        try:
            with serving(session, "token" * 8) as address:
                yield address, session
        finally:
            session.close()


def answer_times(n_labels: int, rows: int = 60) -> dict[str, Any]:
    """Milliseconds from a click to the new answers (the act, on the disk, and the answers), and to the next question."""
    moved, asked = [], []
    with served(n_labels, rows) as (address, session):
        truth = generated(n_labels, rows, seed=1)[1]
        rng = np.random.default_rng(3)
        for row in range(rows):
            _post(f"{address}api/rows/{row}/answers", {"read": {}})  # the row is opened
            for number, label in enumerate(rng.permutation(n_labels)[:TOLD]):
                name = session.labelling.names[label]
                begin = time.perf_counter()
                body = {"act": f"{row}-{number}", "by": "me", "row": row, "cells": {name: bool(truth[row, label])}}
                _post(f"{address}api/acts", body)
                _post(f"{address}api/rows/{row}/answers", {"read": {}})
                moved.append(time.perf_counter() - begin)
                begin = time.perf_counter()
                _post(f"{address}api/rows/{row}/question", {"read": {}})
                asked.append(time.perf_counter() - begin)
        terms = session.labelling._model.terms_  # type: ignore[attr-defined]
    return {"labels": n_labels, "terms": terms, "clicks": len(moved), "answers": _quantiles(moved), "question": _quantiles(asked)}


def first_page(rows: int, n_labels: int = 20) -> dict[str, Any]:
    """Seconds from the address to the row on the screen, the ranking of all rows under way."""
    with served(n_labels, rows) as (address, session):
        session.begin_ranking()
        path = shutil.which("chromium")
        if path is None:
            begin = time.perf_counter()
            for part in ("", "static/main.js", "static/page.css", "api/session", "api/next?by=me", "api/rows/0?by=me"):
                urllib.request.urlopen(address + part).read()
            _post(f"{address}api/rows/0/answers", {"read": {}})
            return {"rows": rows, "labels": n_labels, "seconds": time.perf_counter() - begin, "in": "requests alone"}
        from playwright.sync_api import sync_playwright

        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page()
            begin = time.perf_counter()
            page.goto(address)
            page.locator(".label").first.wait_for()
            seconds = time.perf_counter() - begin
            browser.close()
    return {"rows": rows, "labels": n_labels, "seconds": seconds, "in": "Chromium"}


def _post(address: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def _quantiles(seconds: list[float]) -> dict[str, float]:
    """In milliseconds."""
    return {f"{q}%": float(np.percentile(seconds, q) * 1000) for q in (50, 95, 99)}
