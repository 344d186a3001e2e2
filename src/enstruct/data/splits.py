"""Stratified splits, through iterative-stratification (Sechidis et al. 2011).

The papers' 60/20/20 protocol: ten stratified folds, 1-6 train, 7-8 validation, 9-10 test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.data.impute import fill_missing, training_means
from enstruct.errors import DataError

MANY_LABELS = 1000
"""Beyond this many labels stratification costs more than it gives, and rows are split at random."""


@dataclass(frozen=True)
class Splits:
    train: Dataset
    validation: Dataset
    test: Dataset

    def parts(self) -> dict[str, Dataset]:
        return {"train": self.train, "validation": self.validation, "test": self.test}


def split_60_20_20(data: Dataset, seed: int = 0) -> Splits:
    """Stratified by label sets; the same seed gives the same rows."""
    if len(data) < 10:
        raise DataError(f"A 60/20/20 split needs at least 10 rows with a label, {data.name or 'this set'} has {len(data)}.")
    folds = stratified_folds(data.Y, 10, seed)
    parts = [np.sort(np.concatenate(folds[a:b])) for a, b in ((0, 6), (6, 8), (8, 10))]
    return Splits(*(data.take(index) for index in parts))


def imputed(splits: Splits) -> Splits:
    """Missing cells filled with training-row means."""
    if not any(part.has_missing for part in splits.parts().values()):
        return splits
    means = training_means(splits.train.X)
    return Splits(*(replace(part, X=fill_missing(part.X, means)) for part in splits.parts().values()))


def stratifiable(Y: sparse.csr_matrix) -> bool:
    """iterative-stratification takes two labels or more."""
    return 2 <= Y.shape[1] <= MANY_LABELS


def stratified_folds(Y: sparse.csr_matrix, k: int, seed: int) -> list[NDArray[Any]]:
    """Row numbers of k folds, stratified by label sets."""
    n = Y.shape[0]
    if Y.shape[1] == 1:  # its rows are dealt out in turn, so that a rare label is in as many folds as can be
        drawn = np.random.default_rng(seed).permutation(n)
        sorted_by_label = drawn[np.argsort(Y[drawn].toarray().ravel(), kind="stable")]
        return [sorted_by_label[i::k] for i in range(k)]
    if not stratifiable(Y):
        return np.array_split(np.random.default_rng(seed).permutation(n), k)
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold  # only here: it imports sklearn.model_selection

    splitter = MultilabelStratifiedKFold(n_splits=k, shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(np.zeros(n), Y.toarray())]


def places_60_20_20(n: int, seed: int, source: str, what: str) -> list[NDArray[np.int64]]:
    """Numbers of ``n`` sentences or images (train, validation, test), drawn without regard to what is in them.

    DataError for too few, which says what they are and of which source.
    """
    if n < 5:
        raise DataError(f"{source} has {n} {what}, too few for training, validation and test parts.")
    return np.split(np.random.default_rng(seed).permutation(n), [int(0.6 * n), int(0.8 * n)])


def holdout_places(n: int, fraction: float, seed: int, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of ``n`` sentences or images (train, held out), drawn without regard to what is in them. DataError for too few."""
    size = round(fraction * n)
    if not 1 <= size < n:
        raise DataError(f"{n} {what} are too few to hold out {fraction:.0%} of them for validation.")
    order = np.random.default_rng(seed).permutation(n)
    return order[size:], order[:size]


def holdout(Y: sparse.csr_matrix, fraction: float, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row numbers (train, held out), stratified by label sets. DataError where none would be left."""
    n = Y.shape[0]
    if not stratifiable(Y):
        order = np.random.default_rng(seed).permutation(n)
        cut = max(1, round(fraction * n))
        return np.sort(order[cut:]), np.sort(order[:cut])
    if math.ceil(fraction * n) >= n:  # as the splitter counts
        raise DataError(f"{n} distinct rows are too few to hold out {fraction:.2%} of them: nothing would be left to train on.")
    from iterstrat.ml_stratifiers import MultilabelStratifiedShuffleSplit

    splitter = MultilabelStratifiedShuffleSplit(n_splits=1, test_size=fraction, random_state=seed)
    train, validation = next(splitter.split(np.zeros(n), Y.toarray()))
    return np.sort(train), np.sort(validation)
