"""Comparisons of taggers.

Methods whose first stage is cross-entropy start from one tagger of that seed, trained once: the row "cross-entropy" itself. So
all of them share its words, its tags and its weights, and differ by what comes after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from enstruct.errors import DataError
from enstruct.methods import PREDICTOR_ALONE
from enstruct.metrics import Counts
from enstruct.metrics.tags import TAG_METRICS, token_accuracy
from enstruct.tasks import TAGS
from enstruct_bench.comparison.comparison import COUNTED, Comparison, Parameters
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.protocols import TaggedParts, load_tagged_parts

if TYPE_CHECKING:
    from enstruct_bench.comparison.compare import Compare


BASELINE = "cross-entropy"
TABLES = ("embeddings", "clusters")
"""Parameters that may name a file that taggers begin with."""


class TagComparison(Comparison):
    task = TAGS
    rules = ("greedy", "chosen")
    columns: ClassVar[Mapping[str, str]] = {
        "method": "method",
        "greedy": "{} greedy",
        "chosen": "{} chosen rule",
        "rules": "rule",
        "accuracy": "token accuracy",
        "difference": "Δ chosen [95%]",
        **COUNTED,
    }
    differences: ClassVar[Mapping[str, str]] = {"difference": "chosen"}
    shares = ("accuracy",)
    names: ClassVar[Mapping[str, str]] = {"span-f1": "span F1"}

    def read(self, options: Compare) -> Sequence[TaggedParts]:
        return [load_tagged_parts(options.data, options.split_seed, options.columns)]

    def setting(self, options: Compare, parts: TaggedParts, model: Parameters) -> Parameters:
        return {
            "columns": options.columns,
            "epochs": options.epochs,
            "content": fingerprint([[part.sentences, part.tags] for part in vars(parts).values()]),
            "tables": tables_of(model),
        }

    def models(self, options: Compare, methods: Sequence[str], model: Parameters) -> tuple[Parameters, Mapping[str, Parameters]]:
        further = {**model, "max_epochs": options.epochs}
        return model, {method: further if self.goes_on(method) else model for method in methods}

    def recorded(self, model: Parameters) -> Parameters:
        """Of a table its file's name, since where it lies says nothing."""
        return {**model, **{name: Path(model[name]).name for name in _tables(model)}}

    def contents(self, parts: TaggedParts) -> list[tuple[Any, Any]]:
        return [(part.sentences, part.truth()) for part in (parts.train, parts.validation, parts.test)]

    def metric(self, estimator: Any, model: Parameters) -> str:
        return str(estimator.metric_)

    def counts(self, estimator: Any, truth: Any, answer: Any, metric: str) -> Counts:
        return TAG_METRICS[metric].counts(truth, answer)

    def figures(
        self, estimator: Any, parts: TaggedParts, answers: Mapping[str, Any], counts: Mapping[str, Counts], metric: str
    ) -> Parameters:
        return {
            "accuracy": token_accuracy(parts.test.truth(), answers["chosen"]),
            "started_from": None if estimator.initial is None else BASELINE,
        }

    def first(self, methods: Sequence[str]) -> str | None:
        return BASELINE if BASELINE in methods or any(map(self.goes_on, methods)) else None

    def goes_on(self, method: str) -> bool:
        stages = self.task.method(self.row(method)).stages
        return stages[0] == PREDICTOR_ALONE[0] and len(stages) > 1

    def foot(self, setting: Parameters) -> str:
        return "F/E updates and epochs of rows that start from cross-entropy are those after it."


TAG_COMPARISON = TagComparison()


def tables_of(model: Parameters) -> dict[str, str]:
    """What tells the tables that taggers begin with from others of the same name. DataError for one that is not there."""
    tables = {}
    for name in _tables(model):
        try:
            tables[name] = fingerprint(np.frombuffer(Path(model[name]).read_bytes(), dtype=np.uint8))
        except OSError as error:
            raise DataError(f"{name}: {error}.") from error
    return tables


def _tables(model: Parameters) -> list[str]:
    return [name for name in TABLES if isinstance(model.get(name), (str, Path))]
