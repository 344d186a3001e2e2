"""Logistic regressions along a tree of labels: very many labels at the cost of few.

One-vs-rest fits every label to every row. Here a label is fitted to the rows that have any label of its cluster, and a cluster to
those that have any of its parent's (:mod:`enstruct.encoders.label_tree`). What a row costs in training grows with the logarithm
of the number of labels, and so in prediction, beside its line of the table of answers. Up to ``LEAF`` labels the tree is its
root, and this is one-vs-rest.

    minimise at each node n      sum over rows of its parent  s_i log(1 + exp(-(2 y_in - 1) z_in)) + |(w_n, b_n / SCALING)|^2 / 2C

by liblinear. C is the one of ``C_GRID`` under which held-out rows are likeliest at some nodes of the tree; without validation
rows 1, of CSR rows 10. Weights that move no row by ``PRUNED`` times what the node's largest does are dropped, and their mean goes
into the intercept: they are most of them, as a label of few rows has a small weight for every word of the rows of its cluster.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_expit

from enstruct.baselines.binary_relevance import UNTUNED, UNTUNED_ON_TEXTS
from enstruct.baselines.label_clusters import clustered, vectors_of_labels
from enstruct.baselines.linear import CERTAIN
from enstruct.baselines.logistic import SCALING
from enstruct.data.rows import Rows
from enstruct.encoders.label_tree import LabelTree, Level
from enstruct.errors import DataError

LEAF, ARITY = 100, 5
"""Labels of a node of the last level but one at most; halvings from one level to the next at most."""
C_GRID = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
TRIED, MOST_TRIED_ROWS = 4, 20_000
"""Nodes that C is chosen at, and rows of each, at most."""
LARGEST = 1e30
"""Numbers that liblinear takes."""
PRUNED = 0.01


class Node(NamedTuple):
    """``rows`` that have any of its labels; ``children``: of each child its labels."""

    rows: NDArray[np.intp]
    children: list[NDArray[np.intp]]


def having_any(Y: Any, children: list[NDArray[np.intp]]) -> sparse.csc_matrix:
    """(rows, children) the sum of Y (rows, labels) over each child's labels."""
    places = np.repeat(np.arange(len(children)), [len(child) for child in children])
    groups = sparse.csr_matrix((np.ones(len(places)), (np.concatenate(children), places)), (Y.shape[1], len(children)))
    sums = sparse.csc_matrix(sparse.csr_matrix(Y, dtype=np.float64) @ groups)
    sums.sort_indices()
    return sums


class Model(NamedTuple):
    """Of a node's children: CSR weights (children, features) and intercepts (children,)."""

    weights: sparse.csr_matrix
    bias: NDArray[np.float64]


def fit_label_tree(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None = None,
    seed: int = 0,
    metric: str = "example-f1",
    should_stop: Callable[[], bool] = lambda: False,
    C: float | None = None,
) -> LabelTree:
    """``positive_weight`` (labels,) of positive rows, of a cluster's the mean of those of its labels that they have;
    ``should_stop`` says when to try no other C any more; ``C``: this one."""
    from sklearn.exceptions import ConvergenceWarning  # only here: networks do without

    X, Y = sparse.csr_matrix(train.X, dtype=np.float64), sparse.csr_matrix(train.Y)
    fit = _Fit(X, Y, train.weight, positive_weight)
    levels = [fit.nodes(of_level) for of_level in _tree(X, Y, seed)]
    untuned = UNTUNED_ON_TEXTS if sparse.issparse(train.X) else UNTUNED
    labels = np.concatenate([label for node in levels[-1] for label in node.children])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what is nearly the optimum answers as well
        if C is None and validation is not None:
            C = _chosen(fit, [node for level in levels for node in level], validation, untuned, seed, should_stop)
        C = untuned if C is None else C
        tree = LabelTree.of_levels([fit.level(level, C) for level in levels], labels)
    tree.chosen = {"C": C}
    return tree


