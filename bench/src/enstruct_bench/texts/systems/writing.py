"""How a writer of labels learns: from sets in one order (Seq2Seq, SGM), or in whatever order it writes them itself (OCD).

    teacher      - sum_t log p(y_t | y_<t, x)                  labels in the order of their frequency, the first is most frequent,
                                                               then END
    completion   sum_t KL(pi_t || p(. | prefix, x))            prefixes sampled from the model; pi_t uniform over true labels that
                                                               are not written yet, END once there is none

The second is optimal completion distillation (Sabour et al. 2019) for sets (Tsai & Lee 2020): no order is imposed, and the model
learns to go on from its own mistakes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct_bench.texts.systems.decoder import LabelWriter
from enstruct_bench.texts.systems.states import States


def teacher(writer: LabelWriter, x: States, Y: Tensor, by_frequency: Tensor) -> Tensor:
    """Mean over documents; Y (documents, labels) of 0 and 1; ``by_frequency`` (labels,) their numbers in that order."""
    text, so_far = writer.read(x)
    loss, end = torch.zeros(len(Y)), writer.n_labels
    for target in in_order(Y, by_frequency, end).T:
        log_p, so_far = writer.step(text, so_far)
        there = target >= 0
        label = target.clamp(min=0)
        loss = loss - torch.where(there, log_p.gather(1, label.unsqueeze(1)).squeeze(1), 0.0)
        so_far = writer.wrote(so_far, torch.where(there, label, end))
    return loss.mean()


def in_order(Y: Tensor, by_frequency: Tensor, end: int) -> Tensor:
    """(documents, most labels + 1) label numbers, then END, then -1."""
    ranked = Y[:, by_frequency].bool()
    counts = ranked.sum(1)
    out = torch.full((len(Y), int(counts.max()) + 1), -1)
    row, place = ranked.nonzero(as_tuple=True)
    out[row, (ranked.long().cumsum(1) - 1)[row, place]] = by_frequency[place]
    out[torch.arange(len(Y)), counts] = end
    return out


def completion(writer: LabelWriter, x: States, Y: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Mean over documents of the divergences summed over steps, until the model itself writes END or has written ``most``."""
    text, so_far = writer.read(x)
    left, end = Y.bool(), writer.n_labels
    loss, going = torch.zeros(len(Y)), torch.ones(len(Y), dtype=torch.bool)
    for _ in range(most + 1):
        log_p, so_far = writer.step(text, so_far)
        target = torch.cat([left, ~left.any(1, keepdim=True)], dim=1).float()
        target = target / target.sum(1, keepdim=True)
        entropy = -torch.special.xlogy(target, target).sum(1)
        # log-probabilities of what was written are -inf, and nobody's target
        cross = -(target * log_p.masked_fill(target == 0, 0.0)).sum(1)
        loss = loss + torch.where(going, cross - entropy, 0.0)
        label = torch.multinomial(log_p.detach().exp(), 1, generator=generator).squeeze(1)
        so_far = writer.wrote(so_far, label)
        left = left & ~torch.nn.functional.one_hot(label, end + 1)[:, :end].bool()
        going = going & (label != end)
        if not bool(going.any()):
            break
    return loss.mean()
