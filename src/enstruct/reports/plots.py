"""Pictures. Needs matplotlib: ``pip install enstruct[plots]``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.energies import GlobalEnergy
from enstruct.errors import ConfigError, MissingExtraError
from enstruct.files import replace_file


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("Pictures need matplotlib: pip install 'enstruct[plots]'.") from error
    return Figure(figsize=(width, height), layout="constrained")


def measurement_matrix(model: Any, label_names: Sequence[str], path: Path) -> None:
    """The global energy's C (measurements by labels) and how measurements tie labels together (SPEN Figures 1, 5).

    Left: C, one learned measurement a row, ordered by weight. Right: correlation between the labels' columns
    of C: labels that the energy measures alike, as the members of an exclusive block are, form squares.
    """
    terms = [] if model.energy_ is None else [t for t in getattr(model.energy_, "terms", []) if isinstance(t, GlobalEnergy)]
    if not terms:
        raise ConfigError("This model's energy has no global term, so there is no measurement matrix to draw.")
    weights = terms[0].measurements.weights.detach().numpy()
    order = np.argsort(-np.abs(weights))[:16]
    matrix = terms[0].measurement_matrix().numpy()[order]
    names = [label_names[i] for i in model.constants_.varying]
    figure = _figure(11, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    limit = np.abs(matrix).max()
    _heat(figure, left, matrix, limit, "measurement matrix C (rows by |v|)", names)
    full = terms[0].measurement_matrix().numpy() * np.sqrt(np.abs(weights))[:, None]
    _heat(figure, right, np.corrcoef(full.T), 1.0, "correlation of the labels' columns", names)
    replace_file(path, lambda part: figure.savefig(part, dpi=130, format="png"))


def _heat(figure: Any, axes: Any, table: Any, limit: float, title: str, names: Sequence[str]) -> None:
    image = axes.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_title(title)
    if len(names) <= 40:
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    figure.colorbar(image, ax=axes, shrink=0.8)
