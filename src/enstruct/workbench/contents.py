"""What a row of label sets shows: its text, its strongest features, its picture."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.errors import DataError, shown

SHOWN = 16
"""Features of a row, those farthest from their means in standard deviations."""
LOOKED_AT = 2000
"""Rows that means and deviations are taken of."""
LARGEST = 8 * 2**20
"""Bytes of a picture."""
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}


class Contents:
    """Of the rows of a data set. ``pictures``: their pictures' paths, and the folder that all lie below.

    DataError for a picture outside of the folder, or of another kind.
    """

    def __init__(self, data: Dataset, pictures: tuple[list[str], Path] | None = None) -> None:
        self.data = data
        names, folder = ([], Path()) if pictures is None else pictures
        self.pictures = [_below(folder, name, row) for row, name in enumerate(names)]
        if not data.holds_texts and data.X.shape[1]:
            few = _dense(data.X[np.linspace(0, len(data) - 1, min(len(data), LOOKED_AT)).astype(int)])
            with np.errstate(invalid="ignore"):
                self._mean, self._deviation = np.nanmean(few, axis=0), np.nanstd(few, axis=0)

    def of(self, row: int) -> dict[str, Any]:
        """{"text": ..., "features": [[name, value, deviations], ...], "picture": data URI}, those that there are."""
        out: dict[str, Any] = {}
        if self.data.holds_texts:
            out["text"] = str(self.data.X[row])
        elif self.data.X.shape[1]:
            out["features"] = self._strongest(row)
        if self.pictures:
            out["picture"] = self._uri(self.pictures[row])
        return out

    def _strongest(self, row: int) -> list[list[Any]]:
        values = _dense(self.data.X[row : row + 1])[0]
        away = (values - self._mean) / np.where(self._deviation > 0, self._deviation, 1)
        away = np.nan_to_num(away)
        order = np.argsort(-np.abs(away), kind="stable")
        chosen = [k for k in order[:SHOWN] if not np.isnan(values[k]) and (values[k] != 0 or not sparse.issparse(self.data.X))]
        return [[self.data.feature_names[k], float(f"{values[k]:.6g}"), round(float(away[k]), 2)] for k in chosen]

    def _uri(self, path: Path) -> str | None:
        try:
            if path.stat().st_size > LARGEST:
                return None
            content = path.read_bytes()
        except OSError:
            return None
        return f"data:image/{PICTURES[path.suffix.lower()]};base64,{base64.b64encode(content).decode()}"


def _below(folder: Path, name: str, row: int) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise DataError(f"The picture {shown(name)} of row {row} lies outside of the folder of the data: move it there.")
    if path.suffix.lower() not in PICTURES:
        raise DataError(f"The picture {shown(name)} of row {row} is none of {', '.join(PICTURES)}: convert it.")
    return path


def _dense(X: Any) -> NDArray[np.float64]:
    X = X.toarray() if sparse.issparse(X) else X
    return np.asarray(X, dtype=np.float64)
