"""A label tree on a network's features, trained by the likelihood of its two factors (:mod:`enstruct.encoders.label_tree`).

    -log p(y | x) = BCE(clusters, which are active) + sum over active c of BCE(labels of c, which are there)

In cycles, as networks are (:mod:`enstruct.training.loop`): the rate rises within the first tenth of the updates and falls to
nothing at their end, and then again, twice and four times as long, while the loss on validation rows fell by a twentieth within
the second half of a cycle. The last weights are kept: those of the lowest loss there rank labels worse (docs/choices.md). Weights
of a cluster's labels are moved when a row of a batch has it active, with moments of their own (torch's SparseAdam), so that an
update costs what its rows' clusters do.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from enstruct.baselines.label_clusters import label_clusters
from enstruct.data.rows import Rows
from enstruct.encoders.label_tree import LabelTree
from enstruct.encoders.sparse_mlp import csr_batch
from enstruct.errors import DivergenceError
from enstruct.randomness import generator, redirected

log = logging.getLogger("enstruct")

SIZE, FEWEST_CLUSTERS = 64, 8
"""Labels of a cluster at most; few labels are so many clusters nonetheless."""
BATCH, RATE, DECAY, RISE = 64, 1e-3, 1e-5, 0.1
EPOCHS, LEAST_UPDATES, MOST_UPDATES, FEWEST_EPOCHS = 30, 300, 5_000, 5
"""Of the first cycle."""
STILL_FALLS, MOST_CYCLES = 0.05, 3
JUDGED = 4096
"""Validation rows that the loss is taken on, at most."""


def fit_label_tree(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None = None,
    seed: int = 0,
    metric: str = "example-f1",
    should_stop: Callable[[], bool] = lambda: False,
) -> LabelTree:
    """``validation`` rows say whether another cycle begins; ``positive_weight`` (labels,) multiplies each label's odds;
    ``should_stop``: when to begin no other epoch, after the first.

    DivergenceError where the loss becomes no number.
    """
    Y = sparse.csr_matrix(train.Y)
    clusters = label_clusters(train.X, Y, min(SIZE, math.ceil(Y.shape[1] / FEWEST_CLUSTERS)), seed)
    with redirected():
        tree = LabelTree.of_clusters(clusters, train.X.shape[1])
    places = Places(tree)
    with torch.no_grad():
        tree.share.copy_(torch.from_numpy(_log_odds_in_clusters(Y, places.cluster, train.weight)))
        if positive_weight is not None:
            tree.shift.copy_(torch.from_numpy(np.log(np.maximum(positive_weight, 1e-6))))
    _train(tree, train, validation, places, should_stop)
    return tree.eval()


class Places:
    """Where labels are: ``cluster`` and ``place`` in it, both (labels,); ``shape``: (clusters, labels of each at most)."""

    def __init__(self, tree: LabelTree) -> None:
        self.cluster, self.place = (part.numpy() for part in tree.places())
        self.shape = tree.members.shape


class Pairs(NamedTuple):
    """Of a batch, ``active`` (rows, clusters) of 0 and 1; ``row`` and ``cluster`` (pairs,) where it is 1; ``y`` (pairs, size) the
    labels there."""

    active: Tensor
    row: Tensor
    cluster: Tensor
    y: Tensor


def pairs_of(Y: sparse.csr_matrix, places: Places) -> Pairs:
    """Of label sets Y (rows, labels)."""
    n_clusters, size = places.shape
    row = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    cells, pair = np.unique(row * n_clusters + places.cluster[Y.indices], return_inverse=True)
    y = np.zeros((len(cells), size), dtype=np.float32)
    y[pair, places.place[Y.indices]] = 1
    active = np.zeros(Y.shape[0] * n_clusters, dtype=np.float32)
    active[cells] = 1
    of_pair = torch.from_numpy(cells // n_clusters), torch.from_numpy(cells % n_clusters)
    return Pairs(torch.from_numpy(active.reshape(-1, n_clusters)), *of_pair, torch.from_numpy(y))


def tree_loss(tree: LabelTree, x: Tensor, pairs: Pairs) -> Tensor:
    """(rows,) -log p(y | x), in nats."""
    h = tree.encoder(x)
    loss = F.binary_cross_entropy_with_logits(tree.clusters(h), pairs.active, reduction="none").sum(1)
    within = tree.within(h[pairs.row], pairs.cluster)
    is_label = tree.members[pairs.cluster] >= 0
    of_pairs = (F.binary_cross_entropy_with_logits(within, pairs.y, reduction="none") * is_label).sum(1)
    return loss.index_add(0, pairs.row, of_pairs)


def _log_odds_in_clusters(Y: sparse.csr_matrix, cluster: NDArray[np.intp], weight: NDArray[Any] | None) -> NDArray[np.float32]:
    """(labels,) of each in the rows in which its cluster is active, half a row of either kind added."""
    rows = np.ones(Y.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
    of_label = np.asarray(Y.astype(np.float64).T @ rows).ravel()
    belongs = sparse.csr_matrix((np.ones(len(cluster)), (np.arange(len(cluster)), cluster)))
    active = (Y.astype(np.float64) @ belongs) > 0
    of_cluster = np.asarray(active.T.astype(np.float64) @ rows).ravel()
    return np.log((of_label + 0.5) / (np.maximum(of_cluster[cluster] - of_label, 0) + 0.5)).astype(np.float32)


def _train(tree: LabelTree, train: Rows, validation: Rows | None, places: Places, should_stop: Callable[[], bool]) -> None:
    optimizers = (
        torch.optim.AdamW([*tree.encoder.parameters(), *tree.clusters.parameters()], weight_decay=DECAY, fused=True),
        torch.optim.SparseAdam(list(tree.labels.parameters())),
    )
    per_epoch = math.ceil(len(train) / BATCH)
    first = min(max(EPOCHS, math.ceil(LEAST_UPDATES / per_epoch)), max(FEWEST_EPOCHS, MOST_UPDATES // per_epoch))
    for cycle in range(MOST_CYCLES):
        epochs = 2**cycle * first
        half = math.inf
        for epoch in range(epochs):
            if epoch == epochs // 2:
                half = _held_out(tree, validation, places)
            _train_epoch(tree, train, places, optimizers, epoch / epochs, 1 / epochs)
            if should_stop():
                return
        loss = _held_out(tree, validation, places)
        log.info("label tree: %d epochs, held-out loss %.3f, at half of them %.3f", epochs, loss, half)
        if validation is None or loss > (1 - STILL_FALLS) * half:
            return


def _train_epoch(
    tree: LabelTree, train: Rows, places: Places, optimizers: Sequence[torch.optim.Optimizer], begin: float, share: float
) -> None:
    """An epoch that is such a ``share`` of its cycle and begins where that of it is gone."""
    tree.train()
    batches = torch.randperm(len(train), generator=generator("cpu")).split(BATCH)
    for number, rows in enumerate(batches):
        gone = begin + share * number / len(batches)
        for optimizer in optimizers:
            optimizer.zero_grad()
            optimizer.param_groups[0]["lr"] = RATE * min((gone + share / len(batches)) / RISE, (1 - gone) / (1 - RISE))
        loss = _loss_of(tree, train.take(rows.numpy()), places)
        if not torch.isfinite(loss):
            raise DivergenceError(
                "The label tree's loss became infinite: standardise the features (standardize=True), or divide them by their "
                "largest."
            )
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()


@torch.no_grad()
def _held_out(tree: LabelTree, validation: Rows | None, places: Places) -> float:
    """The mean loss over validation rows; infinite without any."""
    if validation is None:
        return math.inf
    tree.eval()
    rows = np.linspace(0, len(validation) - 1, min(len(validation), JUDGED)).astype(int)
    parts = np.array_split(rows, math.ceil(len(rows) / 1024))
    return sum(len(part) / len(rows) * float(_loss_of(tree, validation.take(part), places)) for part in parts)


def _loss_of(tree: LabelTree, rows: Rows, places: Places) -> Tensor:
    """The weighted mean over these rows."""
    x = csr_batch(rows.X) if sparse.issparse(rows.X) else torch.as_tensor(np.asarray(rows.X), dtype=torch.float32)
    losses = tree_loss(tree, x, pairs_of(sparse.csr_matrix(rows.Y), places))
    return losses.mean() if rows.weight is None else (losses * torch.as_tensor(rows.weight, dtype=losses.dtype)).mean()
