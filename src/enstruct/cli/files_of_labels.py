"""Label sets, as the commands read and write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.inputs import columns, load_model, read_rows
from enstruct.cli.outputs import check_names
from enstruct.cli.task_files import Draw, TaskFiles, Training
from enstruct.data.dataset import Dataset
from enstruct.data.impute import fill_missing, training_means
from enstruct.data.load import load
from enstruct.energies import GlobalEnergy
from enstruct.errors import ConfigError
from enstruct.estimators import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.estimators.members import changed
from enstruct.metrics import METRICS, Counts, Metric, average_precision, calibration_error
from enstruct.metrics.labels import rowwise_hamming
from enstruct.plots.labels import measurement_matrix
from enstruct.tasks import LABELS
from enstruct.training.batches import row_blocks

Rows = tuple[Any, Dataset]


class LabelFiles(TaskFiles):
    """Data are (X for the model, the data set)."""

    task, outputs = LABELS, "labels"
    pictures = ("measurement_matrix.png",)

    def training(self, options: Namespace) -> Training:
        """All rows of a file; missing cells take its means, to which rows that training holds out later contribute."""
        labels = shared.label_argument(options.labels)
        data = load(options.data, labels=labels, drop=options.drop)
        means = training_means(data.X) if data.has_missing else None
        notes = {
            "source": str(options.data),
            "labels": list(data.label_names) if isinstance(labels, str) and Path(labels).is_file() else labels,
            "drop": options.drop,
            "feature_names": list(data.feature_names),
            "label_names": list(data.label_names),
            "first_feature": data.first_feature,
            "means": None if means is None else means.tolist(),
        }
        X = data.X if means is None else fill_missing(data.X, means)
        counts = {"rows": len(data), "features": data.X.shape[1]}
        return Training({"X": X, "y": data.Y}, counts, notes, {"hierarchy": data.hierarchy})

    def estimator(self, options: Namespace, training: Training) -> Any:
        if options.auto is None:
            return super().estimator(options, training)
        if options.resume:
            raise ConfigError("--resume goes on with one network; --auto trains several.")
        if options.model.decision != "auto":
            raise ConfigError(
                "--auto chooses the decision rule itself: leave --model.decision out, and name a rule when predicting."
            )
        for name in ("early_stopping", "validation_fraction"):
            if options.model[name] != EnergyMultiLabelClassifier().get_params()[name]:
                raise ConfigError(f"--auto holds out rows in its own way: leave --model.{name} out.")
        settings = {**changed(shared.model_parameters(options)), **training.parameters}
        told = {"minutes": options.auto, "metric": options.model.metric, "random_state": options.seed}
        return AutoMultiLabelClassifier(**told, settings=settings)

    def load(self, folder: Path) -> Any:
        return load_model(folder)

    def read(self, model: Any, options: Namespace, labelled: bool = True) -> Rows:
        return read_rows(model, options.data, shared.label_argument(options.labels), options.drop, labelled)

    def counts(self, data: Rows) -> dict[str, int]:
        return {"rows": len(data[1])}

    def lines(self, model: Any, data: Rows, options: Namespace) -> Iterator[str]:
        """One a row, found as they are written: with probabilities a file may be larger than the memory."""
        names, as_json = model.notes_["label_names"], options.out is not None and options.out.suffix == ".jsonl"
        if not as_json:
            check_names("label", names, options.out, "\t", "Answers in JSON hold any: --out FILE.jsonl.")
        X = data[0]
        labels = model.labels_ if isinstance(model, AutoMultiLabelClassifier) else model.data_.labels
        predicted = labels.encode(model.predict(X, decision=options.decision, top_k=options.top_k))
        for block in row_blocks(predicted.shape[0], predicted.shape[1], cells=2**20):
            chosen = predicted[block]
            sets = [[names[j] for j in chosen.indices[a:b]] for a, b in pairwise(chosen.indptr)]
            if not as_json:
                yield from ("\t".join(row) + "\n" for row in sets)
                continue
            for row, p in zip(sets, np.asarray(model.predict_proba(X[block])), strict=True):
                probabilities = {name: round(float(v), 6) for name, v in zip(names, p, strict=True)}
                yield json.dumps({"labels": row, "probabilities": probabilities}, ensure_ascii=False) + "\n"

    def truth(self, model: Any, data: Rows) -> Any:
        return data[1].Y[:, columns(model.notes_["label_names"], data[1].label_names, data[1], "labels")]

    def by_rule(self, model: Any, data: Rows) -> Iterator[tuple[str, Any]]:
        yield from model.predict_by_rule(data[0]).items()

    def metrics(self, model: Any) -> Mapping[str, Metric]:
        return NAMED_METRICS

    def whatever_the_rule(self, model: Any, data: Rows, truth: Any) -> dict[str, float | None]:
        p = model.predict_proba(data[0])
        precision = average_precision(truth, p)
        return {
            "average precision": None if np.isnan(precision) else precision,  # no label occurs, and JSON has no NaN
            "calibration error": calibration_error(truth, p),
        }

    def draw(self, model: Any, data: Rows, options: Namespace) -> dict[str, Draw]:
        """Nothing for an automatic classifier, whose members have an energy each, or none."""
        if not any(isinstance(term, GlobalEnergy) for term in getattr(getattr(model, "energy_", None), "terms", ())):
            return {}
        truth = self.truth(model, data)
        return {self.pictures[0]: partial(measurement_matrix, model, model.notes_["label_names"], truth)}


def _wrong(truth: Any, predicted: Any) -> Counts:
    return Counts.of(1 - rowwise_hamming(truth, predicted))


NAMED_METRICS = {
    "example F1": METRICS["example-f1"],
    "micro F1": METRICS["micro-f1"],
    "macro F1": METRICS["macro-f1"],
    "Hamming loss": Metric(_wrong),
    "subset accuracy": METRICS["subset-accuracy"],
}
"""By the names of the field: papers have the Hamming loss, where less is better."""
FILES = LabelFiles()
