"""The report on a classifier of label sets."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.joint.enumeration import MOST_COUNTED
from enstruct.metrics import Counts
from enstruct.metrics.intervals import Counted, Interval, intervals
from enstruct.report.about import about_section, label_facts, label_tables
from enstruct.report.blocks import whole
from enstruct.report.calibration import calibration_section
from enstruct.report.cost import cost_section
from enstruct.report.energies import energy_of
from enstruct.report.landscape import landscape_section
from enstruct.report.markup import Markup
from enstruct.report.page import Section, document
from enstruct.report.reliability import BINS, Bins
from enstruct.report.scores import dense_block, label_intervals, row_blocks, row_nats, scores_section
from enstruct.report.subject import Subject
from enstruct.report.suspects import suspects_section
from enstruct.report.ties import sampled, ties_section
from enstruct.report.worst import holds_texts, worst_section

log = logging.getLogger("enstruct")

ENUMERATED, ANNEALED, ANNEALED_CELLS, AT_ONCE = 2000, 100, 16_000, 64
"""Rows whose whole label sets are given a probability, at most, where label sets are enumerated and where they are too many;
cells of the latter, which take a third of a second for each row of 1,000 labels; rows at once."""


def labels_page(subject: Subject, X: Any, truth: Any, names: list[str], feature_names: Any, every: Any = None) -> Markup:
    """``X`` rows as the model takes them; ``truth`` (rows, labels of the model) CSR, or an array with NaN where a label is
    unknown; ``names`` of labels; ``feature_names`` of columns, or of the fields that texts come from; ``every`` (all rows,
    labels): the truth, of rows that were not drawn too."""
    model, seed = subject.model, subject.seed
    log.info("probabilities")
    p = np.asarray(model.predict_proba(X), dtype=np.float64)
    energy = energy_of(model)
    texts = holds_texts(X)
    counts = {"data": subject.source, "texts" if texts else "rows": whole(max(subject.total, truth.shape[0]))}
    every = truth if every is None else every
    if not texts:
        counts["features"] = whole(X.shape[1])
    log.info("scores")
    whatever = label_intervals(truth, p, seed)
    whatever |= whole_sets(model, X, truth, p, seed)
    sections = [
        about_section({**counts, **label_facts(every)}, [label_tables(every, names)], model, subject.rule),
        scores_section(subject, "rows", whatever, drawn=_drawn(model)),
    ]
    log.info("calibration")
    sections.append(
        calibration_section(
            label_bins(truth, p), "label cells", "Each label of each row has a probability, by the model's marginals."
        )
    )
    log.info("ties of labels")
    sections.append(ties_section(truth, names, energy, X, seed))
    log.info("energies")
    sections.append(landscape_section(energy, X, truth, subject.predicted, subject.rule, seed, subject.number))
    log.info("rows and labels")
    sections.append(worst_section(X, feature_names, names, truth, subject.predicted, p, subject.number))
    sections.append(suspects_section(model, energy, X, truth, p, names, seed, subject.number))
    log.info("cost")
    sections.append(cost_section(subject, lambda n: model.predict(X[:n]), truth.shape[0], "rows"))
    return put_together(subject, "rows", sections, f"{whole(every.shape[0])} rows, {whole(len(names))} labels")


def put_together(subject: Subject, things: str, sections: list[Section], how_much: str) -> Markup:
    """The page of these sections."""
    warning = (
        f"These are the {things} it was trained on, those held out among them: this is no test." if subject.trained_on else None
    )
    lede = f"How this model answers {Path(subject.source).name}: {how_much}. {subject.remark}".rstrip()
    if subject.numbers is not None:
        n = len(subject.numbers)
        lede += f" Scores and all below them are of {whole(n)} {things} drawn from these, as all would take long."
    foot = [f"Made by enstruct report, with seed {subject.seed}. This file holds all that it shows, and asks for nothing."]
    return document(subject.folder.name, "enstruct report", lede, sections, warning=warning, foot=foot)


def label_bins(truth: Any, p: NDArray[np.float64]) -> Bins:
    """Of all known cells, some rows at a time."""
    counts, sums, there_in = np.zeros(BINS), np.zeros(BINS), np.zeros(BINS)
    for rows in row_blocks(p.shape):
        there, known = dense_block(truth, rows)
        values = p[rows][known]
        which = np.minimum((values * BINS).astype(np.int64), BINS - 1)
        counts += np.bincount(which, minlength=BINS)
        sums += np.bincount(which, values, BINS)
        there_in += np.bincount(which, there[known], BINS)
    with np.errstate(invalid="ignore"):
        return Bins(counts.astype(np.int64), sums / counts, there_in / counts)


def whole_sets(model: Any, X: Any, truth: Any, p: NDArray[np.float64], seed: int) -> dict[str, Interval]:
    """Of a joint: -log p(y | x) in nats a row, by itself and by its marginals as if labels were independent."""
    joint = getattr(model, "joint_", model)
    if not isinstance(joint, JointMultiLabelClassifier) or joint.labels_.kind == "single":
        return {}
    n_labels = len(joint.varying_)
    most = ENUMERATED if n_labels <= MOST_COUNTED else min(ANNEALED, max(10, ANNEALED_CELLS // n_labels))
    rows = sampled(truth.shape[0], most, seed)
    drawn = f", {len(rows):,} rows" if len(rows) < truth.shape[0] else ""
    block = truth[rows]
    given = block.toarray().astype(np.float64) if sparse.issparse(block) else block
    blocks = [slice(start, start + AT_ONCE) for start in range(0, len(rows), AT_ONCE)]  # as all sets of a row are held
    nats = -np.concatenate([joint.log_prob(X[rows[some]], given[some]) for some in blocks])
    alone = row_nats(truth[rows], p[rows])[0]
    sure = np.isfinite(nats)
    counted = {
        f"{name}{drawn}": Counted(Counts.of(np.where(sure, values, 0.0), sure.astype(np.float64)))
        for name, values in (
            ("−log p of whole label sets, by the energy (nats a row)", nats),
            ("−log p of whole label sets, labels by themselves (nats a row)", alone),
        )
    }
    return intervals(counted, seed)


def _drawn(model: Any) -> str:
    """The metric that the model was fitted for, by the name that it has in tables."""
    of = {"example-f1": "example F1", "micro-f1": "micro F1", "macro-f1": "macro F1", "hamming": "Hamming loss"}
    return of.get(getattr(model, "metric", ""), "subset accuracy")
