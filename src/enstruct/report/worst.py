"""The section on the rows that were answered worst."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.metrics import rowwise_f1
from enstruct.report.blocks import paragraph, plain, signed
from enstruct.report.markup import Markup, cut, element, joined
from enstruct.report.page import Section
from enstruct.report.scores import row_nats

Number = Callable[[int], int]
SHOWN, LABELS, FEATURES, CHARACTERS = 12, 25, 6, 420
"""Rows, and labels, features and characters of a row that are shown."""


def worst_rows(truth: Any, predicted: sparse.csr_matrix, p: NDArray[np.float64]) -> tuple[NDArray[np.intp], Any, Any]:
    """(numbers of rows, the worst first; F1 of all rows, NaN of those without a known label; nats of all rows), by F1, then by
    how unlikely their labels were held to be."""
    f1, (nats, cells) = rowwise_f1(truth, predicted), row_nats(truth, p)
    order = np.lexsort((-nats, np.where(cells > 0, f1, np.inf)))
    return order[: int((cells > 0).sum())], f1, nats


def worst_section(
    X: Any, feature_names: Any, names: list[str], truth: Any, predicted: sparse.csr_matrix, p: Any, number: Number = int
) -> Section:
    """``X`` (rows, features), or texts (rows,); ``number(row)``: of a row in its file."""
    order, f1, nats = worst_rows(truth, predicted, p)
    shown = order[:SHOWN]
    told = _texts(X, shown) if holds_texts(X) else _features(X, feature_names, shown)
    cases = [
        element(
            "li",
            element("h3", f"Row {number(int(row))}"),
            element("p", f"F1 {100 * f1[row]:.1f}, −log p of its labels {plain(nats[row], 1)} nats", class_="quiet small"),
            element("p", what, class_="excerpt"),
            _labels(names, truth, predicted, p, int(row)),
        )
        for row, what in zip(shown, told, strict=True)
    ]
    blocks = [
        paragraph(
            "Those of the lowest F1, and among them those whose labels the model held to be the least likely. ",
            element("span", "Right", class_="right"),
            " labels are there and were predicted, ",
            element("span", "missed", class_="missed"),
            " ones (dotted below) are there and were not, ",
            element("span", "wrong", class_="extra"),
            " ones (struck out) were predicted and are not there; after each stands its probability.",
        ),
        element("ol", *cases, class_="cases"),
    ]
    return Section("worst", "The rows answered worst", blocks, leaf=True)


def holds_texts(X: Any) -> bool:
    """Whether rows are texts, as readers give them."""
    return isinstance(X, np.ndarray) and X.dtype.kind == "O"


def _texts(X: Any, rows: NDArray[np.intp]) -> list[str]:
    return [cut(X[row], CHARACTERS) for row in rows]


def _features(X: Any, names: Any, rows: NDArray[np.intp]) -> list[str]:
    """Of numbers the features that are furthest from their means, in standard deviations; of sparse rows the largest."""
    if hasattr(X, "read"):  # rows that stay in their file
        block: Any = X[rows].read()
        return [_largest(_row(block, k), names) for k in range(len(rows))]
    if sparse.issparse(X):
        return [_largest(_row(X, int(row)), names) for row in rows]
    mean, spread = X.mean(0), X.std(0)
    out = []
    for row in rows:
        away = np.divide(X[row] - mean, spread, out=np.zeros(len(mean)), where=spread > 0)
        strongest = np.argsort(-np.abs(away), kind="stable")[:FEATURES]
        out.append("Furthest from the mean: " + ", ".join(f"{cut(names[i], 40)} {signed(away[i], 1)} sd" for i in strongest))
    return out


def _row(X: Any, row: int) -> NDArray[np.float64]:
    return np.asarray(X[[row]].toarray() if sparse.issparse(X) else X[row], dtype=np.float64).ravel()


def _largest(values: NDArray[np.float64], names: Any) -> str:
    strongest = [i for i in np.argsort(-np.abs(values), kind="stable")[:FEATURES] if values[i]]
    return "Largest: " + (", ".join(f"{cut(names[i], 40)} {values[i]:.3g}" for i in strongest) or "none, all are 0")


def _labels(names: list[str], truth: Any, predicted: sparse.csr_matrix, p: NDArray[np.float64], row: int) -> Markup:
    """Labels that are there or were predicted, the likeliest first."""
    given = truth[[row]].toarray().ravel() if sparse.issparse(truth) else truth[row]
    chosen = predicted[[row]].toarray().ravel().astype(bool)
    there, known = np.nan_to_num(given).astype(bool), ~np.isnan(given.astype(np.float64))
    either = np.flatnonzero(there | (chosen & known))
    order = either[np.argsort(-p[row, either], kind="stable")]
    parts = []
    for label in order[:LABELS]:
        kind = ("right" if chosen[label] else "missed") if there[label] else "extra"
        said = {"right": "right", "missed": "missed", "extra": "wrong"}[kind]
        name = element("span", cut(names[label], 40), class_=kind, title=said)
        parts.append(element("span", name, " ", element("small", f"{p[row, label]:.2f}"), class_="label"))
    more = f" and {len(order) - LABELS} more" if len(order) > LABELS else ""
    empty = "" if len(order) else "No label is there, and none was predicted."
    return element("p", joined(*parts, between=" "), more, empty)
