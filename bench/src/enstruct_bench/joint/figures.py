"""What one side is measured by, in one cell: figures in its record, and what each test row counts, for paired intervals."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from enstruct.data.rows import Rows, as_indicator
from enstruct.decisions.thresholds import GlobalThreshold
from enstruct.estimators.label_issues import Asked, quality_by
from enstruct.estimators.label_noise import quality_of
from enstruct.estimators.label_rules import LabelRules
from enstruct.metrics import Counts, rowwise_f1
from enstruct.metrics.base import ratio
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.joint.cleanlab import cleanlab_quality
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.given_others import cross_fitted_given_others
from enstruct_bench.joint.peak import peak_mib, reset_peak
from enstruct_bench.joint.questions import asked_rows, questions_of, random_questions_of
from enstruct_bench.joint.registry import ALONE, answers, finds_wrong_cells, fitted
from enstruct_bench.joint.sides import Fitted
from enstruct_bench.joint.table import Array, Table
from enstruct_bench.joint.told import SHARES, cell_losses, nothing_told, random_order, told_share
from enstruct_bench.joint.wrong_cells import NOISE, found_among_first, given_probability, precision_of_suspects

PARTS = ("told", "questions", "wrong")
MANY_LABELS, WHOLE_SETS = 400, 200
"""Of more labels whole sets are judged on so many test rows, spread evenly: samples and annealing take a second a row there."""
TIMED = 0.5
"""The share told at which seconds are those of the answer."""


def has_figures(name: str, parts: tuple[str, ...]) -> bool:
    """Whether a side has any of the figures of these parts."""
    return (answers(name) and set(parts) != {"wrong"}) or ("wrong" in parts and finds_wrong_cells(name))


def measured(name: str, estimators: Estimators, parts: tuple[str, ...] = PARTS) -> Cell:
    """The cell of a side and a seed."""
    reset_peak()
    table, seed = estimators.table, estimators.seed
    cell = Cell({"method": name, "seed": seed}, {})
    if answers(name) and {"told", "questions"} & set(parts):
        side, cell.record["fit_seconds"] = fitted(name, estimators)
        if "told" in parts:
            _told(side, table, seed, cell)
            _whole_sets(side, table, cell)
        if "questions" in parts:
            rows = asked_rows(len(table.Y_test), table.n_labels, seed)
            X, Y = table.X_test[rows], table.Y_test[rows]
            cell.rows["questions"] = Counts.of(questions_of(side.model, X, Y))
            cell.rows["questions_random"] = Counts.of(random_questions_of(side.model, X, Y, seed))
    if "wrong" in parts and finds_wrong_cells(name):
        _wrong(name, estimators, cell)
    cell.record["score"] = {key: ratio(counts) for key, counts in cell.rows.items()}
    cell.record["peak_mib"] = peak_mib()
    return cell


def _told(side: Fitted, table: Table, seed: int, cell: Cell) -> None:
    order, held_order = random_order(table.Y_test.shape, seed), random_order((len(table.held), table.n_labels), seed)
    Y_held = table.Y[table.held]
    thresholds, precisions = {}, {}
    for share in SHARES:
        key = f"{share:g}"
        held, known = told_share(Y_held, held_order, share), told_share(table.Y_test, order, share)
        rule = GlobalThreshold().fit(*_asked(side.held_marginals(held), Y_held, held))
        begin = time.perf_counter()
        p = side.model.marginals(table.X_test, known)
        if share == TIMED:
            cell.record["answer_seconds"] = time.perf_counter() - begin
        asked = np.isnan(known)
        p_asked, truth = _asked(p, table.Y_test, known)
        cell.rows[f"f1@{key}"] = Counts.of(rowwise_f1(truth, rule.predict(p_asked)))
        cell.rows[f"loss@{key}"] = Counts.of((cell_losses(p, table.Y_test) * asked).sum(1), asked.sum(1))
        thresholds[key] = rule.threshold
        precisions[key] = float(average_precision_score(table.Y_test[asked], p[asked]))
    cell.record |= {"thresholds": thresholds, "average_precision": precisions}


def _asked(p: Array, Y: Array, known: Array) -> tuple[Array, Any]:
    """Marginals and label sets, absent wherever they are told."""
    asked = np.isnan(known)
    return np.where(asked, p, 0.0), as_indicator(Y * asked)


def _whole_sets(side: Fitted, table: Table, cell: Cell) -> None:
    """Joint log-likelihood; F1 and exact match, each by a rule of the side's own or one fitted to held-out answers."""
    test, judged = _spread(len(table.Y_test), table.n_labels), _spread(len(table.held), table.n_labels)
    X, Y, Y_held = table.X_test[test], table.Y_test[test], as_indicator(table.Y[table.held])
    nothing = nothing_told(len(Y), table.n_labels)
    p, p_held = side.model.marginals(X, nothing), side.held_marginals(nothing[:1].repeat(len(table.held), axis=0))
    joint = side.model.log_probability(X, Y)
    nats = cell_losses(p, Y).sum(1) if joint is None else -joint.value
    # rows have the same random numbers, so that their errors do not cancel: at most the mean of them
    cell.record["nll_error"] = 0.0 if joint is None else float(np.mean(joint.error))
    cell.record["nll_of_marginals"] = float(cell_losses(p, Y).sum(1).mean())
    cell.rows["nll"] = Counts.of(nats)
    held = Rows(np.zeros((len(p_held), 0)), Y_held)
    own = side.own_answer(X)
    if own is None:
        rules = LabelRules.fit(p_held, held, "example-f1", "auto", None)
        own = rules.rules[rules.decision].predict(p)
    cell.rows["f1"] = Counts.of(rowwise_f1(Y, own))
    rules = LabelRules.fit(p_held, held, "subset-accuracy", "auto", None)
    sets, decision = rules.rules[rules.decision].predict(p), rules.decision
    likely = side.held_likely_sets(judged)
    if likely is not None and _exact(Y_held[judged], likely).mean() >= rules.scores[rules.decision]:
        chosen = side.model.likely_sets(X)
        assert chosen is not None  # it has them for the held-out rows
        sets, decision = as_indicator(chosen), "most-probable"
    cell.record["exact_by"] = decision
    cell.rows["exact"] = Counts.of(_exact(as_indicator(Y), sets))


