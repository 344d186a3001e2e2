"""What a classifier of label sets has learnt of its data: the form of the labels, which of them vary, the scaling of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import Rows
from enstruct.estimators.constants import ConstantLabels, check_increasing
from enstruct.estimators.features import Features, in_single_precision
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.label_rows import positive_weights
from enstruct.estimators.persistence import Weights


@dataclass(frozen=True)
class LabelData:
    """``n_features`` of the user's rows, and their ``names`` if they have such."""

    labels: LabelFormat
    constants: ConstantLabels
    features: Features
    n_features: int
    names: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        """Whether a row has one label, of several classes: argmax decides, whatever the rule."""
        return self.labels.kind == "single"

    @property
    def n_varying(self) -> int:
        return len(self.constants.varying)

    def modelled(self, rows: Rows) -> Rows:
        """Scaled features, in the precision of training; only labels that vary."""
        return Rows(in_single_precision(self.features(rows.X)), rows.Y[:, self.constants.varying], rows.weight)

    def positive_weight(self, class_weight: Any, Y: Any) -> NDArray[np.float64] | None:
        """(labels that vary,) of the positives of label sets; a single label's classes weigh on its rows."""
        weights = None if self.single else positive_weights(class_weight, Y, self.labels.classes)
        return None if weights is None else weights[self.constants.varying]

    def record(self) -> dict[str, Any]:
        """For a model's header."""
        return {"labels": self.labels.to_json(), "input": {"n_features": self.n_features, "names": list(self.names)}}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The numbers of a model's folder."""
        return {"varying": self.constants.varying, "constants": self.constants.values, **self.features.arrays()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of :meth:`record` and :meth:`arrays`. ValueError for what does not go together."""
        labels, n_features = LabelFormat.from_json(record["labels"]), record["input"]["n_features"]
        names = tuple(record["input"]["names"])
        if names and len(names) != n_features:
            raise ValueError(f"{len(names)} names of {n_features} features")
        constants, features = ConstantLabels(arrays["varying"], arrays["constants"]), Features.from_arrays(arrays)
        constants.check(labels.n_labels)
        check_increasing("columns", np.arange(0) if features.columns is None else features.columns, n_features)
        return cls(labels, constants, features, n_features, names)


def example_row(record: Mapping[str, Any], weights: Weights) -> Any:
    """A row such as the networks of a folder take; ModelFileError for scalers of another number of features."""
    n_features = record["input"]["n_features"]
    scaled = [name.removeprefix("scaler/") for name in weights.shapes if name.startswith("scaler/")]
    weights.check("scaler/", dict.fromkeys(scaled, (n_features,)))
    shape = (1, weights.shapes.get("columns", (n_features,))[0])
    return sparse.csr_matrix(shape, dtype=np.float32) if record["input"]["sparse"] else np.zeros(shape, dtype=np.float32)
