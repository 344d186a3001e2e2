"""A grid of images: what is seen, what is there, what is predicted, how sure the network is, and the energies of both masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from enstruct.data.image_folders import Pictures
from enstruct.errors import ConfigError
from enstruct.estimators import EnergySegmenter
from enstruct.plots.labels import new_figure, save


def segmentation_picture(segmenter: EnergySegmenter, data: Pictures, chosen: list[int], path: Path) -> None:
    """A PNG with one image a row. ConfigError if there is no such image."""
    if not chosen or min(chosen) < 0 or max(chosen) >= len(data):
        raise ConfigError(f"There are {len(data)} images, numbered from 0; {chosen} are not all among them.")
    pictures = data.take(chosen)
    predicted, p = list(segmenter.predict(pictures.images)), list(segmenter.predict_proba(pictures.images))
    energies = _energies(segmenter, pictures, predicted)
    figure = new_figure(7.2, 1.9 * len(chosen))
    axes = np.atleast_2d(figure.subplots(len(chosen), 4))
    most = len(segmenter.classes_) - 1
    for i in range(len(chosen)):
        truth = None if pictures.masks is None else segmenter.masks_.encode([pictures.masks[i]])[0]
        _show(axes[i, 0], pictures.images[i], pictures.names[i])
        _show(axes[i, 1], truth, "truth" + energies["truth"][i], most)
        _show(axes[i, 2], segmenter.masks_.numbers(predicted[i]), "prediction" + energies["predicted"][i], most)
        _show(axes[i, 3], 1 - p[i].max(-1), "uncertainty 1 - max p", 1 - 1 / (most + 1))
    save(figure, path, photographs=True)


def _energies(segmenter: EnergySegmenter, pictures: Pictures, predicted: list[Any]) -> dict[str, list[str]]:
    """What to write beside "truth" and "prediction"; nothing where there is no energy, or no truth."""
    blank = [""] * len(pictures)
    if segmenter.energy_ is None:
        return {"truth": blank, "predicted": blank}

    def written(masks: list[Any]) -> list[str]:
        return [f"\nE = {energy:.2f}" for energy in segmenter.energy(pictures.images, masks)]

    if pictures.masks is None:
        return {"truth": blank, "predicted": written(predicted)}
    ignored = segmenter.masks_.ignore
    predicted = [np.where(t == ignored, t, p) for t, p in zip(pictures.masks, predicted, strict=True)]  # the same pixels for both
    return {"truth": written(pictures.masks), "predicted": written(predicted)}


def _show(axis: Any, grid: Any, title: str, most: float = 1.0) -> None:
    """``most``: the value of the brightest colour, the same in every picture; -1, an unknown pixel, is left white."""
    axis.set_axis_off()
    axis.set_title(title, fontsize=7)
    if grid is not None and grid.ndim == 3:
        axis.imshow(grid, interpolation="nearest")
    elif grid is not None:
        axis.imshow(np.ma.masked_less(grid, 0), cmap="viridis", vmin=0, vmax=most, interpolation="nearest")
