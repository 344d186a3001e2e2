"""Rules over labels in a graph: marginals once they hold, and label sets that keep them.

Hierarchies carry probabilities and labels up; of other rules the groups of labels must be small enough that their legal sets are
listed (:class:`enstruct.rules.system.Group`): larger ones are integer programs.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from enstruct.errors import ConfigError
from enstruct.rules import RuleSystem
from enstruct.rules.closest import LEAST
from enstruct.rules.marginals import CLIP
from enstruct.rules.system import Group


def check_fixed(system: RuleSystem) -> None:
    """ConfigError for rules that an integer program decides, and for preferences that weigh by a recursion over labels."""
    for group in system.groups:
        if len(group.cost) and not system.binds[group.rows].any():
            raise ConfigError(
                f"Its rules prefer some numbers of {len(group.labels)} labels to others, which the graph does not weigh: let "
                "enstruct answer, or export a model without that preference."
            )
        if not group.is_hierarchy and not group.listed and system.binds[group.rows].any():  # soft ones change no set
            raise ConfigError(
                f"Its rules tie {len(group.labels)} labels together, more than have a list of legal sets: every answer is an "
                "integer program and no fixed graph. Let enstruct answer, or export a model without rules=."
            )


class RaisedLabels(nn.Module):
    """Values (rows, labels), each raised to the largest of those that imply it: level after level of a hierarchy."""

    def __init__(self, system: RuleSystem) -> None:
        super().__init__()
        self.levels = 0
        pairs = np.array(system.upwards, dtype=np.int64).reshape(-1, 2)
        depth = np.zeros(system.n_labels, dtype=np.int64)
        for below, above in pairs:  # what is lower comes first
            depth[above] = max(depth[above], depth[below] + 1)
        for level in range(1, int(depth.max(initial=0)) + 1):
            below, above = pairs[depth[pairs[:, 1]] == level].T
            self.register_buffer(f"below_{level}", torch.from_numpy(below.copy()))
            self.register_buffer(f"above_{level}", torch.from_numpy(above.copy()))
            self.levels = level

    def forward(self, p: Tensor) -> Tensor:
        for level in range(1, self.levels + 1):
            below, above = getattr(self, f"below_{level}"), getattr(self, f"above_{level}")
            p = p.scatter_reduce(1, above.unsqueeze(0).expand(p.shape[0], -1), p.index_select(1, below), "amax")
        return p


class LegalMarginals(nn.Module):
    """As :func:`enstruct.rules.marginals.legal_marginals`; p (rows, labels), double."""

    def __init__(self, system: RuleSystem) -> None:
        super().__init__()
        listed = [group for group in system.groups if group.listed and not (group.is_hierarchy and not group.penalty.any())]
        self.groups = nn.ModuleList(_Listed(group) for group in listed)
        self.raised = RaisedLabels(system)

    def forward(self, p: Tensor) -> Tensor:
        for group in map(_listed, self.groups):
            q = p.index_select(1, group.labels).clamp(CLIP, 1 - CLIP)
            share = torch.softmax((q.log() - torch.log1p(-q)) @ group.states.T - group.penalty, dim=1) @ group.states
            p = p.scatter(1, group.labels.unsqueeze(0).expand(p.shape[0], -1), share)
        return self.raised(p)


class _Listed(nn.Module):
    labels: Tensor
    states: Tensor
    penalty: Tensor

    def __init__(self, group: Group) -> None:
        super().__init__()
        self.register_buffer("labels", torch.from_numpy(group.labels.astype(np.int64)))
        self.register_buffer("states", torch.from_numpy(group.states.astype(np.float64)))
        self.register_buffer("penalty", torch.from_numpy(group.penalty.astype(np.float64)))


def _listed(module: nn.Module) -> _Listed:
    return cast(_Listed, module)


class LegalSets(nn.Module):
    """As :func:`enstruct.rules.closest.nearest` without anything told: chosen sets (rows, labels), bool, by marginals p (rows,
    labels)."""

    def __init__(self, system: RuleSystem) -> None:
        super().__init__()
        self.raised = RaisedLabels(system)
        binding = system.binding
        groups = [] if system.only_hierarchies else [group for group in binding.groups if not group.is_hierarchy]
        self.groups = nn.ModuleList(_Listed(group) for group in groups)
        for number, group in enumerate(groups):
            matrix = torch.from_numpy(binding.matrix[group.rows].toarray())
            self.register_buffer(f"matrix_{number}", matrix)
            self.register_buffer(f"least_{number}", torch.from_numpy(binding.least[group.rows]))

    def forward(self, chosen: Tensor, p: Tensor) -> Tensor:
        raised, p = self.raised(chosen.double()), p.double()
        if not len(self.groups):
            return raised > 0.5
        y = raised > 0.5
        lowest = torch.where(y, p, 1.0).amin(1, keepdim=True)
        highest = torch.where(y, 0.0, p).amax(1, keepdim=True)
        cut = (lowest + highest) / 2
        distance = torch.where(y, p - cut, cut - p).clamp(min=0) + LEAST
        scores = torch.where(y, distance, -distance)
        for number, group in enumerate(map(_listed, self.groups)):
            matrix, least = getattr(self, f"matrix_{number}"), getattr(self, f"least_{number}")
            broken = ((raised @ matrix.T) < least).any(1, keepdim=True)
            values = scores.index_select(1, group.labels) @ group.states.T - group.penalty
            best = group.states[values.argmax(1)]
            own = torch.where(broken, best, raised.index_select(1, group.labels))
            raised = raised.scatter(1, group.labels.unsqueeze(0).expand(raised.shape[0], -1), own)
        return raised > 0.5
