"""Tag language model as an energy term: how unlikely a sequence of tags is, whatever the words (Tu & Gimpel 2018, section 6).

    E_lm(y) = -weight sum_t  log( LM(y_1 .. y_{t-1}) . y_t + 1e-7 )

The model is an LSTM over soft tags with a learned start vector and an end tag, pretrained on tag sequences
(:meth:`TagLanguageModel.pretrain`) and frozen in the energy; the end tag is left out of the sum, as published. Places count as
in :mod:`enstruct.energies.chain`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.energies.base import Term
from enstruct.energies.chain import squeezed, tag_places
from enstruct.errors import DataError
from enstruct.randomness import generator

log = logging.getLogger("enstruct")


class TagLanguageModel(nn.Module):
    """P(y_t | y_1 .. y_{t-1}) of one-hot or relaxed tags; the last of its n_tags + 1 outcomes is the end."""

    def __init__(self, n_tags: int, hidden: int = 100) -> None:
        super().__init__()
        self.n_tags = n_tags
        self.start = nn.Parameter(torch.zeros(n_tags))
        self.lstm = nn.LSTM(n_tags, hidden, batch_first=True)
        self.head = nn.Linear(hidden, n_tags + 1)

    def forward(self, tags: Tensor) -> Tensor:
        """tags (rows, time, tags) -> log-probabilities (rows, time + 1, tags + 1) of each next tag."""
        begin = self.start.expand(len(tags), 1, -1)
        return F.log_softmax(self.head(self.lstm(torch.cat([begin, tags], dim=1))[0]), dim=-1)

    def pretrain(self, sequences: Sequence[Tensor], epochs: int = 20, rate: float = 3e-3, batch_size: int = 32) -> list[float]:
        """Maximum likelihood on sequences of tag numbers, then frozen; the mean loss a tag of each epoch. DataError."""
        sequences = [tags for tags in sequences if len(tags)]
        if not sequences:
            raise DataError("A tag language model needs at least one sequence of tags.")
        self.requires_grad_(True)
        optimizer = torch.optim.Adam(self.parameters(), lr=rate)
        losses = []
        for _ in range(epochs):
            total, count = 0.0, 0
            for part in torch.randperm(len(sequences), generator=generator("cpu")).split(batch_size):
                loss, n = self._loss([sequences[i] for i in part.tolist()])
                optimizer.zero_grad()
                (loss / n).backward()
                optimizer.step()
                total, count = total + float(loss.detach()), count + n
            losses.append(total / count)
        self.requires_grad_(False)
        return losses

    def _loss(self, sequences: list[Tensor]) -> tuple[Tensor, int]:
        """Summed -log P, and the number of tags, ends included."""
        ended = [torch.cat([tags, tags.new_tensor([self.n_tags])]) for tags in sequences]
        target = nn.utils.rnn.pad_sequence(ended, batch_first=True, padding_value=-1)
        tags = F.one_hot(target[:, :-1].clamp(min=0) % self.n_tags, self.n_tags).to(self.start.dtype)
        loss = F.nll_loss(self(tags).flatten(0, 1), target.flatten(), ignore_index=-1, reduction="sum")
        return loss, int((target >= 0).sum())


class TagLanguageEnergy(Term):
    name = "tag-lm"

    def __init__(self, model: TagLanguageModel, weight: float = 0.1) -> None:
        super().__init__()
        self.model = model.requires_grad_(False)
        self.weight = weight

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return tag_places(mask)

    def forward(self, prepared: Tensor | None, y: Tensor) -> Tensor:
        tags = squeezed(y, prepared)
        flat = tags.flatten(0, 1)  # (batch * samples, time, tags)
        p = self.model(flat)[:, :-1, : self.model.n_tags].exp()
        likely = ((p * flat).sum(-1) + 1e-7).log().view(tags.shape[:3])  # (batch, samples, time)
        if prepared is not None:
            likely = likely * (prepared >= 0).unsqueeze(1)
        return -self.weight * likely.sum(-1)


def pretrain_on(energy: nn.Module | None, sequences: Sequence[Tensor]) -> None:
    """Pretrain the tag language models that an energy has on sequences of tag numbers. DataError."""
    for term in () if energy is None else energy.modules():
        if isinstance(term, TagLanguageEnergy):
            losses = term.model.pretrain(sequences)
            log.info("tag language model: loss %.3f after the first epoch, %.3f after the last", losses[0], losses[-1])
