"""Pictures. Needs matplotlib: ``pip install enstruct[plots]``."""

from __future__ import annotations

import copy
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from enstruct.energies import GlobalEnergy
from enstruct.errors import ConfigError, MissingExtraError
from enstruct.files import replace_file

COLOURS = 128
DRAWN = 16
"""Measurements of a picture."""


def new_figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("Pictures need matplotlib: pip install 'enstruct[plots]'.") from error
    return Figure(figsize=(width, height), layout="constrained")


def panels(n: int) -> tuple[Any, Any]:
    """(figure, n axes beside each other)."""
    figure = new_figure(5.2 * n, 4.2)
    return figure, np.atleast_1d(figure.subplots(1, n))


def save(figure: Any, path: Path, photographs: bool = False) -> None:
    """A PNG, whole or not at all, with a legend wherever something is labelled; of ``COLOURS``, unless photographs are in it."""
    for axes in figure.axes:
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=130, format="png")
    picture: Image.Image = Image.open(drawn)
    if not photographs:
        picture = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)  # half of the bytes, and no eye sees it
    replace_file(path, lambda part: picture.save(part, format="PNG", optimize=True))


@dataclass(frozen=True)
class Measured:
    """What a global energy measures and keeps apart: ``matrix`` (measurements, labels) by falling weight, ``pairs`` (labels,
    labels) as :func:`pair_interactions` has them, ``names`` of the labels that vary."""

    matrix: NDArray[Any]
    pairs: NDArray[Any]
    names: list[str]


def measured(model: Any, label_names: Sequence[str], label_sets: Any) -> Measured:
    """ConfigError for an energy without a global term."""
    terms = [] if model.energy_ is None else [t for t in getattr(model.energy_, "terms", []) if isinstance(t, GlobalEnergy)]
    if not terms:
        raise ConfigError("This model's energy has no global term, so there is no measurement matrix to draw.")
    term = copy.deepcopy(terms[0]).cpu()  # the model may be on another device
    order = np.argsort(-np.abs(term.measurements.weights.detach().numpy()))
    varying = model.data_.constants.varying
    pairs = pair_interactions(term, torch.tensor(label_sets[:100][:, varying].toarray(), dtype=torch.float32))
    return Measured(term.measurement_matrix().numpy()[order], pairs, [str(label_names[i]) for i in varying])


def measurement_matrix(model: Any, label_names: Sequence[str], label_sets: Any, path: Path) -> None:
    """The global energy's C (measurements by labels), and which labels it keeps apart (SPEN Figures 1, 5).

    Left: C, one learned measurement a row, ordered by weight. Right: the interaction energy of each pair of labels,

        E(y + i + j) - E(y + i) - E(y + j) + E(y)     averaged over up to 100 of ``label_sets``, i and j off in y

    positive where having both costs more than having each: mutually exclusive blocks form squares.
    """
    draw_measured(measured(model, label_names, label_sets), path)


def draw_measured(of: Measured, path: Path) -> None:
    """Up to ``DRAWN`` measurements, and the pairs."""
    figure = new_figure(11, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    matrix = of.matrix[:DRAWN]
    heat(figure, left, matrix, np.abs(matrix).max(), "measurement matrix C (rows by |v|)", of.names)
    heat(figure, right, of.pairs, np.abs(of.pairs).max() or 1.0, "interaction energy (red: kept apart)", of.names)
    save(figure, path)


@torch.no_grad()
def pair_interactions(term: GlobalEnergy, y: torch.Tensor) -> Any:
    """(labels, labels) second differences of the energy at label sets y (sets, labels); 0 on the diagonal."""
    n = y.shape[1]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            corners = y.unsqueeze(1).repeat(1, 4, 1)  # neither, i, j, both: (sets, 4, labels)
            corners[:, :, i] = torch.tensor([0.0, 1, 0, 1])
            corners[:, :, j] = torch.tensor([0.0, 0, 1, 1])
            energies = term(None, corners)
            out[i, j] = out[j, i] = float((energies[:, 3] - energies[:, 1] - energies[:, 2] + energies[:, 0]).mean())
    return out


def heat(figure: Any, axes: Any, table: Any, limit: float, title: str, names: Sequence[str]) -> None:
    """A table with white at 0, its columns named where there is room."""
    image = axes.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_title(title)
    if len(names) <= 40:
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    figure.colorbar(image, ax=axes, shrink=0.8)
