"""What the commands ask of a kind of output: how its data are read, and how answers to them are written, scored and drawn."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jsonargparse import Namespace
from numpy.typing import NDArray

from enstruct import estimators
from enstruct.cli.inputs import same_source
from enstruct.cli.options import model_parameters, moved_encoder
from enstruct.cli.outputs import check_free
from enstruct.data.opening import OPENERS
from enstruct.errors import ConfigError
from enstruct.files import replace_file
from enstruct.metrics import Counts, Metric, ratio
from enstruct.report.subject import Subject
from enstruct.tasks import Task

Draw = Callable[[Path], None]


@dataclass(frozen=True)
class Training:
    """What ``fit`` takes, by its names; what is counted of it; what the model's folder notes; what data tell the estimator."""

    fit: dict[str, Any]
    counts: dict[str, int]
    notes: dict[str, Any]
    parameters: dict[str, Any] = field(default_factory=dict)


class TaskFiles(ABC):
    """Data and answers of a task, as the commands have them. ``data`` is whatever :meth:`read` gives.

    outputs, pictures : what its classes are called; the files that ``evaluate --pictures`` writes.
    """

    task: ClassVar[Task]
    outputs: ClassVar[str]
    pictures: ClassVar[tuple[str, ...]]

    # -- training ---------------------------------------------------------------------------------

    @abstractmethod
    def training(self, options: Namespace) -> Training:
        """What to train on. DataError."""

    def estimator(self, options: Namespace, training: Training) -> Any:
        """Yet to be fitted. ConfigError."""
        make = getattr(estimators, self.task.estimator)
        return make(random_state=options.seed, **training.parameters).set_params(**model_parameters(options))

    # -- data for a saved model -------------------------------------------------------------------

    def load(self, options: Namespace) -> Any:
        """A model that ``enstruct train`` has saved, by an encoder that lies where ``--encoder`` says. ModelFileError."""
        return getattr(estimators, self.task.estimator).load(options.model, **moved_encoder(options))

    @abstractmethod
    def read(self, model: Any, options: Namespace, labelled: bool = True) -> Any:
        """Data for the model, with their truth where they are ``labelled``. DataError."""

    @abstractmethod
    def counts(self, data: Any) -> dict[str, int]:
        """How much there is of it, in the task's parts first."""

    def was_trained_on(self, model: Any, options: Namespace) -> bool:
        """Whether training has looked at these data."""
        return same_source(model.notes_, options.data)

    # -- answers ----------------------------------------------------------------------------------

    def read_unanswered(self, model: Any, options: Namespace) -> Any:
        return self.read(model, options, labelled=not options.unlabelled)

    def check_out(self, options: Namespace) -> None:
        """ConfigError for an ``--out`` that answers may not go to."""
        if options.out is not None:
            if options.out.resolve() == Path(options.data).resolve():
                raise ConfigError(f"--out {options.out} is the file to be answered: name another.")
            if options.out.suffix.lower() in OPENERS:
                raise ConfigError(f"--out {options.out}: answers are not compressed: name a plain file.")
            check_free([options.out], options.overwrite)

    def write(self, model: Any, data: Any, options: Namespace) -> None:
        """The answers, to ``--out``."""
        write_lines(options.out, self.lines(model, data, options))

    def lines(self, model: Any, data: Any, options: Namespace) -> Iterable[str]:
        """The answers as text, some at a time."""
        raise NotImplementedError  # of tasks whose answers are no text

    # -- scores -----------------------------------------------------------------------------------

    @abstractmethod
    def truth(self, model: Any, data: Any) -> Any:
        """As metrics take it."""

    @abstractmethod
    def by_rule(self, model: Any, data: Any) -> Iterator[tuple[str, Any]]:
        """(rule, answers as metrics take them) for every rule that the model has."""

    def metrics(self, model: Any, data: Any) -> Mapping[str, Metric]:
        """By the names that they have in tables and in JSON."""
        return self.task.metrics

    def by_fitted_rule(self, model: Any, data: Any) -> Iterator[tuple[str, Any]]:
        """Likewise, of the rules that were fitted alone, where others can be asked for too."""
        return self.by_rule(model, data)

    def row_counts(self, model: Any, metric: Metric, truth: Any, predicted: Any) -> Counts:
        """What each part, a row, counts for a metric."""
        return metric.counts(truth, predicted)

    def score(self, model: Any, metric: Metric, truth: Any, predicted: Any) -> float:
        return ratio(self.row_counts(model, metric, truth, predicted), empty=metric.empty)

    def details(self, model: Any, truth: Any, predicted: Any) -> dict[str, list[float | None]]:
        """Further figures of a rule, a list each."""
        return {}

    def whatever_the_rule(self, model: Any, data: Any, truth: Any) -> dict[str, float | None]:
        """Further figures of the model."""
        return {}

    def remark(self, model: Any, truth: Any) -> str:
        """What else is to be said of the truth."""
        return ""

    def reportable(self, model: Any, data: Any, seed: int) -> tuple[Any, NDArray[np.intp] | None]:
        """(data whose report takes reasonable time and memory, the numbers of their parts in the whole where some were drawn)."""
        return data, None

    @abstractmethod
    def report(self, subject: Subject, data: Any, truth: Any, whole: Any) -> str:
        """The report's page on a model and its answers to ``data``, which may be some of the ``whole``."""

    @abstractmethod
    def draw(self, model: Any, data: Any, options: Namespace) -> dict[str, Draw]:
        """File name -> what draws it, for those of ``pictures`` that the model has. ConfigError for what is not there to draw."""


def files_of(task: str) -> TaskFiles:
    """Of the task of that name."""
    files: TaskFiles = import_module(f"enstruct.cli.files_of_{task}").FILES
    return files


def write_lines(out: Path | None, lines: Iterable[str]) -> None:
    """Text, some at a time, to a file, whole or not at all, or to standard output where ``out`` is None."""
    if out is None:
        sys.stdout.writelines(lines)
        return

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", errors="backslashreplace") as file:  # of what UTF-8 lacks, JSON's own escape
            file.writelines(lines)

    replace_file(out, write)
