"""What a model of label sets was told of its data, and what stands for rows in its graph: numbers, gaps among them, or texts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from enstruct.data.impute import fill_missing
from enstruct.estimators.features import Features
from enstruct.export.features import FilledFeatures, draw_rows
from enstruct.export.graph import Arrays
from enstruct.export.texts import ReadTexts


@dataclass(frozen=True)
class Told:
    """What a model's folder notes of its data: names of labels and features, means of features that may be missing."""

    n_features: int
    labels: list[Any]
    features: list[str]
    means: NDArray[np.float64] | None

    def names(self, classes: list[Any]) -> dict[str, str]:
        return {"labels": json.dumps(self.labels or classes, default=str), "features": json.dumps(self.features)}

    @property
    def tolerance(self) -> float:
        """Of probabilities: single precision in another order of sums."""
        return 1e-5

    @property
    def axes(self) -> dict[str, dict[int, str]]:
        """Of the inputs that stand for X, those whose length is free."""
        return {"features": {0: "rows"}}

    def before(self, module: nn.Module) -> nn.Module:
        """The module on these inputs."""
        return module if self.means is None else FilledFeatures(self.means, module)

    def draw(self, scale: Features | None, rows: int, random: np.random.Generator) -> Arrays:
        return {"features": draw_rows(scale, self.n_features, rows, random, missing=self.means is not None)}

    def given(self, inputs: Arrays) -> Any:
        """What the model itself takes in their place."""
        X = inputs["features"]
        return X if self.means is None else cast(NDArray[np.float32], fill_missing(X, self.means.astype(np.float32)))


@dataclass(frozen=True)
class ToldOfTexts(Told):
    """Of a model of texts; ``drawn``: the texts that the last inputs stand for."""

    texts: ReadTexts
    drawn: list[str] = field(default_factory=list)

    def names(self, classes: list[Any]) -> dict[str, str]:
        return super().names(classes) | self.texts.about()

    @property
    def tolerance(self) -> float:
        return super().tolerance if self.texts.encoder is None else 1e-4  # each layer carries the roundings of the one before on

    @property
    def axes(self) -> dict[str, dict[int, str]]:
        return self.texts.axes

    def before(self, module: nn.Module) -> nn.Module:
        return self.texts.before(module)

    def draw(self, scale: Features | None, rows: int, random: np.random.Generator) -> Arrays:
        self.drawn[:] = self.texts.draw(rows, random)
        return self.texts.inputs(self.drawn)

    def given(self, inputs: Arrays) -> Any:
        return list(self.drawn)


def told_of(model: Any) -> Told:
    notes = getattr(model, "notes_", {})
    means = notes.get("means")
    features = notes.get("feature_names") or list(map(str, getattr(model, "feature_names_in_", ())))
    filled = None if means is None else np.asarray(means, dtype=np.float64)
    told = (model.n_features_in_, list(notes.get("label_names") or ()), list(features), filled)
    return ToldOfTexts(*told, ReadTexts(model.text_)) if hasattr(model, "text_") else Told(*told)
