"""Chains of labels that nothing but rules ties together: those that share no inequality are drawn at once.

Such labels say nothing of one another while all others are as they are, so that drawing them all from their conditionals is a
sweep's work of as many steps, in one operation (chromatic Gibbs sampling, Gonzalez et al. 2011). A hierarchy of thousands of
labels takes as many steps a sweep as it has levels.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from enstruct.rules import RuleSystem


class Block(NamedTuple):
    """``labels`` (k,) that share no inequality. Of each of their n places in an inequality: ``at`` (n,) which one, ``of`` (n,) of
    which of the labels, and its ``sign``, ``decisive`` reach and ``gain`` (n, 1, 1) as :class:`~enstruct.joint.ruled.Compiled`
    has them."""

    labels: Tensor
    at: Tensor
    of: Tensor
    sign: Tensor
    decisive: Tensor
    gain: Tensor

    def among(self, kept: Tensor) -> Self:
        """Of the labels that are ``kept`` (all labels,) alone."""
        there = kept[self.labels]
        some, place = there[self.of], there.cumsum(0) - 1
        rest = (part[some] for part in (self.sign, self.decisive, self.gain))
        return type(self)(self.labels[there], self.at[some], place[self.of[some]], *rest)

    def odds(self, reached: Tensor, y: Tensor) -> Tensor:
        """(k, rows, chains) what rules add to the labels' log-odds, where they are y (k, rows, chains) and inequalities reach
        ``reached`` (inequalities, rows, chains)."""
        without = torch.addcmul(reached[self.at], self.sign, y[self.of], value=-1)
        return torch.zeros_like(y).index_add_(0, self.of, (without == self.decisive) * self.gain)

    def carry(self, reached: Tensor, change: Tensor) -> None:
        """Add to ``reached`` what labels that change by ``change`` (k, rows, chains) do, in place."""
        reached.index_add_(0, self.at, self.sign * change[self.of])


def blocks_of(system: RuleSystem, sign: list[Tensor], decisive: list[Tensor], gain: list[Tensor]) -> list[Block]:
    """Every label in one of them; where nothing but a hierarchy ties them lower labels come first. The lists: of each label, as
    ``Compiled`` has them."""
    A = system.matrix.tocsc()
    colours = _colours(A, _height(system))
    blocks = []
    for colour in range(int(colours.max(initial=-1)) + 1):
        labels = np.flatnonzero(colours == colour)
        ends = [A.indices[A.indptr[t] : A.indptr[t + 1]] for t in labels]
        of = np.repeat(np.arange(len(labels)), [len(each) for each in ends])
        parts = (torch.cat([side[t].view(-1, 1, 1) for t in labels.tolist()]) for side in (sign, decisive, gain))
        at = torch.from_numpy(np.concatenate(ends).astype(np.int64))
        blocks.append(Block(torch.from_numpy(labels), at, torch.from_numpy(of), *parts))
    return blocks


def _height(system: RuleSystem) -> NDArray[np.intp]:
    """(labels,) of steps that lead to a label from below, at most."""
    height = np.zeros(system.n_labels, dtype=np.intp)
    for below, above in system.upwards:
        height[above] = max(height[above], height[below] + 1)
    return height


def _colours(A: sparse.csc_matrix, height: NDArray[np.intp]) -> NDArray[np.intp]:
    """(labels,) numbers from 0 of which labels that share a row of A have different ones, none lower than their height."""
    colours = np.zeros(A.shape[1], dtype=np.intp)
    taken: list[set[int]] = [set() for _ in range(A.shape[0])]
    for label in np.argsort(height, kind="stable").tolist():
        rows = A.indices[A.indptr[label] : A.indptr[label + 1]].tolist()
        near = set().union(*(taken[row] for row in rows))
        colour = int(height[label])
        while colour in near:
            colour += 1
        colours[label] = colour
        for row in rows:
            taken[row].add(colour)
    return colours