def _tree(X: Any, Y: sparse.csr_matrix, seed: int) -> list[list[list[NDArray[np.intp]]]]:
    """Of each level from the root's on, of each of its nodes, the labels of each child; the last level's children are labels."""
    depth = max(0, math.ceil(math.log2(max(1, Y.shape[1]) / LEAF)))
    steps = max(1, math.ceil(depth / ARITY))
    leaves = clustered(vectors_of_labels(X, Y), depth, seed) if depth else [np.arange(Y.shape[1])]
    levels = [[np.concatenate(part) for part in _parts(leaves, 2 ** (depth * k // steps))] for k in range(steps + (depth > 0))]
    above = [_parts(children, len(parents)) for parents, children in pairwise(levels)]
    return [*above, [np.split(leaf, len(leaf)) for leaf in leaves]]


def _parts(nodes: list[NDArray[np.intp]], n: int) -> list[list[NDArray[np.intp]]]:
    size = len(nodes) // n
    return [nodes[k * size : (k + 1) * size] for k in range(n)]


class _Fit:
    """The training rows, and the fits of nodes to them."""

    def __init__(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, weight: NDArray[Any] | None, positive: NDArray[Any] | None
    ) -> None:
        self.X, self.Y, self._columns = X, Y, sparse.csc_matrix(Y)
        self.weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
        self.positive = positive

    def nodes(self, of_level: list[list[NDArray[np.intp]]]) -> list[Node]:
        """Those with these children; of one alone, the root, the rows are all there are."""
        if len(of_level) == 1:
            return [Node(np.arange(self.X.shape[0]), of_level[0])]
        return [Node(np.unique(self._columns[:, np.concatenate(children)].indices), children) for children in of_level]

    def level(self, nodes: list[Node], C: float) -> Level:
        import torch
        from sklearn.utils.parallel import Parallel, delayed  # only here: networks do without

        models = Parallel(n_jobs=torch.get_num_threads(), require="sharedmem")(delayed(self.node)(node, C) for node in nodes)
        first = np.concatenate([[0], np.cumsum([len(node.children) for node in nodes])])
        weights = sparse.csr_matrix(sparse.vstack([model.weights for model in models]))
        return Level(first, weights, np.concatenate([model.bias for model in models]).astype(np.float32))

    def node(self, node: Node, C: float, rows: NDArray[np.intp] | None = None) -> Model:
        """Its children on the node's rows, or on these of them."""
        rows = node.rows if rows is None else rows
        X, weight = self.X[rows], self.weight[rows]
        present = np.unique(X.indices)  # terms that none of them has get no weight
        X = X[:, present]
        largest = np.abs(X).max(axis=0).toarray().ravel() if X.nnz else np.zeros(X.shape[1])
        any_of = having_any(self.Y[rows], node.children)
        times = None if self.positive is None else having_any(self.Y[rows].multiply(self.positive), node.children)
        weights, bias = [], np.zeros(len(node.children))
        for k in range(len(node.children)):
            count = any_of[:, [k]].toarray().ravel()
            y, s = count > 0, weight
            if times is not None:
                s = weight * np.where(y, times[:, [k]].toarray().ravel() / np.maximum(count, 1.0), 1.0)
            w = np.zeros(len(present))
            if not s[y].sum() or not s[~y].sum():  # one of two answers has no row
                bias[k] = CERTAIN if s[y].sum() else -CERTAIN
            else:
                w, bias[k] = self._logistic(X, y, s, C)
                reach = np.abs(w) * largest
                small = reach < PRUNED * reach.max(initial=0.0)
                bias[k] += float((X @ np.where(small, w, 0.0)).mean())
                w = np.where(small, 0.0, w)
            weights.append(w)
        few = sparse.csr_matrix(np.stack(weights, dtype=np.float32))
        few.resize(few.shape[0], self.X.shape[1])
        few.indices = present[few.indices].astype(np.int32)
        return Model(few, bias)

    def _logistic(self, X: Any, y: NDArray[np.bool_], weight: NDArray[np.float64], C: float) -> tuple[NDArray[Any], float]:
        """Weights and intercept; of rows without features the log-odds alone, half a row of each kind more."""
        from sklearn.linear_model import LogisticRegression  # only here: networks do without

        if abs(X.data).max(initial=0.0) > LARGEST:
            raise DataError(f"X holds numbers beyond {LARGEST:g}, which liblinear does not take: divide them first.")
        if not X.shape[1]:
            return np.zeros(0), math.log((weight[y].sum() + 0.5) / (weight[~y].sum() + 0.5))
        # of its dual the random numbers would be shared among threads
        model = LogisticRegression(solver="liblinear", C=C, dual=False, intercept_scaling=SCALING, tol=1e-3, max_iter=1000)
        model.fit(X, y, sample_weight=weight)
        return model.coef_[0], float(model.intercept_[0])


def _chosen(fit: _Fit, nodes: list[Node], validation: Rows, start: float, seed: int, should_stop: Callable[[], bool]) -> float:
    """The C under which validation rows are likeliest at some of the nodes: uphill from ``start``, one way and then the other."""
    rng = np.random.default_rng(seed)
    some = [nodes[k] for k in rng.permutation(len(nodes))[:TRIED]]
    parts = [rng.permutation(node.rows)[:MOST_TRIED_ROWS] for node in some]
    X = sparse.csr_matrix(validation.X, dtype=np.float64)
    weights = np.ones(X.shape[0]) if validation.weight is None else validation.weight
    root = nodes[0]

    def nats(C: float) -> float:
        total = 0.0
        for node, part in zip(some, parts, strict=True):
            truth = having_any(validation.Y, node.children).toarray() > 0
            rows = np.flatnonzero(truth.any(1) | (node is root))
            if not len(rows):
                continue
            model = fit.node(node, C, np.sort(part))
            z = np.asarray((X[rows] @ model.weights.T).todense()) + model.bias
            total -= float((weights[rows, None] * log_expit(np.where(truth[rows], z, -z))).sum())
        return total

    place = C_GRID.index(start)
    best = nats(start)
    tried = {place}
    for way in (1, -1):
        while not should_stop() and (further := place + way) in range(len(C_GRID)) and further not in tried:
            tried.add(further)
            there = nats(C_GRID[further])
            if there >= best:
                break
            place, best = further, there
    return C_GRID[place]
