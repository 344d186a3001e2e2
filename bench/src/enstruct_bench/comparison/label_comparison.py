"""Comparisons on label sets. Rows named "auto-folds" alone learn from validation rows too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from enstruct.cli import options as shared
from enstruct.data.splits import Splits
from enstruct.estimators import AutoMultiLabelClassifier
from enstruct.estimators.members import TRAINED, changed
from enstruct.methods import METHODS, Method, get_method
from enstruct.metrics import METRICS, Counts, average_precision, calibration_error, rowwise_f1
from enstruct.tasks import LABELS
from enstruct_bench.comparison.comparison import COUNTED, Comparison, Parameters
from enstruct_bench.comparison.fingerprint import fingerprint_of
from enstruct_bench.comparison.protocols import load_protocol
from enstruct_bench.comparison.results_file import Cell, Kind
from enstruct_bench.comparison.tuned_settings import Tuned

if TYPE_CHECKING:
    from enstruct_bench.comparison.compare import Compare


FOLDED = "auto-folds"
"""The automatic row that is given training and validation rows together, as `enstruct train --auto` is."""
AUTOMATIC = ("auto", FOLDED)
NETWORKS, AUTO_MINUTES, SEED_STEP = 6, 10.0, 100
"""Of automatic rows: nets, budget, and how far the seeds of one run are from those of the next."""
MEANS = ("example-f1", "hamming", "subset-accuracy")
"""Metrics that are means over rows."""


class LabelComparison(Comparison):
    task = LABELS
    rules = ("fixed", "threshold", "chosen")
    columns: ClassVar[Mapping[str, str]] = {
        "method": "method",
        "fixed": "{} @0.5",
        "threshold": "{} tuned",
        "chosen": "{} best rule",
        "rules": "rule",
        "micro_f1": "micro",
        "macro_f1": "macro",
        "tuned_difference": "Δ tuned [95%]",
        "chosen_difference": "Δ best rule [95%]",
        **{key: title for key, title in COUNTED.items() if key != "epochs"},
    }
    differences: ClassVar[Mapping[str, str]] = {"tuned_difference": "threshold", "chosen_difference": "chosen"}
    shares = ("micro_f1", "macro_f1")
    names: ClassVar[Mapping[str, str]] = {"example-f1": "F1", "hamming": "Hamming accuracy"}
    whole = ("predictor_updates", "energy_updates")

    def kind(self) -> Kind:
        """Files of before 2026-11-24 name the metric in their setting alone."""
        record = dict(super().kind().record)
        del record["metric"]
        return Kind(record, self.rules)

    def check(self, method: str | Method) -> None:
        """Of an automatic row, the methods that it is given."""
        row = self.row(method)
        if isinstance(row, Method):
            return
        head, named, methods = row.partition(":")
        for each in [row] if head not in AUTOMATIC else methods.split("+") if named else []:
            get_method(each)

    def read(self, options: Compare) -> Sequence[Splits]:
        labels = shared.label_argument(options.labels)
        return load_protocol(options.data, options.split, options.split_seed, labels, options.drop)

    def setting(self, options: Compare, parts: Splits, model: Parameters) -> Parameters:
        setting: Parameters = {"content": fingerprint_of(parts)}
        if options.tuned is not None:
            setting["tuned"] = Tuned.read(Path(options.tuned), model["metric"]).written
        if options.split != "auto":
            setting["split"] = options.split
        return setting

    def models(self, options: Compare, methods: Sequence[str], model: Parameters) -> tuple[Parameters, Mapping[str, Parameters]]:
        if options.tuned is None:
            return super().models(options, methods, model)
        tuned = Tuned.read(Path(options.tuned), model["metric"])
        model = tuned.shared(model)
        tuned.check_equal(methods)
        return model, {method: tuned.of(method, model) for method in methods}

    def contents(self, parts: Splits) -> list[tuple[Any, Any]]:
        return [(part.X, part.Y) for part in (parts.train, parts.validation, parts.test)]

    def make(self, method: Any, seed: int, model: Parameters, callbacks: Sequence[Any] = (), initial: Any = None) -> Any:
        """ "auto", or "auto:cross-entropy+mlp" with these candidates, chooses and averages NETWORKS nets.

        "auto:cross-entropy" so has as many nets as "auto", all of them cross-entropy's. The same goes for FOLDED.
        """
        if _head(method) not in AUTOMATIC:
            return super().make(method, seed, model, callbacks, initial)
        metric = model.get("metric", "example-f1")
        settings = {"metric": metric, "settings": changed(model), "random_state": SEED_STEP * seed}
        trained = TRAINED
        if ":" in method:
            settings["methods"] = tuple(method.partition(":")[2].split("+"))
            trained = tuple(name for name in settings["methods"] if METHODS[name].solver is None)
        settings |= {"members": max(1, NETWORKS // max(1, len(trained))), "minutes": AUTO_MINUTES}
        return AutoMultiLabelClassifier(**settings, member_callbacks=lambda title: list(callbacks))

    def fit(self, estimator: Any, method: Any, train: tuple[Any, Any], validation: tuple[Any, Any]) -> None:
        """FOLDED rows train and decide on both parts, in turn."""
        if _head(method) == FOLDED:
            estimator.fit(*(_stacked(above, below) for above, below in zip(train, validation, strict=True)))
        else:
            super().fit(estimator, method, train, validation)

    def metric(self, estimator: Any, model: Parameters) -> str:
        return scored_by(model)

    def metric_of(self, cells: Mapping[tuple[str, int], Cell], model: Parameters) -> str:
        return scored_by(model)

    def answers(self, estimator: Any, X: Any) -> dict[str, Any]:
        return dict(estimator.predict_by_rule(X))

    def counts(self, estimator: Any, truth: Any, answer: Any, metric: str) -> Counts:
        return METRICS[metric].counts(truth, answer)

    def figures(
        self, estimator: Any, parts: Splits, answers: Mapping[str, Any], counts: Mapping[str, Counts], metric: str
    ) -> Parameters:
        X, truth = parts.test.X, parts.test.Y
        p = estimator.predict_proba(X)
        every = {rule: {name: score(truth, answer) for name, score in METRICS.items()} for rule, answer in answers.items()}
        figures: Parameters = {
            **{each.replace("-", "_"): {rule: scores[each] for rule, scores in every.items()} for each in ("example-f1", metric)},
            "metrics": every,
            "validation_score": _score_of_epochs(estimator),
            **{each.replace("-", "_"): every["chosen"][each] for each in ("micro-f1", "macro-f1")},
            "average_precision": average_precision(truth, p),
            "calibration_error": calibration_error(truth, p),
        }
        if metric != "subset-accuracy":
            figures["subset_accuracy"] = every["chosen"]["subset-accuracy"]
        if isinstance(estimator, AutoMultiLabelClassifier):
            best = {name: max(scores.values()) for name, scores in estimator.candidates_.items()}
            figures |= {"answer": estimator.chosen_, "candidates": best, "members": [name for name, _ in estimator.members_]}
            means = {name: float(rowwise_f1(truth, y).mean()) for name, y in estimator.predict_by_candidate(X).items()}
            figures |= {"candidate_f1": means, "judged": estimator.judged_rows_}
        return figures


LABEL_COMPARISON = LabelComparison()


def scored_by(model: Parameters) -> str:
    """The metric by which the cells of these settings are compared."""
    metric = str(model.get("metric", "example-f1"))
    return metric if metric in MEANS else "example-f1"


def _stacked(above: Any, below: Any) -> Any:
    """Two matrices of rows as one; both are CSR or neither."""
    return sparse.vstack([above, below], format="csr") if sparse.issparse(above) else np.vstack([above, below])


def _head(method: str | Method) -> str:
    """Of an automatic row, without the methods it is given."""
    return method.partition(":")[0] if isinstance(method, str) else ""


def _score_of_epochs(estimator: Any) -> float | None:
    """The highest score of the last stage's epochs on validation rows, by what ends training; None where there are no epochs."""
    history = getattr(estimator, "history_", [])
    return max((each["score"] for each in history if each["stage"] == history[-1]["stage"]), default=None)
