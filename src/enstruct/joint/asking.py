"""Which label to ask for: the one whose answer leaves the least uncertainty about the row.

    drop(i) = H(y_i) + sum_{j != i} I(y_i; y_j)          given x and what is told, in nats

what the sum of the labels' entropies falls by, in expectation over the answer. Mutual information is estimated from samples of
the joint, less the bias of so many draws, 1 / (2 S) (Miller and Madow).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from enstruct.joint.distribution import SWEEPS, Joint

SAMPLES, CELLS = 400, 2**22


@torch.no_grad()
def drop_in_entropy(
    joint: Joint,
    known: Tensor,
    samples: int = SAMPLES,
    sweeps: int = SWEEPS,
    marginals: Callable[[Joint, Tensor], Tensor] = Joint.marginals,
) -> Tensor:
    """(rows, labels) in nats; -1 of labels that are told. ``samples`` a row, after so many ``sweeps`` of their chains each."""
    parts = []
    for rows in torch.arange(len(known)).split(max(1, CELLS // (samples * known.shape[1] + known.shape[1] ** 2))):
        few, told = joint.take(rows), known[rows]
        y = few.sample(samples, told, sweeps)  # (rows, samples, labels)
        both = y.transpose(1, 2) @ y / samples  # p(y_i = 1, y_j = 1)
        p = both.diagonal(dim1=1, dim2=2)
        information = _mutual(both, p)
        vary = (p > 0) & (p < 1)
        information = (information - 0.5 / samples).clamp(min=0) * (vary.unsqueeze(1) & vary.unsqueeze(2))
        information.diagonal(dim1=1, dim2=2).zero_()
        q = marginals(few, told)
        entropy = -(torch.xlogy(q, q) + torch.xlogy(1 - q, 1 - q))
        parts.append((entropy + information.sum(2)).masked_fill(~told.isnan(), -1.0))
    return torch.cat(parts) if parts else known


def _mutual(both: Tensor, p: Tensor) -> Tensor:
    """(rows, labels, labels) I(y_i; y_j) of binary labels with these joint and single probabilities."""
    a, b = p.unsqueeze(2), p.unsqueeze(1)
    cells = ((both, a * b), (a - both, a * (1 - b)), (b - both, (1 - a) * b), (1 - a - b + both, (1 - a) * (1 - b)))
    total = torch.zeros_like(both)
    for joint, product in cells:
        joint = joint.clamp(min=0)
        total += torch.xlogy(joint, joint) - torch.xlogy(joint, product.clamp(min=1e-12))
    return total
