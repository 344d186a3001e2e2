"""Masks at the workbench: strokes on the picture tell pixels, and the mask follows (:mod:`enstruct.joint.pixels`).

Cells are strokes, named "s" and a number in the order in which they are painted, {"class": value, "radius": pixels, "points":
[[row, column], ...]}, and, once the picture is finished, "mask": [[value, length], ...], the mask's runs row by row.
"""

from __future__ import annotations

import base64
import io
import re
import threading
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.special import xlogy

from enstruct.data.image_folders import Pictures
from enstruct.errors import DataError, SaveError, shown
from enstruct.estimators.segmenter import EnergySegmenter
from enstruct.files import replace_folder
from enstruct.records import Shape, fits
from enstruct.workbench.labelling import Cells, Labelling

STROKE: Shape = {"class": int, "radius": (int, float), "points": [[(int, float)]]}
RUNS: Shape = [[int]]
MOST_POINTS = 5000
"""Of a stroke."""


class Masks(Labelling):
    task = "masks"

    def __init__(self, segmenter: EnergySegmenter, data: Pictures) -> None:
        self.segmenter, self.data = segmenter, data
        self.values = [int(value) for value in segmenter.classes_]
        self.names = [str(value) for value in self.values]
        self.n_rows = len(data)
        self._lock = threading.Lock()

    @property
    def ending(self) -> str:
        return ""

    def describe(self) -> dict[str, Any]:
        return {"names": self.names, "rules": []}

    def content(self, row: int) -> dict[str, Any]:
        image = self.data.images[row]
        return {"name": self.data.names[row], "height": image.shape[0], "width": image.shape[1], "picture": _png(image)}

    def answers(self, row: int, cells: Cells, read: Cells) -> dict[str, Any]:
        """``runs``: the mask; ``sure``: a PNG of the probability of each pixel's class, 255 for 1."""
        told = self.told(row, cells)
        known = None if np.isnan(told).all() else [told]
        with self._lock:
            image = [self.data.images[row]]
            p = np.asarray(self.segmenter.predict_proba(image, known=known)[0])
            mask = np.asarray(self.segmenter.predict(image, known=known)[0])
        return {"runs": runs_of(mask), "sure": _png((255 * p.max(2)).round().astype(np.uint8))}

    def check(self, row: int, cells: Cells, told: Cells, done: bool) -> None:
        height, width = self.data.images[row].shape[:2]
        for name, cell in cells.items():
            if cell is None:
                continue
            if name == "mask":
                if not (fits(cell, RUNS) and all(len(run) == 2 and run[0] in self.values and run[1] > 0 for run in cell)):
                    raise DataError("A mask is told in runs [class, length] of the classes that training has seen.")
                if sum(length for _, length in cell) != height * width:
                    raise DataError(f"The mask's runs must cover {height} x {width} pixels.")
            elif not re.fullmatch(r"s\d{1,6}", name) or not fits(cell, STROKE):
                raise DataError(f"{shown(name)} is no stroke of a class, a radius and points.")
            elif cell["class"] not in self.values:
                raise DataError(f"Training has seen no class {cell['class']}: one of {', '.join(self.names)}.")
            elif not (0 < cell["radius"] <= max(height, width) and 0 < len(cell["points"]) <= MOST_POINTS):
                raise DataError(f"A stroke has a radius within the picture, and 1 to {MOST_POINTS} points.")
            elif any(len(at) != 2 or not all(np.isfinite(at)) for at in cell["points"]):
                raise DataError("The points of a stroke are pairs of a row and a column.")
        if done and "mask" not in told:
            raise DataError("A picture is finished with its mask.")
        if self.segmenter.rules is not None and not np.isnan(painted := self.told(row, told)).all():
            with self._lock:
                self.segmenter.predict([self.data.images[row]], known=[painted])  # raises what no mask that keeps the rules has

    def uncertainty(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The entropies of the pixels' classes, on average: pictures may differ in size."""
        out = []
        for row in rows:
            with self._lock:
                p = np.asarray(self.segmenter.predict_proba([self.data.images[int(row)]])[0])
            out.append(float(-xlogy(p, p).sum(2).mean()))
        return np.array(out)

    def told(self, row: int, cells: Cells) -> NDArray[np.float64]:
        """(height, width) the classes of painted pixels, NaN elsewhere; later strokes lie above."""
        told = np.full(self.data.images[row].shape[:2], np.nan)
        for name in sorted((name for name in cells if name != "mask"), key=lambda name: int(name[1:])):
            stroke = cells[name]
            points = np.array(stroke["points"], dtype=np.float64)
            for a, b in pairwise(points) if len(points) > 1 else [(points[0], points[0])]:
                _paint(told, a, b, float(stroke["radius"]), stroke["class"])
        return told

    def write(self, path: Path, told: Mapping[int, Cells]) -> None:
        """A folder of the finished pictures, images and masks. DataError where there is none."""
        write_pictures(path, self.data, told)


def _paint(told: NDArray[np.float64], a: NDArray[Any], b: NDArray[Any], radius: float, value: float) -> None:
    """The pixels whose middle lies within the radius of the line from a to b, (row, column) with edges at whole numbers."""
    box = tuple(
        slice(max(0, int(np.floor(min(s, e) - radius))), max(0, min(n, int(np.ceil(max(s, e) + radius)))))
        for s, e, n in zip(a, b, told.shape, strict=True)
    )
    rows, columns = (np.arange(side.start, max(side.start, side.stop)) + 0.5 for side in box)
    from_a = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1) - a
    length = float(((b - a) ** 2).sum())
    along = np.clip((from_a @ (b - a)) / length, 0, 1) if length else np.zeros(from_a.shape[:2])
    told[box][((from_a - along[..., None] * (b - a)) ** 2).sum(-1) <= radius**2] = value


