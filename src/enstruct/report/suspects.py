"""The section on given labels that fit worst: perhaps the label is wrong, and not the model.

of a joint    p(y_i | x, the row's other labels)      (:func:`enstruct.joint.holes.given_others`)
of others     p(y_i | x)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from enstruct.energies.residual import ResidualEnergy
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.joint.holes import BURN_IN, DRAWS, given_others
from enstruct.report.blocks import counted, paragraph, table
from enstruct.report.energies import LabelEnergy, OnLogits
from enstruct.report.markup import cut
from enstruct.report.page import Section
from enstruct.report.scores import dense_block
from enstruct.report.ties import sampled
from enstruct.report.worst import Number
from enstruct.rules.follow import are_possible

SHOWN = 20
BUDGET = 2**34
"""Multiplications that the conditionals may take: of more rows some are drawn."""


class Suspect(NamedTuple):
    """A given label of a row that is unlikely."""

    row: int
    label: int
    value: int
    quality: float
    alone: float


def suspects_section(
    model: Any,
    energy: LabelEnergy | None,
    X: Any,
    truth: Any,
    p: NDArray[np.float64],
    names: list[str],
    seed: int,
    number: Number = int,
) -> Section:
    """``p`` (rows, labels): the model's marginals; ``number(row)``: of a row in its file."""
    joint = getattr(model, "joint_", model)
    if energy is not None and energy.own is not None:
        rows = sampled(X.shape[0], _affordable(energy.own.energy, truth), seed)
        suspects = _by_joint(joint, energy.own, X, truth, p, rows)
        drawn = f" Of {X.shape[0]:,} rows {len(rows):,} were drawn for this." if len(rows) < X.shape[0] else ""
        said = (
            "The given labels that are least likely once x and the row's other labels are known: some are wrong in the data, "
            "others are errors of the model." + drawn
        )
    else:
        suspects = _by_marginals(truth, p)
        said = (
            "The given labels that are least likely by x alone, as this model does not say what a row's other labels tell: some "
            "are wrong in the data, others are errors of the model."
        )
    conditional = energy is not None and energy.in_nats
    last = ["p given the others", "p by x alone"] if conditional else ["p"]
    rows_of = [
        [
            f"row {number(one.row)}",
            cut(names[one.label], 40),
            "there" if one.value else "absent",
            *([f"{one.quality:.4f}", f"{one.alone:.4f}"] if conditional else [f"{one.quality:.4f}"]),
        ]
        for one in suspects
    ]
    blocks = [
        paragraph(said),
        table(
            f"The {counted(len(suspects), 'least likely given label')}: their probabilities as given.",
            ["row", "label", "given as", *last],
            rows_of,
            words=(0, 1, 2),
        ),
        paragraph("`enstruct review` lists those of a file by models that have not seen the row.", quiet=True, small=True),
    ]
    return Section("suspects", "Labels that may be wrong", blocks)


def _by_marginals(truth: Any, p: NDArray[np.float64]) -> list[Suspect]:
    """Of known cells, the least likely first."""
    found: list[Suspect] = []
    step = max(1, 2**20 // max(1, p.shape[1]))
    for start in range(0, len(p), step):
        there, known = dense_block(truth, slice(start, start + step))
        here = p[start : start + step]
        quality = np.where(known, np.where(there, here, 1 - here), np.inf)
        found += _lowest(quality, there, here, np.arange(start, start + len(here)), np.arange(p.shape[1]))
    return sorted(found, key=lambda one: one.quality)[:SHOWN]


def _by_joint(
    model: JointMultiLabelClassifier, own: OnLogits, X: Any, truth: Any, p: NDArray[np.float64], rows: NDArray[np.intp]
) -> list[Suspect]:
    """Of labels that vary, given the row's others. Labels of a row that breaks a rule that binds are asked without it."""
    block = truth[rows]
    given = (block.toarray() if sparse.issparse(block) else block)[:, model.varying_].astype(np.float32)
    logits = own.logits(X[rows])
    rules = None if model.legality_ is None else model.legality_.varying
    keeps = np.ones(len(rows), dtype=bool) if rules is None else are_possible(rules, given)
    quality = np.full(given.shape, np.nan)
    for some, binding in ((np.flatnonzero(keeps), rules), (np.flatnonzero(~keeps), None)):
        if len(some):
            asked = torch.from_numpy(given[some])
            quality[some] = given_others(own.energy, logits[torch.from_numpy(some)], asked, model.seed_, binding).numpy()
    quality = np.where(np.isnan(quality), np.inf, quality)
    return _lowest(quality, given == 1, p[rows][:, model.varying_], rows, model.varying_)


def _lowest(
    quality: NDArray[np.float64],
    there: NDArray[np.bool_],
    p: NDArray[np.float64],
    rows: NDArray[np.intp],
    labels: NDArray[np.intp],
) -> list[Suspect]:
    flat = quality.ravel()
    few = np.argsort(flat, kind="stable")[:SHOWN]
    out = []
    for at in few[np.isfinite(flat[few])]:
        i, j = divmod(int(at), quality.shape[1])
        value = int(there[i, j])
        alone = float(p[i, j] if value else 1 - p[i, j])
        out.append(Suspect(int(rows[i]), int(labels[j]), value, float(flat[at]), alone))
    return out


def _affordable(energy: ResidualEnergy, truth: Any) -> int:
    """Rows whose conditionals the budget is for."""
    n_labels = energy.n_labels
    units = 0 if energy.matrix is None else energy.matrix.shape[1]
    each = n_labels * (n_labels + 8 * units)
    draws = 1 if sparse.issparse(truth) or not np.isnan(truth).any() else 2 * (DRAWS + BURN_IN)
    return max(64, BUDGET // (each * draws))
