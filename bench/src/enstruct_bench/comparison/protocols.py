"""The splits of a protocol, of label sets and of tagged sentences: as published, 60/20/20 once or several times, folds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from enstruct.data.catalogue import CATALOGUE, TAGGED
from enstruct.data.dataset import Dataset, drop_empty_rows, same_columns
from enstruct.data.load import check_named, load, load_splits, read_part
from enstruct.data.numbers import whole
from enstruct.data.splits import Splits, holdout, imputed, places_60_20_20, split_60_20_20, stratified_folds
from enstruct.data.tagged import Tagged, load_tagged
from enstruct.errors import DataError, unknown_name


def load_protocol(
    source: Path | str, split: str = "auto", seed: int = 0, labels: Any = None, drop: Sequence[str] = ()
) -> Sequence[Splits]:
    """The splits of a protocol: one, or one a fold. Rows without a label are left out, missing cells filled in.

    split : "auto" (:func:`load_splits`), "published" (the train and test rows as published; a fifth of the training rows
        validates), "K-fold" cross-validation, as "10-fold", or "K-split": 60/20/20 drawn K times.
    """
    if split == "auto":
        return [imputed(load_splits(source, seed, labels, drop))]
    if split == "published":
        entry = CATALOGUE.get(str(source))
        if entry is None or not {"train", "test"} <= set(entry.parts):
            raise DataError(f"{source} was not published as train and test rows; use --split auto or K-fold.")
        check_named(source, labels, drop)
        if "valid" in entry.parts:
            return [imputed(load_splits(source, seed))]
        train, test = (read_part(entry, part) for part in ("train", "test"))
        return [imputed(held_out(drop_empty_rows(train), drop_empty_rows(same_columns(train, test)), seed))]
    number, _, kind = split.partition("-")
    several = whole(number)
    if kind not in ("fold", "split") or several is None or several < 1:
        raise unknown_name("split", split, ("auto", "published", "10-fold", "5-split"))
    data = drop_empty_rows(load(source, "full", labels, drop))
    return Folds(data, several, seed) if kind == "fold" else Draws(data, several, seed)


def held_out(train: Dataset, test: Dataset, seed: int = 0) -> Splits:
    """A fifth of the training rows validates."""
    training_rows, validation_rows = holdout(train.Y, 0.2, seed)
    return Splits(train.take(training_rows), train.take(validation_rows), test)


class Several(Sequence[Splits]):
    """Splits that are cut when they are asked for, and the last one kept: all together would be k times the data."""

    def __init__(self, data: Dataset, k: int, seed: int) -> None:
        self.data, self.k, self.seed = data, k, seed
        self._last: tuple[int, Splits] | None = None

    def __len__(self) -> int:
        return self.k

    @overload
    def __getitem__(self, number: int) -> Splits: ...

    @overload
    def __getitem__(self, number: slice) -> list[Splits]: ...

    def __getitem__(self, number: int | slice) -> Splits | list[Splits]:
        if isinstance(number, slice):
            return [self[n] for n in range(len(self))[number]]
        number = range(len(self))[number]
        if self._last is None or self._last[0] != number:
            self._last = number, imputed(self._cut(number))
        return self._last[1]

    @abstractmethod
    def _cut(self, number: int) -> Splits:
        """The parts of one of them."""


class Draws(Several):
    """60/20/20, stratified, drawn by ``seed``, ``seed + 1``, ...: what other rows would have given."""

    def _cut(self, number: int) -> Splits:
        return split_60_20_20(self.data, self.seed + number)


class Folds(Several):
    """Cross-validation: each of k stratified folds is the test part once; a fifth of the other rows validates."""

    def __init__(self, data: Dataset, k: int, seed: int = 0) -> None:
        if not 2 <= k <= len(data):
            raise DataError(f"{data.name or 'This set'} has {len(data)} rows: it makes 2 to {len(data)} folds, not {k}.")
        if len(data) - -(-len(data) // k) < 2:
            raise DataError(f"{data.name or 'This set'} has {len(data)} rows: {k} folds leave too few to train and to validate.")
        super().__init__(data, k, seed)
        self.tests = stratified_folds(data.Y, k, seed)

    def _cut(self, number: int) -> Splits:
        test = self.tests[number]
        others = np.setdiff1d(np.arange(len(self.data)), test)
        return held_out(self.data.take(others), self.data.take(np.sort(test)), self.seed)


@dataclass(frozen=True)
class TaggedParts:
    train: Tagged
    validation: Tagged
    test: Tagged


def load_tagged_parts(source: str, seed: int = 0, columns: Sequence[int] = ()) -> TaggedParts:
    """Train, validation and test sentences: as published, else 60/20/20 drawn by ``seed``."""
    if source in TAGGED and {"train", "validation", "test"} <= set(TAGGED[source]):
        return TaggedParts(*(load_tagged(source, part, columns) for part in ("train", "validation", "test")))
    data = load_tagged(source, "full", columns)
    return TaggedParts(*map(data.take, places_60_20_20(len(data), seed, source, "sentences")))
