"""Label hierarchies: a label implies its ancestors.

ARFF's ``hierarchical`` class attribute declares either the paths of a tree (``01,01/01,01/01/03``) or the
edges of a graph (``root/GO:1,GO:1/GO:2``); rows list their most specific labels joined by ``@``. Label
sets are closed upwards. The artificial root that the published systems count as a label is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.errors import DataError, shown

ROOT = "root"
MOST_CELLS = 2**26
"""Of label sets that are closed at a time, which takes a byte for each label of each row."""


@dataclass(frozen=True)
class Hierarchy:
    """``edges``: pairs (parent, child) of label numbers; acyclic."""

    n_labels: int
    edges: tuple[tuple[int, int], ...]

    @cached_property
    def _parents(self) -> dict[int, list[int]]:
        """Of every label that has any."""
        parents: dict[int, list[int]] = {}
        for parent, child in self.edges:
            if not isinstance(parent, (int, np.integer)) or not isinstance(child, (int, np.integer)):
                raise DataError(
                    f"A label hierarchy goes by label numbers, and has the edge {shown((parent, child), 60)}: for names give "
                    "Implies(child, parent) of enstruct.rules, one an edge."
                )
            if not (0 <= parent < self.n_labels and 0 <= child < self.n_labels):
                raise DataError(f"The label hierarchy has the edge {(parent, child)}, and labels 0 to {self.n_labels - 1}.")
            if parent != child:  # every label implies itself
                parents.setdefault(child, []).append(parent)
        return parents

    @cached_property
    def _order(self) -> list[int]:
        """Labels that are parents or children, children first. DataError for a cycle."""
        sorter: TopologicalSorter[int] = TopologicalSorter()
        for child, parents in self._parents.items():
            for parent in parents:
                sorter.add(parent, child)
        try:
            return [*sorter.static_order()]
        except CycleError as error:
            around = " above ".join(map(str, error.args[1][:6]))
            raise DataError(f"The label hierarchy contains a cycle: {around}. Leave one of these edges out.") from None

    def check(self) -> None:
        """DataError for an edge to a label that is none, and for a cycle."""
        _ = self._order

    def close(self, Y: Any) -> sparse.csr_matrix:
        """Every label set with the ancestors of its labels, as CSR (rows, labels) of uint8. DataError for a cycle."""
        label_sets = sparse.csr_matrix(Y, dtype=bool)
        if label_sets.shape[1] != self.n_labels:
            raise DataError(f"Y has {label_sets.shape[1]} labels, the hierarchy {self.n_labels}.")
        step = max(1, MOST_CELLS // max(self.n_labels, 1))
        blocks = (label_sets[start : start + step].toarray(order="F") for start in range(0, max(label_sets.shape[0], 1), step))
        return as_indicator(sparse.vstack([sparse.csr_matrix(self.raise_parents(block)) for block in blocks]))

    def raise_parents(self, p: NDArray[Any]) -> NDArray[Any]:
        """Marginals in which no label is more probable than what it implies: p_a = max over its descendants."""
        out = p.copy(order="K")
        for label in self._order:
            for parent in self._parents.get(label, ()):
                np.maximum(out[:, parent], out[:, label], out=out[:, parent])
        return out


def parse_hierarchy(declared: str) -> tuple[list[str], Hierarchy, dict[str, int]]:
    """Label names, hierarchy, and the label number of every string a row may use."""
    entries = [entry.strip() for entry in declared.split(",") if entry.strip()]
    known = set(entries)
    nested = [entry for entry in entries if "/" in entry]
    if all(entry.rsplit("/", 1)[0] in known for entry in nested):  # paths of a tree
        names = list(dict.fromkeys(entry for entry in entries if entry != ROOT))
        pairs = [(e.rsplit("/", 1)[0], e) for e in nested]
    else:  # edges of a graph
        pairs = [(e.split("/", 1)[0], e.split("/", 1)[1]) for e in nested]
        names = list(dict.fromkeys(n for pair in pairs for n in pair if n != ROOT))
    number = {name: i for i, name in enumerate(names)}
    edges = tuple(dict.fromkeys((number[p], number[c]) for p, c in pairs if p in number and c in number))
    return names, Hierarchy(len(names), edges), number
