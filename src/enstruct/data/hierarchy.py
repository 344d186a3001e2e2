"""Label hierarchies: a label implies its ancestors.

ARFF's ``hierarchical`` class attribute declares either the paths of a tree (``01,01/01,01/01/03``) or the
edges of a graph (``root/GO:1,GO:1/GO:2``); rows list their most specific labels joined by ``@``. Label
sets are closed upwards. The artificial root that the published systems count as a label is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.errors import DataError

ROOT = "root"


@dataclass(frozen=True)
class Hierarchy:
    """``edges``: pairs (parent, child) of label numbers; acyclic."""

    n_labels: int
    edges: tuple[tuple[int, int], ...]

    @cached_property
    def ancestors(self) -> sparse.csr_matrix:
        """(labels, labels): entry (l, a) is 1 when a is l or implied by l."""
        child_to_parent = sparse.csr_matrix(
            (np.ones(len(self.edges), np.uint8), ([c for _, c in self.edges], [p for p, _ in self.edges])),
            shape=(self.n_labels, self.n_labels),
        )
        reach = (sparse.identity(self.n_labels, dtype=np.uint8, format="csr") + child_to_parent).astype(bool)
        for _ in range(self.n_labels.bit_length() + 1):
            further = (reach @ reach).astype(bool)
            if further.nnz == reach.nnz:
                break
            reach = further
        cyclic = reach.multiply(reach.T)
        if cyclic.nnz > self.n_labels:
            raise DataError("The label hierarchy contains a cycle.")
        return reach.astype(np.uint8)

    def close(self, Y: Any) -> sparse.csr_matrix:
        """Every label set with the ancestors of its labels."""
        return (sparse.csr_matrix(Y).astype(np.int32) @ self.ancestors.astype(np.int32) > 0).astype(np.uint8).tocsr()

    def raise_parents(self, p: NDArray[Any]) -> NDArray[Any]:
        """Marginals in which no label is more probable than what it implies: p_a = max over its descendants."""
        out = p.copy()
        columns = self.ancestors.tocsc()
        for label in range(self.n_labels):
            below = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
            if len(below) > 1:
                out[:, label] = p[:, below].max(1)
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
