"""Label sets, as the commands read and write them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from jsonargparse import Namespace
from numpy.typing import NDArray
from scipy import sparse

from enstruct.cli import options as shared
from enstruct.cli.inputs import (
    SAME,
    Model,
    as_read,
    check_joint,
    columns,
    has_no_labels,
    load_model,
    needs_no_labels,
    read_examples,
    read_known,
    read_rows,
)
from enstruct.cli.outputs import check_names
from enstruct.cli.rules import rules_for
from enstruct.cli.task_files import Draw, TaskFiles, Training
from enstruct.cli.training import OF_JOINT, refuse_of_networks
from enstruct.data.dataset import Dataset
from enstruct.decisions.bayes_risk import MOST_LABELS
from enstruct.decisions.risk import RISKS
from enstruct.energies import GlobalEnergy
from enstruct.errors import ConfigError, DataError
from enstruct.estimators import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.label_texts import texts_of
from enstruct.estimators.members import changed
from enstruct.metrics import METRICS, Counts, Metric, average_precision, calibration_error, log_loss
from enstruct.metrics.labels import mean_counts, rowwise_hamming
from enstruct.plots.labels import measurement_matrix
from enstruct.report.labels import labels_page
from enstruct.report.subject import Subject
from enstruct.report.ties import sampled
from enstruct.rules import read_rules
from enstruct.tasks import LABELS
from enstruct.training.batches import row_blocks

MOST_CELLS, FEWEST_ROWS = 2**21, 500
"""Cells of labels that a report looks at: of more rows some are drawn, no fewer than so many."""


@dataclass(frozen=True)
class Rows:
    """``X`` for the model; the data set; ``known`` (rows, labels of the model), NaN where a label is not told, None where none
    is; how many of them. ``n_unknown``: labels of the model's that nobody knows."""

    X: Any
    data: Dataset
    known: NDArray[np.float64] | None = None
    n_unknown: int = 0

    @property
    def n_told(self) -> int:
        return 0 if self.known is None else int(np.count_nonzero(~np.isnan(self.known)))

    def told(self, rows: slice = slice(None)) -> dict[str, Any]:
        """Of some rows, as joint distributions take what is told; others take nothing."""
        return {} if self.known is None else {"known": self.known[rows]}


