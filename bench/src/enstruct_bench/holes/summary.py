"""From cells to tables, a group of rows for each share of cells removed; what is removed stands in the names of cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from enstruct_bench.comparison.quantity import Value
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.holes.sides import REFERENCE
from enstruct_bench.joint import summary
from enstruct_bench.joint.results import JointFile
from enstruct_bench.joint.summary import Cells, differences_of, rows_of

COLUMNS = {
    "loss@0": "loss",
    "average_precision@0": "AP",
    "roc_auc@0": "AUC",
    "loss@0.5": "loss @0.5",
    "average_precision@0.5": "AP @0.5",
    "roc_auc@0.5": "AUC @0.5",
    "fit_seconds": "fit s",
    "answer_seconds_0.5": "answer s",
    "peak_mib": "MiB",
}
PAIRED = tuple(figure for figure in COLUMNS if "@" in figure)
DIFFERENCES = {figure: f"Δ {COLUMNS[figure]}" for figure in PAIRED}


def key_of(side: str, removed: float) -> str:
    """By which a file keeps the cells of a side, as "joint@0.3"; the side alone where nothing is removed."""
    return f"{side}@{removed:g}" if removed else side


def by_removed(cells: Cells) -> dict[str, dict[tuple[str, int], Cell]]:
    """Share removed, as it is written in keys and empty for none -> the cells of it, by sides."""
    groups: dict[str, dict[tuple[str, int], Cell]] = {}
    for (key, seed), cell in cells.items():
        side, _, removed = key.partition("@")
        groups.setdefault(removed, {})[side, seed] = cell
    return dict(sorted(groups.items(), key=lambda group: float(group[0] or 0)))


def is_removed(cells: Cells) -> bool:
    """Whether anything is: else no table says how much."""
    return any(by_removed(cells))


def titles(cells: Cells, columns: Mapping[str, str]) -> list[str]:
    return [*(["removed"] if is_removed(cells) else []), "method", *columns.values()]


def figures_of(cells: Cells) -> list[list[Value]]:
    """A printed row a share removed and side."""
    return _grouped(cells, lambda group: rows_of(group, COLUMNS))


def apart_of(cells: Cells) -> list[list[Value]]:
    """A printed row a share removed and side, of its differences to the reference."""
    return _grouped(cells, lambda group: differences_of(group, REFERENCE, DIFFERENCES))


def removed_in_words(cells: Cells, positives_only: bool) -> str:
    """What of the cells of training and validation rows is removed, with a space after it; empty for nothing."""
    if not is_removed(cells):
        return ""
    if positives_only:
        return (
            "Removed: of the positive training cells, no negative one being told; all sides take unknown cells for absent ones, "
            "as a label with one observed value teaches nothing. "
        )
    return "Removed: of the training cells, at random. "


def notes_of(cells: Cells) -> list[str]:
    """What the joint stands on, and what its energies hold, in how many of its cells."""
    lines = []
    for removed, group in by_removed(cells).items():
        records = [cell.record for (side, _), cell in group.items() if side == REFERENCE]
        said = [f"{'+'.join(one['bases'])}, {one['terms']}, untold by the {one['untold']}" for one in records]
        counted = "; ".join(f"{each} ({said.count(each)})" for each in dict.fromkeys(said))
        if said:
            lines.append(f"{f'{float(removed):.0%} removed: ' if removed else ''}{counted}")
    return lines


def _grouped(cells: Cells, rows: Callable[[Cells], list[list[Value]]]) -> list[list[Value]]:
    if not is_removed(cells):
        return rows(cells)
    return [[f"{float(removed or 0):.0%}", *row] for removed, group in by_removed(cells).items() for row in rows(group)]


class HolesFile(JointFile):
    """Its summary has the sides of each share removed."""

    def summary(self, reference: str) -> dict[str, Any]:
        groups = by_removed(self.cells).items()
        return {removed or "0": summary.summarise(group, reference, [*COLUMNS], PAIRED) for removed, group in groups}
