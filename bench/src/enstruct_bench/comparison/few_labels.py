"""``enstruct-bench light``: few labelled references, and many unlabelled ones with a reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import say
from enstruct.data.catalogue import data_root
from enstruct.data.citations import read_references
from enstruct.data.tagged import Token, load_tagged
from enstruct.environment import environment
from enstruct.errors import ConfigError, DataError, DivergenceError
from enstruct.estimators import EnergySequenceTagger
from enstruct.methods import get_method
from enstruct.methods.tags import TAG_METHODS
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.command import Command, parameters
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.light import (
    LIGHT_CELLS,
    RULES,
    TEST,
    Draw,
    draw_references,
    formatted_light_row,
    light_titles,
    needs_baseline,
    run_light_cell,
    summarise_light,
)
from enstruct_bench.comparison.printed import show
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.tag_comparison import BASELINE, TAG_COMPARISON, tables_of

SKIPPED = {"method", "random_state", "metric", "decision", "scheme", "classes"}
"""Parameters that the protocol sets itself."""


@dataclass(frozen=True)
class Light(Command):
    typed: ClassVar[str] = "enstruct-bench light"
    goes_on: ClassVar[bool] = True

    data: str
    others: list[str] = field(default_factory=list)
    methods: tuple[str, ...] = ("cross-entropy", "rules", "ge", "r-spen", "sg-spen", "dvn", "implicit-cd")
    labelled: list[int] = field(default_factory=lambda: [5, 10, 50])
    draws: int = 5
    epochs: int = 10
    json: Path | None = None
    model: Mapping[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        methods = list(self.methods)
        for name in methods:
            if name != RULES:
                get_method(name, TAG_METHODS)
        if not methods or len(set(methods)) < len(methods) or self.draws < 1 or min(self.labelled, default=0) < 1:
            raise ConfigError("Give distinct methods, joined by commas, at least one draw and positive numbers of labels.")
        data = load_tagged(self.data, "full")
        if len(data) < TEST + max(self.labelled):
            raise DataError(
                f"{self.data} has {len(data)} references: too few for {TEST} in the test and {max(self.labelled)} with labels."
            )
        others: list[list[Token]] = [list(words) for path in self._other_files() for words in read_references(path)]
        model = {**parameters("tags", self.model, SKIPPED), "metric": "accuracy"}
        setting: dict[str, Any] = {
            "data": self.data,
            "others": [path.name for path in self._other_files()],
            "labelled": self.labelled,
            "epochs": self.epochs,
            "model": TAG_COMPARISON.recorded(model),
        }
        setting["environment"] = environment()
        setting["content"] = fingerprint([data.sentences, data.tags, others])
        setting["tables"] = tables_of(model)
        defaults = EnergySequenceTagger().get_params(deep=False)
        store = ResultsFile.to_add_to(self.json, setting, defaults, LIGHT_CELLS) if self.json else None
        cells = Cells(store, say, "draw")
        for draw in range(self.draws):
            for n in self.labelled:
                missing = [method for method in methods if cells.lacking([f"{method} @{n}"], draw)]
                if missing:
                    _run_draw(missing, draw_references(data, others, n, draw), draw, model, self.epochs, cells)
        names = [f"{method} @{n}" for method in methods for n in self.labelled]
        references = names[: len(self.labelled)]  # the first method's
        rows = summarise_light(cells.of(names, range(self.draws), *references), self.labelled)
        self._show(rows, setting["environment"])

    def _other_files(self) -> list[Path]:
        """Those given; for a named set, the other collections of its folder too."""
        root = data_root()
        beside = sorted(root.glob("citations/parscit/*.tagged.txt")) if root is not None and self.data == "cora" else []
        return [*(path for path in beside if path.name != "cora.tagged.txt"), *map(Path, self.others)]

    def _show(self, rows: list[dict[str, Any]], where: dict[str, Any]) -> None:
        title = f"{self.data}: token accuracy on {TEST} references, {self.draws} draws of the labelled ones"
        foot = f"Δ: paired difference to {rows[0]['method']}, 95% by hierarchical bootstrap over draws and references."
        show(title, light_titles(self.labelled), [formatted_light_row(row, self.labelled) for row in rows], foot, where)


def _run_draw(
    missing: list[str],
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    cells: Cells,
) -> None:
    """What diverges is said and left out, and with the baseline what starts from it."""
    baseline = None
    if BASELINE in missing or any(map(needs_baseline, missing)):
        try:
            cell, baseline = _fit(BASELINE, drawn, draw, model, epochs, None)
        except DivergenceError as error:
            cells.diverged(f"{BASELINE} @{len(drawn.labelled)}", draw, error)
            missing = [method for method in missing if not needs_baseline(method)]
        else:
            cells.make(cell.record["method"], draw, lambda: cell)  # not where it was trained again, its record being kept
    for method in missing:
        if method != BASELINE:
            initial = baseline if needs_baseline(method) else None
            name = f"{method} @{len(drawn.labelled)}"
            cells.make(name, draw, partial(_work, method, drawn, draw, model, epochs, initial, cells))


def _work(
    method: str,
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    initial: EnergySequenceTagger | None,
    cells: Cells,
) -> Cell:
    known = [cell for (_, d), cell in cells.cells.items() if d == draw and cell.record["row"] == method == RULES]
    if known:  # the rules read no labels: what they found for fewer or more of them holds
        n = len(drawn.labelled)
        record = {**known[0].record, "method": f"{method} @{n}", "labelled": n, "unlabelled": len(drawn.unlabelled)}
        return Cell(record, known[0].rows)
    return _fit(method, drawn, draw, model, epochs, initial)[0]


def _fit(
    method: str,
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    initial: EnergySequenceTagger | None,
) -> tuple[Cell, EnergySequenceTagger | None]:
    bar = EpochBar(f"{method}, {len(drawn.labelled)} labelled, draw {draw}")
    try:
        return run_light_cell(method, drawn, draw, model, epochs, initial, [bar])
    finally:
        bar.close()
