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
    def _parents(self) -> dict[int, list[int]]:
        """Of every label that has any."""
        found: dict[int, list[int]] = {}
        for parent, child in self.edges:
            if not (0 <= parent < self.n_labels and 0 <= child < self.n_labels):
                raise DataError(f"The label hierarchy has the edge {(parent, child)}, and labels 0 to {self.n_labels - 1}.")
            if parent != child:  # every label implies itself
                found.setdefault(child, []).append(parent)
        return found

    @cached_property
    def _order(self) -> list[int]:
        """Labels that are parents or children, children first. DataError for a cycle."""
        waiting: dict[int, int] = dict.fromkeys(self._parents, 0)  # label -> children that have not had their turn
        for parents in self._parents.values():
            for parent in parents:
                waiting[parent] = waiting.get(parent, 0) + 1
        order = [label for label, children in waiting.items() if children == 0]
        for label in order:  # grows as it is read
            for parent in self._parents.get(label, ()):
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    order.append(parent)
        if len(order) < len(waiting):
            raise DataError("The label hierarchy contains a cycle.")
        return order

    @cached_property
    def _levels(self) -> tuple[NDArray[np.int64], sparse.csr_matrix]:
        """(labels,) the most edges between a label and one without children; (labels, labels) CSR of each label's parents."""
        level = np.zeros(self.n_labels, dtype=np.int64)
        for label in self._order:
            for parent in self._parents.get(label, ()):
                level[parent] = max(level[parent], level[label] + 1)
        pairs = [(child, parent) for child, parents in self._parents.items() for parent in parents]
        children, parents = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        shape = (self.n_labels, self.n_labels)
        return level, sparse.csr_matrix((np.ones(len(pairs), dtype=np.uint8), (children, parents)), shape=shape)

    def close(self, Y: Any) -> sparse.csr_matrix:
        """Every label set with the ancestors of its labels, as CSR (rows, labels) of uint8. DataError for a cycle.

        Labels are looked at level by level, children first, so that each entry is expanded once: the closure of the whole
        hierarchy, quadratic in the length of a chain, is never laid out.
        """
        given = sparse.csr_matrix(Y)
        if given.shape[1] != self.n_labels:
            raise DataError(f"Y has {given.shape[1]} labels, the hierarchy {self.n_labels}.")
        level, parents = self._levels
        row, label = (values.astype(np.int64) for values in given.nonzero())
        done: list[NDArray[np.int64]] = []
        waiting: dict[int, list[NDArray[np.int64]]] = {}

        def put(keys: NDArray[np.int64]) -> None:
            """Entries, as row times labels plus label, wait for the turn of their label's level."""
            height = level[keys % self.n_labels]
            order = np.argsort(height, kind="stable")
            ends = np.flatnonzero(np.diff(height[order])) + 1
            for part in np.split(keys[order], ends):
                waiting.setdefault(int(level[part[0] % self.n_labels]), []).append(part)

        if len(row):
            put(row * self.n_labels + label)
        for height in range(int(level.max(initial=0)) + 1):
            if height not in waiting:
                continue
            keys = np.unique(np.concatenate(waiting.pop(height)))
            done.append(keys)
            label = keys % self.n_labels
            many = np.diff(parents.indptr)[label]
            if many.any():
                begin = np.repeat(parents.indptr[label] - np.cumsum(many) + many, many)
                found = parents.indices[begin + np.arange(len(begin))]
                put(np.repeat(keys - label, many) + found)
        every = np.concatenate(done) if done else np.zeros(0, dtype=np.int64)
        row, label = np.divmod(np.sort(every), max(self.n_labels, 1))
        return sparse.csr_matrix((np.ones(len(row), dtype=np.uint8), (row, label)), shape=given.shape)

    def raise_parents(self, p: NDArray[Any]) -> NDArray[Any]:
        """Marginals in which no label is more probable than what it implies: p_a = max over its descendants."""
        out = p.copy()
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