def _spread(n: int, n_labels: int) -> NDArray[np.intp]:
    """Numbers of the rows, of n, that whole sets are judged on."""
    return np.linspace(0, n - 1, WHOLE_SETS).astype(int) if n_labels > MANY_LABELS and n > WHOLE_SETS else np.arange(n)


def _exact(truth: Any, sets: Any) -> Array:
    return np.asarray(abs(truth.astype(np.int8) - as_indicator(sets).astype(np.int8)).sum(1)).ravel() == 0


def _wrong(name: str, estimators: Estimators, cell: Cell) -> None:
    precisions = {}
    for kind in NOISE:
        quality, wrong = _quality(name, estimators, kind)
        precisions[kind] = precision_of_suspects(quality, wrong)
        cell.rows[f"found {kind}"] = found_among_first(quality, wrong)
    cell.record["wrong_cells"] = precisions


def _quality(name: str, estimators: Estimators, kind: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Of each cell, the lower the more suspect, and which cells are wrong; all but base and cleanlab by shares of lost and added
    notes that they estimate themselves, as the joint does, and it by those of moved ones too."""
    head, _, base = name.partition(":")
    if head in ALONE:
        Y, wrong = estimators.made_wrong(kind)
        p = cross_fitted_given_others(ALONE[head], estimators.table.X, Y, estimators.seed)
        return quality_of(given_probability(p, Y), Y)[0], wrong
    fit, wrong = estimators.noisy(base, kind)
    if head == "joint":
        asked = [Asked(fold, energy) for fold, energy in zip(fit.folds(), fit.energies(), strict=True)]
        logits, y = (torch.as_tensor(side, dtype=torch.float32) for side in (fit.logits, fit.Y))
        return quality_by(asked, logits, y, 0)[0], wrong
    if head.startswith("cleanlab"):
        return cleanlab_quality(fit.cross_fitted, fit.Y, "adjusted" if head.endswith("adjusted") else "issues"), wrong
    quality = given_probability(fit.cross_fitted, fit.Y)
    return (quality if head == "base" else quality_of(quality, fit.Y)[0]), wrong
