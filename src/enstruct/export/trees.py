"""Forests and boosted trees in a graph: all trees are walked at once, as many steps as the deepest one has.

    node <- x[feature[node]] <= threshold[node] ? left[node] : right[node]       a leaf leads to itself

A forest's answer is a weighted mean of training rows' label sets (:mod:`enstruct.encoders.forest`), here by comparing the leaves
that a row falls into with those of all training rows, some trees at a time: a table of leaves by labels would be larger than the
forest many times over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.encoders.boosted import BoostedTrees
from enstruct.encoders.forest import CERTAIN, Forest

AT_A_TIME = 10
"""Trees whose leaves are compared at a time."""


class _Walk(nn.Module):
    """x (rows, columns) -> the leaf of each tree (rows, trees), by its number among all nodes."""

    feature: Tensor
    left: Tensor
    right: Tensor
    root: Tensor
    threshold: Tensor

    def __init__(self, feature: Tensor, threshold: Tensor, left: Tensor, right: Tensor, root: Tensor) -> None:
        super().__init__()
        tables = {"feature": feature.long(), "left": left.long(), "right": right.long(), "root": root.long()}
        for name, table in tables.items():
            self.register_buffer(name, table.int())
        self.register_buffer("threshold", threshold)
        self.depth = _depth(tables["left"].numpy(), tables["right"].numpy(), tables["root"].numpy())

    def forward(self, x: Tensor) -> Tensor:
        node = self.root.long().unsqueeze(0).expand(x.shape[0], -1)
        feature, left, right = self.feature.long(), self.left.long(), self.right.long()
        for _ in range(self.depth):
            goes_left = x.gather(1, feature[node]) <= self.threshold[node]
            node = torch.where(goes_left, left[node], right[node])
        return node


def _depth(left: NDArray[Any], right: NDArray[Any], root: NDArray[Any]) -> int:
    depth, level = 0, np.unique(root)
    while len(inner := level[left[level] != level]):
        depth, level = depth + 1, np.unique(np.concatenate([left[inner], right[inner]]))
    return depth


class BoostedGraph(nn.Module):
    """x (rows, features) -> logits (rows, labels)."""

    value: Tensor
    label: Tensor
    bias: Tensor

    def __init__(self, trees: BoostedTrees) -> None:
        super().__init__()
        self.walk = _Walk(trees.feature, trees.threshold, trees.left, trees.right, trees.root)
        self.register_buffer("value", trees.value)
        self.register_buffer("label", trees.label)
        self.register_buffer("bias", trees.bias)

    def forward(self, x: Tensor) -> Tensor:
        bias = self.bias.unsqueeze(0).expand(x.shape[0], -1)
        if not self.label.numel():
            return bias.clone()
        values = self.value[self.walk(x)]
        return bias.scatter_add(1, self.label.long().unsqueeze(0).expand(x.shape[0], -1), values)


class ForestGraph(nn.Module):
    """x (rows, features) -> logits (rows, labels)."""

    columns: Tensor
    mass: Tensor
    leaf_of: Tensor
    row: Tensor
    label: Tensor
    weight: Tensor
    shift: Tensor

    def __init__(self, forest: Forest) -> None:
        super().__init__()
        self.walk = _Walk(forest.feature, forest.threshold, forest.left, forest.right, forest.roots)
        self.register_buffer("columns", forest.columns)
        self.register_buffer("mass", forest.mass)
        self.register_buffer("leaf_of", _leaves_of_training(forest))  # (trees, training rows)
        sizes = forest.labels_rows.diff()
        self.register_buffer("row", torch.repeat_interleave(torch.arange(len(sizes), dtype=torch.int32), sizes))
        self.register_buffer("label", forest.labels_columns)
        self.register_buffer("weight", forest.labels_values)
        self.register_buffer("shift", forest.shift)
        self.n_training, self.n_labels = len(sizes), len(forest.shift)

    def forward(self, x: Tensor) -> Tensor:
        leaf = self.walk(x.index_select(1, self.columns))
        mass, leaf_of = self.mass[leaf], self.leaf_of
        n_trees = leaf_of.shape[0]
        share = torch.where(mass > 0, 1 / (n_trees * torch.where(mass > 0, mass, 1.0)), 0.0)
        w = torch.zeros_like(share[:, :1])
        for first in range(0, n_trees, AT_A_TIME):
            some = slice(first, first + AT_A_TIME)
            same = leaf[:, some].unsqueeze(2) == leaf_of[some].long().unsqueeze(0)
            w = w + torch.where(same, share[:, some].unsqueeze(2), 0.0).sum(1)
        labels = torch.zeros(self.n_training * self.n_labels, dtype=torch.float64)
        places = self.row.long() * self.n_labels + self.label.long()
        labels = labels.scatter(0, places, self.weight.double())
        p = (w @ labels.view(self.n_training, self.n_labels)).clamp(CERTAIN, 1 - CERTAIN)
        return (p.log() - torch.log1p(-p) + self.shift).float()


def _leaves_of_training(forest: Forest) -> Tensor:
    """(trees, training rows) the leaf that each falls into, by its number among all nodes."""
    n_training, n_trees = len(forest.labels_rows) - 1, len(forest.roots)
    size = forest.size.long()
    in_order = torch.argsort(forest.first + (size == 0) * len(forest.members), stable=True)  # nodes without rows last
    leaf = torch.repeat_interleave(in_order, size[in_order]).view(n_trees, n_training)
    return torch.empty(n_trees, n_training, dtype=torch.int32).scatter(1, forest.members.view(n_trees, -1).long(), leaf.int())
