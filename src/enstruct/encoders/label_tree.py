"""A probabilistic label tree of two levels on a network's features: thousands of labels at the cost of hundreds.

Labels lie in clusters of one size (:mod:`enstruct.baselines.label_clusters`), and with h = encoder(x)

    p(y_l = 1 | x) = p(c is active | x) p(y_l = 1 | x, c is active),      c: l's cluster, active where any of its labels is there

    p(c is active | x) = sigma(a_c . h + b_c),      p(y_l = 1 | x, c is active) = sigma(w_l . h + v_l)

(Jasinska et al. 2016). A row teaches the labels of its active clusters alone, and yet these are the marginals: no labels are
sampled, so that nothing needs correcting. At prediction the labels of the ``BEAM`` most probable clusters are looked at; of
another cluster's the second factor is their share of the training rows that had the cluster active.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.encoders.mlp import MLP
from enstruct.randomness import redirected, seeded

HIDDEN, LAYERS, DROPOUT = 400, 2, 0.5
BEAM = 32
"""Clusters whose labels are looked at for a row."""
CERTAIN = 1e-7
"""Marginals stay so far from 1: logits are finite, in single precision too."""


class LabelTree(nn.Module):
    """x (rows, features), dense or CSR -> logits (rows, labels) of the p above, plus ``shift`` (labels,).

    ``members`` (clusters, size): the labels of each cluster, -1 where it has fewer; ``share`` (labels,): log-odds of a label in
    rows that have its cluster active. Weights and bias of all labels of a cluster are one row of ``labels``: training reads and
    changes those of active clusters alone.
    """

    members: Tensor
    share: Tensor
    shift: Tensor

    def __init__(self, members: Tensor, n_features: int) -> None:
        super().__init__()
        self.encoder = MLP(n_features, HIDDEN, LAYERS, DROPOUT, sparse=True)
        n_clusters, self.size = members.shape
        self.clusters = nn.Linear(self.encoder.out_features, n_clusters)
        nn.init.xavier_uniform_(self.clusters.weight)
        nn.init.zeros_(self.clusters.bias)
        weights = torch.zeros(n_clusters, self.size, self.encoder.out_features + 1)  # biases last
        nn.init.uniform_(weights[..., :-1], -(bound := (6 / (self.size + weights.shape[2])) ** 0.5), bound)  # as xavier has it
        self.labels = nn.Embedding.from_pretrained(weights.flatten(1), freeze=False, sparse=True)
        n_labels = int((members >= 0).sum())
        self.register_buffer("members", members)
        self.register_buffer("share", torch.zeros(n_labels))
        self.register_buffer("shift", torch.zeros(n_labels))
        self.chosen: dict[str, Any] = {}

    @classmethod
    def of_clusters(cls, clusters: list[NDArray[np.intp]], n_features: int) -> Self:
        """Newly initialised, of these clusters of labels."""
        members = np.full((len(clusters), max(map(len, clusters))), -1)
        for row, cluster in zip(members, clusters, strict=True):
            row[: len(cluster)] = cluster
        return cls(torch.from_numpy(members), n_features)

    @classmethod
    def restored(cls, tensors: dict[str, Tensor], n_features: int, n_labels: int) -> Self:
        """From its own ``state_dict``. ValueError if its clusters are not a partition of so many labels; RuntimeError if other
        tensors are of other sizes."""
        members = tensors["members"]
        if members.dim() != 2 or members.dtype != torch.int64 or members.numel() > n_labels * len(members):
            raise ValueError("the label tree's clusters are no table of labels")
        if not torch.equal(members[members >= 0].sort().values, torch.arange(n_labels)):
            raise ValueError(f"the label tree's clusters are not of {n_labels} labels")
        with seeded(0), redirected():
            tree = cls(members, n_features)
        tree.load_state_dict(tensors)
        return tree.eval()

    def places(self) -> tuple[Tensor, Tensor]:
        """(cluster, place in it) of each label, both (labels,)."""
        cluster, place = (self.members >= 0).nonzero(as_tuple=True)
        order = self.members[cluster, place].argsort()
        return cluster[order], place[order]

    def within(self, h: Tensor, clusters: Tensor) -> Tensor:
        """(pairs, size) logits of the labels of ``clusters`` (pairs,), given that these are active; h (pairs, hidden)."""
        weights = self.labels(clusters).view(len(clusters), self.size, -1)
        return (weights @ _beside_one(h).unsqueeze(2)).squeeze(2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.encoder(x)
        of_clusters = F.logsigmoid(self.clusters(h))
        cluster, _ = self.places()
        log_p = of_clusters[:, cluster] + F.logsigmoid(self.share.to(h.dtype))
        weights, h = self.labels.weight.view(len(self.members), self.size, -1), _beside_one(h)
        for c, rows in self._looked_at(of_clusters):
            own = self.members[c][self.members[c] >= 0]
            logits = h[rows] @ weights[c, : len(own)].T
            log_p[rows.unsqueeze(1), own] = of_clusters[rows, c].unsqueeze(1) + F.logsigmoid(logits)
        return log_p - torch.log1p(-log_p.exp().clamp(max=1 - CERTAIN)) + self.shift

    def _looked_at(self, of_clusters: Tensor) -> list[tuple[int, Tensor]]:
        """Clusters, and the rows (of ``of_clusters``: rows, clusters) of which each is one of the most probable."""
        best = of_clusters.topk(min(BEAM, of_clusters.shape[1]), dim=1).indices
        order = best.flatten().argsort(stable=True)
        rows = torch.arange(len(best), device=best.device).repeat_interleave(best.shape[1])[order]
        clusters, counts = best.flatten()[order].unique_consecutive(return_counts=True)
        return list(zip(clusters.tolist(), rows.split(counts.tolist()), strict=True))


def _beside_one(h: Tensor) -> Tensor:
    """(rows, hidden + 1): what biases are multiplied by."""
    return F.pad(h, (0, 1), value=1.0)
