"""Labels that look for their evidence in the text: one state a label, and what SeqTag and LACO make of it.

    s_l = attention(query e_l, text)                                    label embeddings e, (labels, width)
    z_l = norm(e_l + MLP([s_l, e_l * s_l]))                             products, as each label looks for something else
    seqtag       a bidirectional LSTM over z_1 .. z_L, then a conditional random field over a tag 0 or 1 for each label
    laco         p_l = sigmoid(w . z_l), and, while training, two tasks (Zhang et al. 2021):
                 pairs       given a label of the document and another one: does the document have that one, too?     [z_i; z_j]
                 conditional given some of the document's labels, which of the others has it?                 [mean z_given; z_j]

In LACO's own form label names are read by BERT together with the text.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.inference.chain import Potentials, energies, log_partition, marginals
from enstruct_bench.texts.systems.states import Reader, States


class LabelQueries(nn.Module):
    """(documents, labels, out_features)."""

    def __init__(self, width: int, n_labels: int, hidden: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.reader = Reader(width, 2 * hidden)
        self.out_features = self.reader.out_features
        size = self.out_features
        self.embedding = nn.Parameter(torch.randn(n_labels, size))
        self.attention = nn.MultiheadAttention(size, heads, batch_first=True)
        self.found = nn.Sequential(nn.Linear(2 * size, size), nn.GELU(), nn.Linear(size, size))
        self.norm = nn.LayerNorm(self.out_features)

    def forward(self, x: States) -> Tensor:
        memory = self.reader(x)
        queries = self.embedding.expand(len(memory), -1, -1)
        seen, _ = self.attention(queries, memory, memory, key_padding_mask=~x.there, need_weights=False)
        states: Tensor = self.norm(queries + self.found(torch.cat([seen, queries * seen], dim=-1)))
        return states


class SeqTag(nn.Module):
    def __init__(self, width: int, n_labels: int, hidden: int = 64) -> None:
        super().__init__()
        self.queries = LabelQueries(width, n_labels, hidden)
        self.lstm = nn.LSTM(self.queries.out_features, hidden, batch_first=True, bidirectional=True)
        self.unary = nn.Linear(2 * hidden, 2)
        self.transitions, self.start, self.end = (nn.Parameter(torch.zeros(shape)) for shape in ((2, 2), (2,), (2,)))

    def chain(self, x: States) -> Potentials:
        unary = self.unary(self.lstm(self.queries(x))[0])
        there = torch.ones(unary.shape[:2], dtype=torch.bool)
        return Potentials(unary, there, self.transitions, self.start, self.end)

    def loss(self, x: States, Y: Tensor) -> Tensor:
        """- log p(Y | x), mean over documents."""
        chain = self.chain(x)
        return (energies(chain, Y.long()).float() + log_partition(chain)).mean()

    def marginals(self, x: States) -> Tensor:
        return marginals(self.chain(x))[..., 1].detach()


class Laco(nn.Module):
    def __init__(self, width: int, n_labels: int, hidden: int = 64) -> None:
        super().__init__()
        self.queries = LabelQueries(width, n_labels, hidden)
        size = self.queries.out_features
        self.own, self.pair, self.conditional = nn.Linear(size, 1), _two_layers(size), _two_layers(size)

    def loss(self, x: States, Y: Tensor, generator: torch.Generator) -> Tensor:
        """The sum of the three tasks' cross-entropies."""
        z = self.queries(x)
        own = F.binary_cross_entropy_with_logits(self.own(z).squeeze(-1), Y)
        return own + self._pairs(z, Y, generator) + self._conditional(z, Y, generator)

    def marginals(self, x: States) -> Tensor:
        return torch.sigmoid(self.own(self.queries(x)).squeeze(-1)).detach()

    def _pairs(self, z: Tensor, Y: Tensor, generator: torch.Generator) -> Tensor:
        """Of every document with two labels: one of its labels with another of its own, and with one that it has not."""
        rows = torch.nonzero((Y.sum(1) >= 2) & (Y.sum(1) < Y.shape[1])).squeeze(1)
        if not len(rows):
            return z.sum() * 0.0
        own = torch.multinomial(Y[rows], 2, generator=generator)
        other = torch.multinomial(1 - Y[rows], 1, generator=generator).squeeze(1)
        first = z[rows, own[:, 0]]
        logits = [self.pair(torch.cat([first, z[rows, j]], dim=-1)).squeeze(-1) for j in (own[:, 1], other)]
        return _two_sided(*logits)

    def _conditional(self, z: Tensor, Y: Tensor, generator: torch.Generator) -> Tensor:
        """A half of a document's labels, drawn, is given; all labels that are not are asked for."""
        rows = torch.nonzero(Y.sum(1) >= 2).squeeze(1)
        if not len(rows):
            return z.sum() * 0.0
        Y, z = Y[rows], z[rows]
        chance = torch.rand(Y.shape, generator=generator).masked_fill(Y == 0, 2.0)
        rank = chance.argsort(dim=1).argsort(dim=1)
        given = (rank < (Y.sum(1, keepdim=True) / 2).floor()).float()
        mean = (given.unsqueeze(-1) * z).sum(1, keepdim=True) / given.sum(1)[:, None, None]
        logits = self.conditional(torch.cat([mean.expand_as(z), z], dim=-1)).squeeze(-1)
        return F.binary_cross_entropy_with_logits(logits, Y, weight=1 - given)


def _two_layers(size: int) -> nn.Module:
    return nn.Sequential(nn.Linear(2 * size, size), nn.GELU(), nn.Linear(size, 1))


def _two_sided(positive: Tensor, negative: Tensor) -> Tensor:
    return (F.softplus(-positive).mean() + F.softplus(negative).mean()) / 2
