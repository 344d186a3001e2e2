"""What a kind of output is: one object for everything that differs between label sets, tag sequences and masks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enstruct.energies import EnergySpec
from enstruct.methods import Method, get_method
from enstruct.metrics import Metric


@dataclass(frozen=True)
class Budget:
    """What "auto" means: epochs a stage, and on small data as many as make ``updates``, since an epoch there is a few batches.

    ``full_size``: training rows from which on that holds. Of fewer rows the updates fall with the square of their number, which
    scores as well (20 to 150 rows of 40 features), and the epochs where they are not a tenth of it.
    """

    epochs: int
    updates: int
    patience_epochs: int
    patience_updates: int
    full_size: int

    def max_epochs(self, n_rows: int, batch_size: int) -> int:
        return self._scaled(self.epochs, self.updates, n_rows, batch_size)

    def patience(self, n_rows: int, batch_size: int) -> int:
        """Epochs without a better score."""
        return self._scaled(self.patience_epochs, self.patience_updates, n_rows, batch_size)

    def _scaled(self, epochs: int, updates: int, n_rows: int, batch_size: int) -> int:
        full, n, steps = self.full_size, min(n_rows, self.full_size), -(-n_rows // batch_size)
        return max(-(-min(TINY * n, full) * epochs // full), -(-n * n * updates // (full * full * steps)))


TINY = 10


@dataclass(frozen=True)
class Task:
    """A kind of output.

    name, parts : "labels", "tags", "masks"; what is counted of it ("rows", "sentences", "images").
    methods, default : the table of methods, and the row that losses and networks take by themselves.
    space : the class of its output space, made of the number of outputs and the name of a cost, which is one of ``costs``.
    places, axes : how many axes its places have, and their names: none of label sets, time, height and width.
    terms, energy : the energy's terms that there are for it, and the energy that a loss takes by itself.
    metrics, rules : by name what answers are scored by; the names of the rules that decide.
    budget : of training.
    estimator : its class in :mod:`enstruct.estimators`.
    endings : of the files that hold such data; data are also named sets and, of masks, folders.
    """

    name: str
    parts: str
    methods: Mapping[str, Method]
    default: str
    space: Any
    costs: tuple[str, ...]
    places: int
    axes: str
    terms: tuple[str, ...]
    energy: EnergySpec
    metrics: Mapping[str, Metric]
    rules: tuple[str, ...]
    budget: Budget
    estimator: str
    endings: tuple[str, ...]

    def method(self, method: str | Method) -> Method:
        """The row of that name; a :class:`Method` as it is. ConfigError names the nearest."""
        return get_method(method, self.methods)