def write_pictures(path: Path, data: Pictures, told: Mapping[int, Cells]) -> None:
    """The finished ones and their masks, in a folder. DataError where there is none, and for classes that a PNG cannot hold."""
    finished = [row for row in sorted(told) if "mask" in told[row]]
    if not finished:
        raise DataError("No picture is finished yet: there is nothing to write.")
    masks = {row: mask_of(told[row]["mask"], data.images[row].shape[:2]) for row in finished}
    if any(mask.min() < 0 or mask.max() > 255 for mask in masks.values()):
        raise DataError("The classes do not fit a PNG of 8 bits.")

    def fill(folder: Path) -> None:
        for part in ("images", "masks"):
            (folder / part).mkdir()
        for row, mask in masks.items():
            name = f"{data.names[row]}.png"
            Image.fromarray(data.images[row]).save(folder / "images" / name)
            Image.fromarray(mask.astype(np.uint8)).save(folder / "masks" / name)

    replace_folder(path, fill, _check_pictures)


def _check_pictures(path: Path) -> None:
    """SaveError for a place that holds anything but such folders."""
    if path.is_dir() and {inner.name for inner in path.iterdir()} <= {"images", "masks"}:
        return
    if path.exists():
        raise SaveError(f"{path} holds more than the folders images and masks: it is no folder of ours, name another place.")


def runs_of(mask: NDArray[Any]) -> list[list[int]]:
    """[[value, length], ...] of a mask (height, width), row by row."""
    flat = mask.ravel()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(flat)) + 1, [len(flat)]])
    return [[int(flat[a]), int(b - a)] for a, b in pairwise(starts)]


def mask_of(runs: list[list[int]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """(height, width) of its runs."""
    values, lengths = np.array(runs, dtype=np.int64).T
    return np.repeat(values, lengths).reshape(shape)


def _png(grid: NDArray[np.uint8]) -> str:
    file = io.BytesIO()
    Image.fromarray(grid).save(file, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
