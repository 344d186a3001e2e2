"""Small tables of real measurements that nothing was chosen on: scikit-learn's own.

Labels are made of columns that scikit-learn has as features or targets; rows without any label stay, and are many in two of them:

    digits    pixels -> which strokes of a seven-segment display the digit lights, whether it is even, prime, above four
    breast    mean measurements of cell nuclei -> which of the worst ones are in their upper quarter
    wine      six measurements -> which of the other seven are above their median, and the cultivar
    diabetes  four measurements and the progression -> which blood values are in their upper third
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn import datasets

from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.data.splits import Splits, places_60_20_20
from enstruct_bench.comparison.protocols import load_protocol
from enstruct_bench.joint.table import Array

STROKES = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
"""What a seven-segment display lights for each digit."""


def digits() -> tuple[Array, Array]:
    data = datasets.load_digits()
    of_digit = [[*(stroke in lit for stroke in "abcdefg"), d % 2 == 0, d in (2, 3, 5, 7), d > 4] for d, lit in enumerate(STROKES)]
    return data.data, np.array(of_digit)[data.target]


def breast() -> tuple[Array, Array]:
    X = datasets.load_breast_cancer().data
    return X[:, :10], X[:, 20:] > np.quantile(X[:, 20:], 0.75, axis=0)


def wine() -> tuple[Array, Array]:
    data = datasets.load_wine()
    above = data.data[:, 6:] > np.median(data.data[:, 6:], axis=0)
    return data.data[:, :6], np.hstack([above, data.target[:, None] == np.arange(3)])


def diabetes() -> tuple[Array, Array]:
    data = datasets.load_diabetes()
    return np.column_stack([data.data[:, :4], data.target]), data.data[:, 4:] > np.quantile(data.data[:, 4:], 2 / 3, axis=0)


TABLES: dict[str, Callable[[], tuple[Array, Array]]] = {"digits": digits, "breast": breast, "wine": wine, "diabetes": diabetes}


def splits(name: str, seed: int) -> Splits:
    """60/20/20 by the seed, all rows."""
    X, Y = TABLES[name]()
    features, labels = ((f"{what}{i}" for i in range(side.shape[1])) for what, side in (("x", X), ("y", Y)))
    data = Dataset(np.asarray(X, dtype=np.float64), as_indicator(Y), tuple(features), tuple(labels), name=name)
    return Splits(*(data.take(np.sort(part)) for part in places_60_20_20(len(data), seed, name, "rows")))


def parts_of(name: str, seed: int) -> dict[str, Dataset]:
    """Training, validation and test rows by this seed: of one of these tables, or of a data set by its own protocol."""
    return (splits(name, seed) if name in TABLES else load_protocol(name, "auto", seed, None, [])[0]).parts()
