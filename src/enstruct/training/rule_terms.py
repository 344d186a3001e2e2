"""What a predictor's own answers say of rules, as a term of its loss.

    log P_F(rules) = log sum_y  q(y | x) exp(-soft(y)) [y keeps what binds]          q: the predictor's independent parts

With ``rule_weight`` w a predictor minimises L_sup - w log P_F(rules), w >= 0: the semantic loss (Xu et al. 2018), which teaches
it to answer by the rules by itself. (Below 0 it would be a likelihood under the rules, which rows that break one, class weights
and open tags leave without a bound.)

Of label sets it is exact where a group's legal sets are listed and where rules count its labels; of larger groups, as hierarchies
of hundreds of labels, it is the sum over their inequalities, each by itself. Of tags it is exact, by the chain of what may follow
what; gazetteers, which look at words, have no part in it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.encoders.tokens import TokenBatch
from enstruct.inference.chain import IMPOSSIBLE, Potentials, log_partition, thinned
from enstruct.rules import RuleSystem
from enstruct.rules.system import Group
from enstruct.rules.tags import TagSystem


class RuleTerm(Protocol):
    """log P_F(rules) (batch,) of logits for inputs x, as batches have them."""

    def __call__(self, logits: Tensor, x: Any) -> Tensor: ...


class Listed(nn.Module):
    """A group whose legal sets are listed."""

    labels: Tensor
    states: Tensor
    penalty: Tensor

    def __init__(self, group: Group) -> None:
        super().__init__()
        self.register_buffer("labels", torch.from_numpy(group.labels.astype(np.int64)))
        self.register_buffer("states", torch.from_numpy(group.states.astype(np.float32)))
        self.register_buffer("penalty", torch.from_numpy(group.penalty.astype(np.float32)))

    def forward(self, logits: Tensor) -> Tensor:
        z = logits[:, self.labels]
        return torch.logsumexp(z @ self.states.T - self.penalty, 1) - F.softplus(z).sum(1)


class Counted(nn.Module):
    """Inequalities of as many labels each, (inequalities, labels), as costs of how many of these count: ``sign`` is -1 of labels
    that count while they are absent, ``cost`` (inequalities, labels + 1) in nats."""

    labels: Tensor
    sign: Tensor
    kept: Tensor

    def __init__(self, labels: NDArray[np.int64], sign: NDArray[np.float32], cost: NDArray[np.float64]) -> None:
        super().__init__()
        changes = np.flatnonzero((cost[:, 1:] != cost[:, :-1]).any(0))
        cost = cost[:, : changes.max(initial=-1) + 2]  # that many and more cost the same
        self.register_buffer("labels", torch.from_numpy(labels))
        self.register_buffer("sign", torch.from_numpy(sign))
        self.register_buffer("kept", torch.from_numpy(-np.minimum(cost, IMPOSSIBLE)).float())

    def forward(self, logits: Tensor) -> Tensor:
        z = logits[:, self.labels] * self.sign  # (batch, inequalities, labels)
        there, absent = F.logsigmoid(z), F.logsigmoid(-z)
        sizes = torch.zeros_like(z[..., :1])  # log-probabilities of 0, then of 0 and 1, ...; the last that costs count for more
        for i in range(z.shape[2]):
            stay, up = sizes + absent[..., i : i + 1], sizes + there[..., i : i + 1]
            if sizes.shape[2] < self.kept.shape[1]:
                stay = F.pad(stay, (0, 1), value=-IMPOSSIBLE)
            else:
                stay, up = torch.cat([stay[..., :-1], sizes[..., -1:]], 2), up[..., :-1]
            sizes = torch.logaddexp(stay, F.pad(up, (1, 0), value=-IMPOSSIBLE))
        return torch.logsumexp(sizes + self.kept, 2).sum(1)


class LabelRuleTerm(nn.Module):
    """Of label sets; ``system`` over the labels that logits are of."""

    def __init__(self, system: RuleSystem) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Listed(group) for group in system.groups if group.listed)
        by_size: dict[int, list[tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float64]]]] = {}
        for group in system.groups:
            if group.listed:
                continue
            alone = [_counting(group)] if len(group.cost) else [_inequality(system, int(k)) for k in group.rows]
            for one in alone:
                by_size.setdefault(len(one[0]), []).append(one)
        self.parts.extend(Counted(*map(np.stack, zip(*several, strict=True))) for several in by_size.values())

    def forward(self, logits: Tensor, x: Any) -> Tensor:
        # cells that nobody knows are answered like all others: rules hold of them too
        total = logits.new_zeros(len(logits))
        for part in self.parts:
            total = total + part(logits)
        return total


def _counting(group: Group) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float64]]:
    return group.labels.astype(np.int64), np.ones(len(group.labels), dtype=np.float32), group.cost


def _inequality(system: RuleSystem, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float64]]:
    """plus present + minus absent >= least + how many minus."""
    one = system.inequalities[k]
    labels = np.array([*one.plus, *one.minus], dtype=np.int64)
    sign = np.repeat(np.array([1, -1], dtype=np.float32), [len(one.plus), len(one.minus)])
    enough = np.arange(len(labels) + 1) >= one.least + len(one.minus)
    return labels, sign, np.where(enough, 0.0, system.weight[k])


class TagRuleTerm(nn.Module):
    """Of tag sequences: the tag scheme and rules over what follows what, begins, ends, and is there at most once."""

    transitions: Tensor
    start: Tensor
    end: Tensor
    before: Tensor | None
    tag: Tensor

    def __init__(self, system: TagSystem) -> None:
        super().__init__()
        *parts, tag = system.expanded()
        follow, start, end = (torch.from_numpy(np.minimum(part, IMPOSSIBLE)).float() for part in parts)
        none = torch.zeros(1, 1, len(tag))
        chain = thinned(Potentials(none, torch.ones(1, 1, dtype=torch.bool), follow, start, end))
        for name in ("transitions", "start", "end", "before"):
            self.register_buffer(name, getattr(chain, name))
        self.register_buffer("tag", torch.from_numpy(tag.astype(np.int64)))

    def forward(self, logits: Tensor, x: TokenBatch) -> Tensor:
        # tokens whose tag is open are answered like all others; padding comes last
        log_q = F.log_softmax(logits, -1)[..., self.tag]
        return log_partition(Potentials(-log_q, x.there, self.transitions, self.start, self.end, self.before))
