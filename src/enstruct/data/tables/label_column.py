"""The only column of labels of a table: of names, separated by ``;`` or ``|``, or of 0 and 1."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.label_names import fault_of_name, joined_otherwise
from enstruct.data.numbers import is_number
from enstruct.data.rows import indicator_of
from enstruct.data.tables.cells import as_written, is_missing, told
from enstruct.data.tables.table_file import Block, Listed, TableFile
from enstruct.errors import ParseError, shown


class LabelColumn:
    """Its cells as they stand in the file: whether it holds names all of it tells."""

    def __init__(self, file: TableFile, name: str) -> None:
        self.file, self.name = file, name
        self.cells: list[str] = []
        self.places = array("q")
        self._same: dict[str, str] = {}  # a cell that occurs often is one object

    def add(self, block: Block) -> None:
        """ParseError for a list that is no list of names."""
        cells = block.strings(self.name)
        for cell, place in zip(cells, block.places, strict=True):
            if isinstance(cell, Listed) and (fault := _fault_of_list(cell)) is not None:
                raise self.file.error(fault, place, self.name)
        self.cells += [self._same.setdefault(cell, cell) for cell in cells]
        self.places.extend(block.places)

    def holds_names(self, known: Sequence[str] | None) -> bool:
        """Not if all that is there is 0 or 1, so that a gap is no row without labels but one whose label is unknown; unless those
        are ``known``."""
        values = {as_written(cell) for cell in self._same} - {"nan"}
        if not values:
            return known is None or self.name not in known
        if not all(is_number(value) and float(value) in (0, 1) for value in values):
            return True
        return known is not None and self.name not in known

    def told(self) -> NDArray[np.int8]:
        """(rows, 1) of 0, 1 and UNKNOWN."""
        return told(self.file, Block({self.name: tuple(self.cells)}, self.places), [self.name])

    def named(self, known: Sequence[str] | None) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
        """The sets and the names, sorted or those ``known``; a missing cell is a row without labels. ParseError."""
        if known is None:
            self._check_no_reals()
            self._check_separated()
        sets: dict[str, list[str]] = {}
        first: dict[str, int] = {}
        for row, cell in enumerate(self.cells):
            if cell not in sets:
                found = {name.strip() for name in cell.replace("|", ";").split(";")} - {""}
                sets[cell], first[cell] = ([] if is_missing(cell) else sorted(found)), row
        names = tuple(sorted({name for each in sets.values() for name in each}) if known is None else known)
        number = {name: k for k, name in enumerate(names)}
        for cell, each in sets.items():
            for name in each:
                if name not in number:
                    raise self._error(f"the model has no label {shown(name)}: take it out", first[cell])
                if (fault := fault_of_name(name)) is not None:
                    raise self._error(fault, first[cell])
        numbered = {cell: [number[name] for name in each] for cell, each in sets.items()}
        return indicator_of([numbered[cell] for cell in self.cells], len(names)), names

    def _error(self, message: str, row: int) -> ParseError:
        return self.file.error(message, self.places[row], self.name)

    def _check_no_reals(self) -> None:
        """That a column of measurements is not taken for names, one label for each value; names that are numbers have no
        fraction."""
        numbers = {cell: cell.strip().replace(",", ".") for cell in self._same if not is_missing(cell)}
        if not all(map(is_number, numbers.values())):
            return
        for cell, number in numbers.items():
            if not float(number).is_integer():
                raise self._error(
                    f"{shown(cell)} is a number with a fraction, and no label: give another column; if it is a name, put a ; "
                    "behind it",
                    self.cells.index(cell),
                )

    def _check_separated(self) -> None:
        """That sets are not written otherwise, as Python prints lists or joined by commas: each would be one label."""
        cells = [cell for cell in self._same if not is_missing(cell)]
        if (cell := joined_otherwise(cells)) is not None:
            raise self._error(
                f"{shown(cell)} looks like several labels: join names by ; or |, without brackets or quotes; if it is one name, "
                "put a ; behind it",
                self.cells.index(cell),
            )


def _fault_of_list(cell: Listed) -> str | None:
    """What keeps a list from being the names of a row's labels."""
    if odd := next((item for item in cell.items if ";" in item or "|" in item), None):
        return f"{shown(odd)} in a list holds a ; or |, which separate names: rename it"
    if len({*cell.items}) < len(cell.items) or {*cell.items} & {"True", "False"}:
        return "a list that names a label twice, or has a place for each label: make 0/1 columns of it"
    return None
