"""The joint's answers once labels are told, by mean field (:mod:`enstruct.joint.mean_field`): its ten steps, always.

The model itself enumerates, or samples where labels are many: this is an approximation of it, exact where the energy has no
couplings.
"""

from __future__ import annotations

import copy
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.energies.residual import ResidualEnergy
from enstruct.errors import ConfigError
from enstruct.estimators import JointMultiLabelClassifier
from enstruct.export.graph import Arrays, Graph
from enstruct.export.labels import BaseLogits, Expanded, scale_of, sigmoid
from enstruct.export.told import told_of
from enstruct.joint.mean_field import STEPS, mean_field, settled

TOLD = 0.5
"""Share of labels that are told in rows drawn."""


class ConditionalGraph(nn.Module):
    """(features, known) -> probabilities (rows, labels); known (rows, labels) of 0, 1 and NaN or -1 where nothing is told.

    Rows of which nothing is told are answered by the base where the model answers them so.
    """

    def __init__(self, model: JointMultiLabelClassifier) -> None:
        super().__init__()
        self.logits = BaseLogits(model)
        self.energy: ResidualEnergy = copy.deepcopy(model.energy_).eval()
        self.expanded = Expanded(model.varying_, model.constants_)
        self.register_buffer("varying", torch.from_numpy(np.asarray(model.varying_, dtype=np.int64)))
        self.by_base = model.marginals_of_ == "base"

    def forward(self, features: Tensor, known: Tensor) -> Tensor:
        known = torch.where(known < 0, torch.nan, known)
        logits = self.logits(features)
        told = known.index_select(1, cast(Tensor, self.varying))
        mean = settled(self.energy, self.energy.prepare(logits), told)
        if self.by_base:
            mean = torch.where(told.isnan().all(1, keepdim=True), sigmoid(logits), mean)
        whole = self.expanded(mean)
        return torch.where(known.isnan(), whole, known.double()).float()


def conditional_graph(model: JointMultiLabelClassifier) -> Graph:
    """ConfigError under rules, where what is told is followed up by them."""
    if model.legality_ is not None:
        raise ConfigError("Under rules= what is told is followed up by them, which is no fixed graph: ask the model itself.")
    if model.labels_.kind == "single":
        raise ConfigError("With one label a row nothing is left once it is told: there is no conditional graph.")

    told = told_of(model)
    module = ConditionalGraph(model)
    scale = scale_of(module)

    def draw(rows: int, random: np.random.Generator) -> Arrays:
        known = np.full((rows, len(model.constants_)), np.nan, dtype=np.float32)
        asked = random.random((rows, len(model.varying_))) < TOLD * (np.arange(rows) % 4 > 0)[:, None]
        values = (random.random(asked.shape) < 0.5).astype(np.float32)
        known[:, model.varying_] = np.where(asked, values, np.nan)
        return {**told.draw(scale, rows, random), "known": known}

    return Graph(
        "conditional",
        told.before(module).eval(),
        {**told.axes, "known": {0: "rows"}},
        ("probabilities",),
        draw,
        lambda inputs: {"probabilities": by_mean_field(model, told.given(inputs), inputs["known"])},
        {
            **told.names(model.classes_.tolist()),
            "answers": f"mean field, {STEPS} steps",
            "terms": str(model.terms_),
        },
        tolerance=1e-4,  # each step carries the roundings of the one before on
    )


def by_mean_field(model: JointMultiLabelClassifier, X: Any, known: NDArray[Any]) -> NDArray[np.float64]:
    """(rows, labels) what the graph should say."""
    logits, told = model._asked(X, known)
    with torch.no_grad():
        z = torch.from_numpy(logits)
        p = mean_field(model.energy_, model.energy_.prepare(z), torch.from_numpy(told)).numpy()
    if model.marginals_of_ == "base":
        untold = np.isnan(told).all(1)
        p[untold] = torch.sigmoid(torch.from_numpy(logits[untold])).numpy()
    return np.where(np.isnan(known), model._expanded(p, model.constants_), known)
