"""``enstruct-bench holes``: what is learnt from labels with holes, and what told cells say of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from enstruct.cli import options as shared
from enstruct.cli.tables import say
from enstruct.data.dataset import Dataset
from enstruct.data.load import load
from enstruct.environment import environment
from enstruct.errors import ConfigError, DataError, shown
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.command import Command
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.printed import show
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.holes.figures import measured
from enstruct_bench.holes.molecules import MOLECULES, load_molecules
from enstruct_bench.holes.sides import REFERENCE, SIDES, check
from enstruct_bench.holes.summary import (
    COLUMNS,
    DIFFERENCES,
    HolesFile,
    apart_of,
    figures_of,
    key_of,
    notes_of,
    removed_in_words,
    titles,
)
from enstruct_bench.holes.table import split_at_random, table_with_holes
from enstruct_bench.joint.fitted_estimators import Estimators


@dataclass(frozen=True)
class Holes(Command):
    """``removed``: shares of cells, joined by commas; ``minutes`` of the default base, as the estimator has it."""

    typed: ClassVar[str] = "enstruct-bench holes"
    goes_on: ClassVar[bool] = True

    data: str
    labels: str | None = None
    drop: list[str] = field(default_factory=list)
    removed: str = ""
    positives_only: bool = False
    methods: tuple[str, ...] = SIDES
    seeds: int = 3
    minutes: float = 3.0
    json: Path | None = None

    def run(self) -> None:
        if len(set(self.methods)) < len(self.methods) or self.seeds < 1:
            raise ConfigError("Give at least one seed and distinct methods, joined by commas.")
        for name in self.methods:
            check(name)
        if REFERENCE not in self.methods:
            raise ConfigError(f"Differences are to {REFERENCE}: name it among --methods.")
        shares = shares_of(self.removed) or (0.0,)
        if self.positives_only and 0.0 in shares:
            raise ConfigError("--positives_only needs --removed, the share of positive cells that nobody tells of.")
        data, unreadable = self._data()
        setting: dict[str, Any] = {"data": self.data, "content": fingerprint(data.X, data.told()), "environment": environment()}
        setting |= {"positives_only": self.positives_only, "minutes": self.minutes, "unreadable": unreadable}
        setting["rows"] = {name: len(part) for name, part in split_at_random(data, 0).parts().items()}
        setting |= {"observed": 1.0 if data.unknown is None else float(1 - data.unknown.mean()), "labels": data.Y.shape[1]}
        store = None if self.json is None else HolesFile.opened(self.json, setting)
        cells = Cells(store, say)
        for seed in range(self.seeds):
            for share in shares:
                lacking = [name for name in self.methods if cells.lacking([key_of(name, share)], seed)]
                if lacking:
                    table = table_with_holes(split_at_random(data, seed), seed, share, self.positives_only)
                    estimators = Estimators(table, seed, minutes=self.minutes)
                for name in lacking:
                    key = key_of(name, share)
                    cells.make(key, seed, lambda k=key, n=name, e=estimators: measured(k, n, e))  # type: ignore[misc]
        keys = [key_of(name, share) for share in shares for name in self.methods]
        asked = cells.of(keys, range(self.seeds), *(key_of(REFERENCE, share) for share in shares))
        if store is not None:
            store.write_summary(REFERENCE)
        self._show(asked, setting)

    def _data(self) -> tuple[Dataset, int]:
        """The set, and how many of its rows could not be read."""
        if self.data in MOLECULES:
            if self.labels is not None or self.drop:
                raise DataError(f"{self.data} is a set of molecules, which knows its labels: leave out labels and drop.")
            data, unreadable = load_molecules(self.data)
        else:
            data, unreadable = load(self.data, "full", shared.label_argument(self.labels), self.drop), 0
        if self.positives_only and data.unknown is not None:
            raise DataError(f"{self.data} has holes: --positives_only is for complete labels, of which it hides the others.")
        return data, unreadable

    def _show(self, cells: Mapping[tuple[str, int], Cell], setting: Mapping[str, Any]) -> None:
        title = f"{self.data}: {self.seeds} splits, {setting['rows']['test']} test rows, {setting['labels']} labels"
        foot = removed_in_words(cells, self.positives_only)
        foot += "Loss: nats an observed cell; @0.5: half of each row's observed cells told. "
        foot += " ".join(f"{REFERENCE}: {note}." for note in notes_of(cells))
        if missing := [name for name in SIDES if name not in self.methods]:
            foot += f" Not run: {', '.join(missing)}."
        if setting["unreadable"]:
            foot += f" {setting['unreadable']} SMILES could not be read."
        show(title, titles(cells, COLUMNS), figures_of(cells), foot, setting["environment"])
        if apart := apart_of(cells):
            said = f"Differences to {REFERENCE}, 95% by bootstrap over splits and their rows; of loss lower is better."
            show(title, titles(cells, DIFFERENCES), apart, said, setting["environment"])


def shares_of(removed: str) -> tuple[float, ...]:
    """As they are typed, with commas between them. ConfigError for what is no share."""
    shares = []
    for word in filter(None, (part.strip() for part in removed.split(","))):
        try:
            share = float(word)
        except ValueError:
            share = -1.0
        if not 0 <= share < 1 or share in shares:
            raise ConfigError(f"--removed holds {shown(word)}: distinct shares from 0 to below 1, joined by commas, as 0.3,0.5.")
        shares.append(share)
    return tuple(shares)
