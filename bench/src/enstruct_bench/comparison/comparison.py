"""What a comparison of methods on one kind of output is, beside its :class:`~enstruct.tasks.Task`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import enstruct.estimators
from enstruct.methods import Method
from enstruct.metrics import Counts
from enstruct.tasks import Task
from enstruct_bench.comparison.results_file import Cell, Kind
from enstruct_bench.comparison.variants import VARIANTS

if TYPE_CHECKING:
    from enstruct_bench.comparison.compare import Compare


Parameters = dict[str, Any]
COUNTED = {
    "epochs": "epochs",
    "predictor_updates": "F updates",
    "energy_updates": "E updates",
    "fit_seconds": "fit s",
    "predict_seconds": "predict s",
}
"""Figures of every record, of which tables show the mean over runs -> their titles."""


class Comparison(ABC):
    """One object for everything that differs between tasks.

    task : the kind of output.
    rules : the decision rules that a table has columns of; every cell holds what each test row counts under them.
    columns : the columns of a table, key -> title, in which {} is the name of the metric: rules, shares, differences, and some of
        COUNTED.
    differences : column -> the rule under which a row is held against the reference.
    shares : figures of a record that are shown in percent; None in a record where there is none.
    names : metric -> what titles call it, where that is another word.
    whole : columns that are printed without decimals.
    """

    task: Task
    rules: tuple[str, ...]
    columns: ClassVar[Mapping[str, str]]
    differences: ClassVar[Mapping[str, str]]
    shares: tuple[str, ...]
    names: ClassVar[Mapping[str, str]]
    whole: tuple[str, ...] = ("epochs", "predictor_updates", "energy_updates", "fit_seconds")

    @property
    def counted(self) -> list[str]:
        """Columns of figures of which a table shows the mean over runs."""
        return [key for key in self.columns if key in COUNTED]

    def kind(self) -> Kind:
        """What the records of these cells hold."""
        shares: dict[str, Any] = dict.fromkeys(self.shares, (float, None))
        metric = {"metric": frozenset(self.task.metrics)}
        return Kind({"decision": str, **metric, **shares, **dict.fromkeys(self.counted, float)}, self.rules)

    def titles(self, metric: str) -> list[str]:
        """Of the columns."""
        return [title.format(self.names.get(metric, metric)) for title in self.columns.values()]

    def row(self, method: str | Method) -> str | Method:
        """A row as the estimators take it: the library's by name, others (:mod:`enstruct_bench.comparison.variants`) whole."""
        return VARIANTS[self.task.name].get(method, method) if isinstance(method, str) else method

    def check(self, method: str) -> None:
        """ConfigError for a name that is no row of the task's."""
        self.task.method(self.row(method))

    @abstractmethod
    def read(self, options: Compare) -> Sequence[Any]:
        """The parts of the data, each with ``train``, ``validation`` and ``test``: one for all seeds, or one a fold."""

    @abstractmethod
    def setting(self, options: Compare, parts: Any, model: Parameters) -> Parameters:
        """What a results file says of the data and of the options of this task alone, so that other runs are told apart."""

    @abstractmethod
    def contents(self, parts: Any) -> list[tuple[Any, Any]]:
        """(inputs, outputs) to train, validate and test on."""

    def models(self, options: Compare, methods: Sequence[str], model: Parameters) -> tuple[Parameters, Mapping[str, Parameters]]:
        """The parameters that all rows have, and those of each row."""
        return model, dict.fromkeys(methods, model)

    def recorded(self, model: Parameters) -> Parameters:
        """The parameters as a results file keeps them."""
        return model

    def check_parts(self, parts: Any, model: Parameters) -> None:  # noqa: B027  (most tasks have nothing to check)
        """DataError, before any training, for parts that cannot be held against each other."""

    def make(self, method: Any, seed: int, model: Parameters, callbacks: Sequence[Any] = (), initial: Any = None) -> Any:
        """The estimator of a row."""
        parameters = {**model, "method": self.row(method), "random_state": seed, "callbacks": list(callbacks)}
        if initial is not None:
            parameters["initial"] = initial
        return getattr(enstruct.estimators, self.task.estimator)().set_params(**parameters)

    def fit(self, estimator: Any, method: Any, train: tuple[Any, Any], validation: tuple[Any, Any]) -> None:
        """Train, and choose epochs and the decision on the validation part."""
        estimator.fit(*train, X_val=validation[0], y_val=validation[1])

    def metric(self, estimator: Any, model: Parameters) -> str:
        """The name of what a cell is scored by."""
        return str(estimator.metric)

    def metric_of(self, cells: Mapping[tuple[str, int], Cell], model: Parameters) -> str:
        """The name of what these cells were scored by."""
        return str(next(iter(cells.values())).record["metric"])

    def answers(self, estimator: Any, X: Any) -> dict[str, Any]:
        """Rule -> what it answers; the chosen rule aside."""
        return {"greedy": estimator.predict(X, decision="greedy")}

    @abstractmethod
    def counts(self, estimator: Any, truth: Any, answer: Any, metric: str) -> Counts:
        """Of test rows, in one part."""

    @abstractmethod
    def figures(
        self, estimator: Any, parts: Any, answers: Mapping[str, Any], counts: Mapping[str, Counts], metric: str
    ) -> Parameters:
        """What a cell's record holds beside the figures of every task; ``answers`` and ``counts`` by rule."""

    def first(self, methods: Sequence[str]) -> str | None:
        """A row from whose estimator others go on, so that it is trained before them. None where every row is by itself."""
        return None

    def goes_on(self, method: str) -> bool:
        """Whether a row goes on from the first."""
        return False

    def foot(self, setting: Parameters) -> str:
        """What a printed table says below, of this task alone."""
        return "F/E updates: optimiser steps of predictor and energy."