class LabelFiles(TaskFiles):
    """Data are :class:`Rows`."""

    task, outputs = LABELS, "labels"
    pictures = ("measurement_matrix.png",)

    def training(self, options: Namespace) -> Training:
        """All rows of a file; missing cells take its means, to which rows that training holds out later contribute."""
        labels = shared.label_argument(options.labels)
        encoder, text = shared.encoder_of(options), shared.text_argument(options.text)
        examples = read_examples(options.data, labels, options.drop, shared.base_of(options), text)
        data, means = examples.data, examples.means
        notes = {
            "source": str(options.data),
            "labels": as_read(labels, options.data, options.drop, data.label_names),
            "drop": options.drop,
            "feature_names": list(data.feature_names),
            "label_names": list(data.label_names),
            "first_feature": data.first_feature,
            "means": None if means is None else means.tolist(),
            "text": list(data.feature_names) if data.holds_texts else None,
        }
        if encoder and not data.holds_texts:
            raise ConfigError(
                f"--encoder reads texts, and {options.data} holds numbers: name its column with --text, or leave it out."
            )
        if encoder and encoder["encoder"].label_texts is not None:
            names = np.array(data.label_names, dtype=object)  # estimators know labels by number here
            encoder["encoder"].label_texts = texts_of(encoder["encoder"].label_texts, names)
        counts = {"texts" if data.holds_texts else "rows": len(data)}
        if not data.holds_texts:
            counts["features"] = data.X.shape[1]
        if data.unknown is not None:
            counts["cells of labels unknown"] = int(np.count_nonzero(data.unknown))
        if examples.left_out:
            counts["rows of which no label is known left out"] = examples.left_out
        rules = rules_for(data, [] if options.rules is None else read_rules(options.rules, data.label_names))
        return Training({"X": examples.X, "y": examples.y}, counts, notes, {"rules": rules, **encoder})

    def estimator(self, options: Namespace, training: Training) -> Any:
        if options.base is not None and options.model.method != "joint":
            raise ConfigError("--base is what the method joint stands on: leave --model.method out, or --base.")
        if shared.base_of(options) is not None:
            return self._joint(options, training)
        if shared.joint_parameters(options) or options.workers is not None:
            raise ConfigError(
                "--minutes, --folds and --workers are of the method joint (--auto takes its minutes itself): leave them out."
            )
        if options.auto is None:
            return super().estimator(options, training)
        if options.resume:
            raise ConfigError("--resume goes on with one network; --auto trains several.")
        if options.model.decision != "auto":
            raise ConfigError(
                "--auto chooses the decision rule itself: leave --model.decision out, and name a rule when predicting."
            )
        if "encoder" in training.parameters:
            raise ConfigError("--encoder is of one method, or of joint: leave --auto out.")
        for name in ("early_stopping", "validation_fraction"):
            if options.model[name] != EnergyMultiLabelClassifier().get_params()[name]:
                raise ConfigError(f"--auto holds out rows in its own way: leave --model.{name} out.")
        settings = {**changed(shared.model_parameters(options)), **training.parameters}
        told = {"minutes": options.auto, "metric": options.model.metric, "random_state": options.seed}
        return AutoMultiLabelClassifier(**told, settings=settings)

    def _joint(self, options: Namespace, training: Training) -> JointMultiLabelClassifier:
        for other, is_there in (("--auto", options.auto is not None), ("--resume", options.resume)):
            if is_there:
                raise ConfigError(f"{other} is not for the method joint: name another with --model.method, or leave it out.")
        refuse_of_networks(options)
        own = {name: options.model[name] for name in OF_JOINT - {"method"}} | {"random_state": options.seed}
        return JointMultiLabelClassifier(**own, **training.parameters, **shared.joint_parameters(options))

    def load(self, options: Namespace) -> Any:
        return load_model(options.model, **shared.moved_encoder(options))

    def read(self, model: Any, options: Namespace, labelled: bool = True) -> Rows:
        """To be scored: with a share of the labels told."""
        text = shared.text_argument(options.text)
        rows = Rows(*read_rows(model, options.data, shared.label_argument(options.labels), options.drop, labelled, text))
        if labelled and rows.data.unknown is not None:
            rows = replace(rows, n_unknown=int(np.count_nonzero(np.isnan(_truth(model, rows.data)))))
        share = getattr(options, "told", 0.0)
        return rows if share == 0 else replace(rows, known=told_at_random(model, rows, share, options.seed))

    def read_unanswered(self, model: Any, options: Namespace) -> Rows:
        """To be answered: with what is known of it."""
        if options.known == SAME and options.unlabelled:
            raise ConfigError("--known same takes the labels of DATA, and --unlabelled says that it has none: leave one out.")
        labels = shared.label_argument(options.labels)
        unasked = labels is None and options.known != SAME
        of_itself = hasattr(model, "text_") or needs_no_labels(model, options.data) or has_no_labels(model, options.data)
        bare = options.unlabelled or (unasked and of_itself)
        rows = Rows(*read_rows(model, options.data, labels, options.drop, not bare, shared.text_argument(options.text)))
        return rows if options.known is None else replace(rows, known=read_known(model, options.known, options.data, rows.data))

    def counts(self, data: Rows) -> dict[str, int]:
        told = {} if data.known is None else {"labels told": data.n_told}
        unknown = {"labels unknown": data.n_unknown} if data.n_unknown else {}
        return {"rows": len(data.data), **told, **unknown}

    def lines(self, model: Any, data: Rows, options: Namespace) -> Iterator[str]:
        """One a row, found as they are written: with probabilities a file may be larger than the memory."""
        names, ending = model.notes_["label_names"], "" if options.out is None else options.out.suffix.lower()
        as_json, as_table = ending == ".jsonl", ending == ".csv"
        if options.probabilities and not as_json:
            if options.decision is not None or options.top_k is not None:
                raise ConfigError("--probabilities writes no label sets, which --decision and --top_k choose: leave them out.")
            yield from _probability_lines(model, data, names)
            return
        if as_table:
            yield _csv_lines([names])
        elif not as_json:
            check_names("label", names, options.out, "\t", "Answers in JSON hold any: --out FILE.jsonl.")
        predicted = labels_of(model).encode(model.predict(data.X, decision=options.decision, top_k=options.top_k, **data.told()))
        files = data.data.files or ()
        for block in row_blocks(predicted.shape[0], predicted.shape[1], cells=2**20):
            chosen, named = predicted[block], [{"file": file} for file in files[block]]
            if as_table:
                yield _csv_lines(chosen.toarray().astype(int).tolist())
                continue
            sets = [[names[j] for j in chosen.indices[a:b]] for a, b in pairwise(chosen.indptr)]
            if not as_json:
                yield from ("\t".join(row) + "\n" for row in sets)
                continue
            marginals = np.asarray(model.predict_proba(data.X[block], **data.told(block)))
            for file, row, p in zip(named or [{}] * len(sets), sets, marginals, strict=True):
                probabilities = {name: round(float(v), 6) for name, v in zip(names, p, strict=True)}
                yield json.dumps({**file, "labels": row, "probabilities": probabilities}, ensure_ascii=False) + "\n"

    def truth(self, model: Any, data: Rows) -> Any:
        """CSR; where labels are unknown, or told to the model, an array with NaN there."""
        truth = _truth(model, data.data)
        if data.known is not None:
            truth = truth.toarray() if sparse.issparse(truth) else truth
            truth = np.where(np.isnan(data.known), truth, np.nan)
        if not sparse.issparse(truth) and np.isnan(truth).all():
            raise DataError("No label of these rows is known that was not told: there is nothing to score. predict answers them.")
        return truth

    def by_rule(self, model: Any, data: Rows) -> Iterator[tuple[str, Any]]:
        if not isinstance(model, JointMultiLabelClassifier):
            yield from model.predict_by_rule(data.X).items()
            return
        risks = tuple(RISKS) if len(model.classes_) <= MOST_LABELS else ()  # which are taken on samples
        for rule, sets in model.predict_by_rule(data.X, risks=risks, **data.told()).items():
            yield rule, labels_of(model).encode(sets)

    def by_fitted_rule(self, model: Any, data: Rows) -> Iterator[tuple[str, Any]]:
        for rule, sets in model.predict_by_rule(data.X).items():
            yield rule, labels_of(model).encode(sets)

    def metrics(self, model: Any, data: Rows) -> Mapping[str, Metric]:
        return NAMED_METRICS

    def whatever_the_rule(self, model: Any, data: Rows, truth: Any) -> dict[str, float | None]:
        p = model.predict_proba(data.X, **data.told())
        precision = average_precision(truth, p)
        return {
            "average precision": None if np.isnan(precision) else precision,  # no label occurs, and JSON has no NaN
            "calibration error": calibration_error(truth, p),
            "log-loss": log_loss(truth, p),
        }

    def reportable(self, model: Any, data: Rows, seed: int) -> tuple[Rows, NDArray[np.intp] | None]:
        most = max(FEWEST_ROWS, MOST_CELLS // max(1, len(model.classes_)))
        if len(data.data) <= most:
            return data, None
        numbers = sampled(len(data.data), most, seed)
        return Rows(data.X[numbers], data.data.take(numbers)), numbers

    def report(self, subject: Subject, data: Rows, truth: Any, whole: Rows) -> str:
        notes = subject.model.notes_
        every = truth if subject.numbers is None else self.truth(subject.model, whole)
        return labels_page(subject, data.X, truth, notes["label_names"], notes["feature_names"], every)

    def draw(self, model: Any, data: Rows, options: Namespace) -> dict[str, Draw]:
        """Nothing for an automatic classifier, whose members have an energy each, or none."""
        if not any(isinstance(term, GlobalEnergy) for term in getattr(getattr(model, "energy_", None), "terms", ())):
            return {}
        truth = self.truth(model, data)
        return {self.pictures[0]: partial(measurement_matrix, model, model.notes_["label_names"], truth)}


def labels_of(model: Model) -> LabelFormat:
    """The form of a model's answers."""
    return model.data_.labels if isinstance(model, EnergyMultiLabelClassifier) else model.labels_


def told_at_random(model: Model, rows: Rows, share: float, seed: int) -> NDArray[np.float64]:
    """(rows, labels of the model) a share of the labels that are known, each drawn by itself; NaN elsewhere.

    A label that training has seen with one value alone is not told with the other, from which nothing would follow. ConfigError
    for a share that leaves nothing to be asked, and for a model that cannot use what is told.
    """
    check_joint(model, "--told")
    if not 0 <= share < 1:
        raise ConfigError(f"--told is a share of the labels, from 0 to below 1, not {share}.")
    truth = _truth(model, rows.data)
    truth = truth.toarray().astype(np.float64) if sparse.issparse(truth) else truth
    drawn = np.random.default_rng(seed).random(truth.shape) < share
    contradicting = ~np.isnan(model.constants_) & (truth != model.constants_)
    return np.where(drawn & ~contradicting, truth, np.nan)


def _truth(model: Model, data: Dataset) -> Any:
    """Of the model's labels: CSR, or an array with NaN where one is unknown."""
    which = columns(model.notes_["label_names"], data.label_names, data, "labels")
    return data.Y[:, which] if data.unknown is None else data.told()[:, which]


def _probability_lines(model: Model, data: Rows, names: list[str]) -> Iterator[str]:
    """CSV: the names of the labels, and a line a row."""
    yield _csv_lines([names])
    for block in row_blocks(len(data.data), len(names), cells=2**20):
        p = np.asarray(model.predict_proba(data.X[block], **data.told(block)))
        yield _csv_lines([[f"{float(value):.6g}" for value in row] for row in p])


def _csv_lines(rows: Sequence[Sequence[str | int]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _wrong(truth: Any, predicted: Any) -> Counts:
    return mean_counts(1 - rowwise_hamming(truth, predicted))


NAMED_METRICS = {
    "example F1": METRICS["example-f1"],
    "micro F1": METRICS["micro-f1"],
    "macro F1": METRICS["macro-f1"],
    "Hamming loss": Metric(_wrong),
    "subset accuracy": METRICS["subset-accuracy"],
}
"""By the names of the field: papers have the Hamming loss, where less is better."""
FILES = LabelFiles()
