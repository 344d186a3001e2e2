"""What a kind of output is: one object for everything that differs between label sets, tag sequences and masks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from enstruct.energies import EnergySpec
from enstruct.methods import Method, get_method
from enstruct.metrics import Metric


class Length(NamedTuple):
    """Epochs, and on small data as many as make ``updates``, since an epoch there is a few batches."""

    epochs: int
    updates: int


@dataclass(frozen=True)
class Batches:
    """Rows of a batch: as many as make ``an_epoch`` batches, within bounds; and the rates that go with them.

    ``rate`` is that of the smallest batch, and ``peak`` that of a stage with it whose rate falls to nothing at its end; those of
    others grow with the square root of the batch, so that the noise of an update stays what it is.
    """

    an_epoch: int
    smallest: int
    largest: int
    rate: float
    peak: float

    def size(self, n_rows: int) -> int:
        return max(self.smallest, min(self.largest, n_rows // self.an_epoch))

    def rate_of(self, batch_size: int, falling: bool) -> float:
        return float((self.peak if falling else self.rate) * (batch_size / self.smallest) ** 0.5)


@dataclass(frozen=True)
class Budget:
    """What "auto" means for the stages of a training.

    cycle : the first cycle of a stage whose rate rises within its first tenth and falls to nothing at its end. None: there are
        none.
    enough : the epochs that it has on however many rows, and the updates from which on it has no more than these. None: no end.
    most, patience : of a stage whose rate is halved on plateaus, the longest it can be, and how long it goes on without a better
        score.
    full_size : training rows from which on those hold. Of fewer rows the updates fall with the square of their number, which
        scores as well (20 to 150 rows of 40 features), and the epochs where they are not a tenth of it.
    batches : None where the estimator has numbers of its own.
    """

    most: Length
    patience: Length
    full_size: int
    cycle: Length | None = None
    enough: Length | None = None
    batches: Batches | None = None

    def cycle_epochs(self, n_rows: int, batch_size: int) -> int | None:
        """Of a first cycle: on many rows an epoch is so many updates that fewer of them do."""
        if self.cycle is None:
            return None
        epochs = self.epochs(self.cycle, n_rows, batch_size)
        if self.enough is None:
            return epochs
        return min(epochs, max(self.enough.epochs, -(-self.enough.updates // -(-n_rows // batch_size))))

    def epochs(self, length: Length, n_rows: int, batch_size: int) -> int:
        """That a stage of this length has."""
        full, n, steps = self.full_size, min(n_rows, self.full_size), -(-n_rows // batch_size)
        return max(-(-min(TINY * n, full) * length.epochs // full), -(-n * n * length.updates // (full * full * steps)))


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
