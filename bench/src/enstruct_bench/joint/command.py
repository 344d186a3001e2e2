"""``enstruct-bench joint``: what a joint distribution over label sets is good for, beside peers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from enstruct.cli import options as shared
from enstruct.cli.tables import say
from enstruct.environment import environment
from enstruct.errors import ConfigError, unknown_name
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.command import Command
from enstruct_bench.comparison.fingerprint import fingerprint_of
from enstruct_bench.comparison.printed import show
from enstruct_bench.comparison.protocols import load_protocol
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.joint import small_tables
from enstruct_bench.joint.figures import PARTS, has_figures, measured
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.picture import draw
from enstruct_bench.joint.registry import DEFAULT, check, is_missing
from enstruct_bench.joint.results import JointFile
from enstruct_bench.joint.summary import COLUMNS, DIFFERENCES, differences_of, rows_of
from enstruct_bench.joint.table import table_of


@dataclass(frozen=True)
class Joint(Command):
    """``parts``: which figures, of told, questions and wrong. ``minutes`` of the default base, as the estimator has it."""

    typed: ClassVar[str] = "enstruct-bench joint"
    goes_on: ClassVar[bool] = True

    data: str
    labels: str | None = None
    drop: list[str] = field(default_factory=list)
    methods: tuple[str, ...] = DEFAULT
    seeds: int = 5
    reference: str | None = None
    parts: str = ",".join(PARTS)
    minutes: float = 3.0
    json: Path | None = None
    picture: Path | None = None

    def run(self) -> None:
        methods, parts = list(self.methods), tuple(part.strip() for part in self.parts.split(","))
        if not methods or len(set(methods)) < len(methods) or self.seeds < 1:
            raise ConfigError("Give at least one seed and distinct methods, joined by commas.")
        for name in methods:
            check(name)
        if missing := [name for name in methods if is_missing(name)]:
            methods = [name for name in methods if name not in missing]
            say(f"{', '.join(missing)} left out: cleanlab is not installed (pip install --group peers).")
        for part in parts:
            if part not in PARTS:
                raise unknown_name("part", part, PARTS)
        methods = [name for name in methods if has_figures(name, parts)]
        if not methods:
            raise ConfigError("None of these methods answers for these parts: name another, or --parts wrong.")
        reference = self.reference or methods[0]
        if reference not in methods:
            raise unknown_name("reference", reference, methods)
        if self.picture is not None and not ("base" in methods and "told" in parts):
            raise ConfigError(
                "--picture draws gains over the row 'base' at shares told: leave it among --methods, and told in --parts."
            )
        splits = self._splits(0)
        setting: dict[str, Any] = {"data": self.data, "content": fingerprint_of(splits), "environment": environment()}
        setting |= {"parts": list(parts), "minutes": self.minutes}
        setting["rows"] = {name: len(part) for name, part in splits.parts().items()}
        store = None if self.json is None else JointFile.opened(self.json, setting)
        cells = Cells(store, say)
        for seed in range(self.seeds):
            lacking = cells.lacking(methods, seed)
            if not lacking:
                continue
            estimators = Estimators(table_of(self._splits(seed)), seed, minutes=self.minutes)
            for method in lacking:
                cells.make(method, seed, lambda m=method, e=estimators: measured(m, e, parts))  # type: ignore[misc]
        asked = cells.of(methods, range(self.seeds), reference)
        if store is not None:
            store.write_summary(reference)
        self._show(asked, reference, setting)

    def _splits(self, seed: int) -> Any:
        if self.data in small_tables.TABLES:
            if self.labels is not None or self.drop:
                raise ConfigError(f"{self.data} is scikit-learn's, which knows its labels: leave out --labels and --drop.")
            return small_tables.splits(self.data, seed)
        return load_protocol(self.data, "auto", seed, shared.label_argument(self.labels), self.drop)[0]

    def _show(self, cells: Mapping[tuple[str, int], Cell], reference: str, setting: Mapping[str, Any]) -> None:
        title = f"{self.data}: {self.seeds} splits, {setting['rows']['test']} test rows"
        told = "@: share of labels told, figures on the others; flips, swaps, drops: average precision of 5% wrong cells."
        show(title, ["method", *COLUMNS.values()], rows_of(cells), told, setting["environment"])
        if self.picture is not None:
            draw(cells, "base", self.data, self.picture)
        if not (differences := differences_of(cells, reference)):
            return
        apart = f"Differences to {reference}, 95% by bootstrap over splits and their rows; NLL, loss and asks: lower is better."
        show(title, ["method", *DIFFERENCES.values()], differences, apart, setting["environment"])
