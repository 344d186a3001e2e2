"""The section on the energy between what is predicted and what is true: whose fault errors are.

E(truth) < E(prediction)    search error: the energy knows better, what answers did not find it, or decides by something else
E(prediction) < E(truth)    error of the model: the lowest energy would be as wrong
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from enstruct.report.blocks import counted, paragraph, share, table, whole
from enstruct.report.energies import CELLS, LabelEnergy, greedy_path
from enstruct.report.markup import Markup, element
from enstruct.report.page import Section
from enstruct.report.ties import sampled
from enstruct.report.walks import walk
from enstruct.report.worst import Number

COMPARED, SHOWN, LONGEST = 2000, 12, 40
"""Rows whose energies are compared and that are walked, at most, and labels of a walk."""
TITLE = "The energy between prediction and truth"


def landscape_section(
    energy: LabelEnergy | None, X: Any, truth: Any, predicted: sparse.csr_matrix, rule: str, seed: int, number: Number = int
) -> Section:
    """``predicted`` (rows, labels) by the rule in force; ``number(row)``: of a row in its file."""
    if energy is None:
        return Section(
            "energy", TITLE, [paragraph("This model has no energy of its own, so that there is no landscape to show.")]
        )
    whole_rows = np.arange(truth.shape[0]) if sparse.issparse(truth) else np.flatnonzero(~np.isnan(truth).any(1))
    if not len(whole_rows):
        said = "No row has all of its labels known, so that there is no energy of a true set to compare with."
        return Section("energy", TITLE, [paragraph(said)])
    rows = whole_rows[sampled(len(whole_rows), COMPARED, seed)]
    true, guess = (_dense(side, rows)[:, energy.varying] for side in (truth, predicted))
    values = set_energies(energy, X, rows, true, guess)
    wrong = np.flatnonzero((true != guess).any(1))
    near = wrong[(true[wrong] != guess[wrong]).sum(1) <= LONGEST]
    shown = near[sampled(len(near), SHOWN, seed)]
    blocks = [
        error_counts("row", values[:, 0], values[:, 1], (true != guess).any(1), len(whole_rows)),
        paragraph(
            f"Predictions are those of the rule {rule}, which looks for what scores best and not for the lowest energy: a true "
            "set of lower energy may so be passed over on purpose."
            if energy.in_nats
            else f"Predictions are those of the rule {rule} on the model's probabilities."
        ),
    ]
    if len(shown):
        unit = "nats, -log p up to a constant" if energy.in_nats else "units of the energy"
        blocks += [
            paragraph(
                f"Below, {counted(len(shown), 'row')} drawn by chance among the wrong ones: the energy ({unit}) relative to the "
                "prediction, changing one label that differs at each step, the one that costs least. Each has a scale of its "
                "own; the dotted line is the prediction's energy. The number is the truth's: green where it is higher, an error "
                "of the model; orange where it is lower, an error of the search or the rule."
            ),
            _walks(energy, X, rows, true, guess, shown, number),
        ]
    elif len(wrong):
        blocks.append(
            paragraph(f"No wrong prediction is within {LONGEST} labels of the truth, so that no walk between them is drawn.")
        )
    return Section("energy", TITLE, blocks, leaf=True)


def set_energies(
    energy: LabelEnergy, X: Any, rows: NDArray[np.intp], true: NDArray[np.float32], guess: NDArray[np.float32]
) -> NDArray[np.float64]:
    """(rows, 2) of the true and of the predicted sets (rows, labels that vary)."""
    both = torch.from_numpy(np.stack([true, guess], axis=1))
    out, step = np.empty((len(rows), 2)), max(1, min(1024, CELLS // max(1, 2 * both.shape[2])))
    for start in range(0, len(rows), step):
        here = slice(start, start + step)
        out[here] = energy.at(X[rows[here]]).energies(both[here]).numpy()
    return out


def _dense(side: Any, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    block = side[rows]
    return np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float32)


def error_counts(
    thing: str, true: NDArray[np.float64], guess: NDArray[np.float64], differ: NDArray[np.bool_], n_whole: int
) -> Markup:
    """Energies (rows,) of truths and of predictions, which ``differ`` or not, of ``n_whole`` rows there were."""
    n, wrong, lower = len(true), int(differ.sum()), int((true < guess)[differ].sum())
    of = f"{counted(n, thing)} drawn of {whole(n_whole)}" if n < n_whole else counted(n, thing)
    rows = [
        ["answered as they are", whole(n - wrong), share((n - wrong) / n) + "%"],
        [
            "the prediction has the lower energy (or as low): error of the model",
            whole(wrong - lower),
            share((wrong - lower) / n) + "%",
        ],
        ["the truth has the lower energy: error of the search, or the rule's choice", whole(lower), share(lower / n) + "%"],
    ]
    return table(f"Energies of prediction and truth, {of}.", ["", thing + "s", "share"], rows)


def _walks(
    energy: LabelEnergy,
    X: Any,
    rows: NDArray[np.intp],
    true: NDArray[np.float32],
    guess: NDArray[np.float32],
    shown: NDArray[np.intp],
    number: Number,
) -> Markup:
    drawn = []
    for i in shown:
        row = number(int(rows[i]))
        energies = greedy_path(energy.at(X[rows[[i]]]).energies, guess[i], true[i])
        caption = element("figcaption", f"row {row}, {counted(len(energies) - 1, 'label')} apart")
        drawn.append(element("figure", walk(f"walk-{row}", f"Energy from prediction to truth, row {row}", energies), caption))
    return element("div", *drawn, class_="multiples")
