"""Masks from images: the network's probabilities, the mean of both ways where training showed mirror images, and the decision."""

from __future__ import annotations

import copy
import json

import numpy as np
import torch
from torch import Tensor, nn

from enstruct.errors import ConfigError
from enstruct.estimators import EnergySegmenter
from enstruct.export.graph import Arrays, Graph
from enstruct.export.labels import check_answers_itself

SIDES = (32, 40)
"""Height and width of images that are drawn, where the model takes any."""


class MaskGraph(nn.Module):
    """images (images, height, width, channels) -> probabilities (images, height, width, classes), masks (images, height, width)
    in the values of training's."""

    mean: Tensor
    std: Tensor
    classes: Tensor

    def __init__(self, model: EnergySegmenter, decision: str) -> None:
        super().__init__()
        self.predictor = copy.deepcopy(model.predictor_).cpu().eval()
        self.register_buffer("mean", torch.tensor(model.images_.mean, dtype=torch.float32))
        self.register_buffer("std", torch.tensor(model.images_.std, dtype=torch.float32))
        self.register_buffer("classes", torch.tensor(model.masks_.classes, dtype=torch.int64))
        self.both_ways = bool(model.augment)
        self.threshold = model.threshold_ if decision == "threshold" else None

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        x = (images - self.mean) / self.std
        p = torch.softmax(self.predictor(x), -1)
        if self.both_ways:
            p = (p + torch.softmax(self.predictor(x.flip(2)), -1).flip(2)) / 2
        numbers = p.argmax(-1) if self.threshold is None else (p[..., 1].double() >= self.threshold).long()
        return p, self.classes[numbers]


def mask_graph(model: EnergySegmenter, decision: str | None = None) -> Graph:
    """Of a fitted segmenter. Images come in the scale of training: what was of 8 bits, over 255; where the segmenter resizes, in
    that size, which its answers have too. ConfigError for what is no fixed graph."""
    model._networks()
    check_answers_itself(model._method())
    if model.rules is not None and model.rules != []:
        raise ConfigError(
            "Rules over masks are kept region by region, which is no fixed graph: export a segmenter without rules=, and keep "
            "them afterwards."
        )
    if model.crop is not None:
        raise ConfigError("With crop= the answer is the mean over crops of an image: export a segmenter of whole images.")
    rule = model.decision_ if decision is None else decision
    if rule not in model.rules_:
        raise ConfigError(f"decision={rule!r} does not apply to this segmenter; its rules are {', '.join(model.rules_)}.")
    size = model.images_.size
    sides = SIDES if size is None else size

    def draw(rows: int, random: np.random.Generator) -> Arrays:
        noise = random.standard_normal((rows, *sides, model.images_.channels))
        images = np.array(model.images_.mean) + np.array(model.images_.std) * noise
        return {"images": np.minimum(images, model.images_.most).astype(np.float32)}

    def answer(inputs: Arrays) -> Arrays:
        images = inputs["images"]
        return {"probabilities": model.predict_proba(images), "masks": model.predict(images, decision=rule)}

    return Graph(
        "model",
        MaskGraph(model, rule).eval(),
        {"images": {0: "images"} | ({1: "height", 2: "width"} if size is None else {})},
        ("probabilities", "masks"),
        draw,
        answer,
        {
            "classes": json.dumps(list(model.masks_.classes)),
            "size": "any" if size is None else json.dumps(list(size)),
            "decision": rule,
        },
    )
