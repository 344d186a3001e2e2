"""The section on data and model: how much there is, of what, and what it is that answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.report.blocks import beside, facts, share, table, whole
from enstruct.report.formats import model_facts, versions
from enstruct.report.markup import Markup, cut
from enstruct.report.page import Section
from enstruct.report.svg import box, drawing

SHOWN = 10
"""Labels at either end."""


def about_section(counts: dict[str, Any], blocks: list[Markup], model: Any, rule: str) -> Section:
    """``counts`` of the data, by name; ``blocks`` that come after them."""
    of_model = {**model_facts(model), "decision in force": rule, "made with": versions()}
    return Section("data", "Data and model", [facts(counts), *blocks, facts(of_model)])


def label_counts(truth: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(labels,) rows that have each label, rows of which it is known."""
    if sparse.issparse(truth):
        return np.asarray(truth.sum(0)).ravel().astype(np.int64), np.full(truth.shape[1], truth.shape[0])
    known = ~np.isnan(truth)
    return np.nansum(truth, axis=0).astype(np.int64), known.sum(0)


def label_facts(truth: Any) -> dict[str, Any]:
    """Cardinality: labels that a row has on average, of those known; density: that over the number of labels known of a row."""
    there, known = label_counts(truth)
    rows, cells = truth.shape[0], int(known.sum())
    unknown = truth.shape[0] * truth.shape[1] - cells
    told: dict[str, Any] = {
        "labels": whole(truth.shape[1]),
        "label cardinality": f"{there.sum() / max(rows, 1):.3f} a row",
        "label density": f"{share(there.sum() / max(cells, 1), 2)}%",
    }
    if not sparse.issparse(truth) or unknown:
        told["label cells unknown"] = f"{whole(unknown)} ({share(unknown / max(1, truth.size))}%)"
    return told


def label_tables(truth: Any, names: list[str]) -> Markup:
    """The labels that most rows have, and the rarest; all of them where they are few."""
    there, known = label_counts(truth)
    shares = there / np.maximum(known, 1)
    order = np.argsort(-shares, kind="stable")
    largest = float(shares.max(initial=0)) or 1.0

    def rows(which: Any, name: str) -> list[list[Any]]:
        return [
            [cut(names[i], 40), whole(int(there[i])), share(shares[i]) + "%", _bar(f"{name}-{k}", names[i], shares[i] / largest)]
            for k, i in enumerate(which)
        ]

    columns = ["label", "rows", "share", ""]
    if len(names) <= 2 * SHOWN:
        half = -(-len(order) // 2)
        blocks = [(order[:half], "Labels, the most frequent first"), (order[half:], "The others")]
    else:
        blocks = [(order[:SHOWN], "The most frequent labels"), (order[::-1][:SHOWN], "The rarest labels")]
    of_both = [
        table(caption, columns, rows(which, f"share-{side}"), words=(0, 3))
        for side, (which, caption) in enumerate(blocks)
        if len(which)
    ]
    return beside(*of_both)


def _bar(name: str, label: str, share_of_largest: float) -> Markup:
    return drawing(
        name,
        90,
        12,
        f"Share of rows with {cut(label, 40)}",
        f"{100 * share_of_largest:.0f}% of the most frequent label's",
        box(0, 3, 90 * share_of_largest, 7, "of-first"),
    )
