"""What the page needs of a kind of output: what a row shows, what the model says of it as cells are told, what may be told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Cells = Mapping[str, Any]
"""What is told of a row, as the file of answers has it (:mod:`enstruct.workbench.journal`)."""


class Labelling(ABC):
    """Rows to be labelled, and the model that helps. Values that methods return are JSON's."""

    task: ClassVar[str]
    names: list[str]
    """Of labels, of tags, or of classes."""
    n_rows: int

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What the page is drawn from once."""

    @abstractmethod
    def content(self, row: int) -> dict[str, Any]:
        """What the row holds."""

    @abstractmethod
    def answers(self, row: int, cells: Cells, read: Cells) -> dict[str, Any]:
        """What the model says of the row, given what is told; ``read``: what somebody has read as shown, and left as it was."""

    def question(self, row: int, cells: Cells, read: Cells) -> str | None:
        """The cell whose answer teaches most; None where nothing is asked."""
        return None

    @abstractmethod
    def check(self, row: int, cells: Cells, told: Cells, done: bool) -> None:
        """DataError for ``cells`` that cannot be told of the row, and for what stands then (``told``, them among it) that cannot
        be together, or, of a row that is finished, is not whole."""

    def prepare(self) -> None:
        """What the first answers would have to wait for."""
        return

    def uncertainty(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """(rows,) nats that the model does not know of these rows; None without a model."""
        return None

    def given(self, row: int) -> Cells:
        """What the data told before anybody answered."""
        return {}

    def given_whole(self) -> set[int]:
        """Rows of which the data told all: they are finished from the beginning."""
        return set()

    @abstractmethod
    def write(self, path: Path, told: Mapping[int, Cells]) -> None:
        """The data with what was told, row -> cells, in a format that ``enstruct train`` reads."""

    @property
    @abstractmethod
    def ending(self) -> str:
        """Of the file, or folder (""), that :meth:`write` writes."""
