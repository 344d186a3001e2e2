"""Features as the networks take them: checked, scaled, without those that no training row has."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from enstruct.data.mapped import MappedRows
from enstruct.data.texts import are_texts
from enstruct.data.tokens import TokenRows
from enstruct.errors import ConfigError, DataError, shortened
from enstruct.estimators.texts import rows_of


def validated(estimator: BaseEstimator, X: Any, reset: bool) -> Any:
    """X as float rows, dense or CSR, texts by way of :mod:`enstruct.estimators.texts`; every objection of scikit-learn's becomes
    a DataError. Mapped rows stay where they are."""
    if isinstance(X, MappedRows):
        return _mapped(estimator, X, reset)
    X = rows_of(estimator, X, reset)
    if isinstance(X, np.ndarray) and X.dtype.kind == "O" and hasattr(estimator, "text_"):  # texts that a base takes as they are
        estimator.n_features_in_ = 1
        return X
    try:
        X = validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
    except (ValueError, TypeError) as error:
        column = _unreadable_column(X) if isinstance(error, TypeError) or "could not convert" in str(error) else None
        if column is None and isinstance(error, TypeError):
            if isinstance(X, Iterable) and not isinstance(X, Sized):
                raise DataError(f"X is a {type(X).__name__}, which is read but once: make a list of it, or an array.") from error
            if "feature names" not in str(error).lower():
                raise
            raise DataError(
                "X's columns are named by texts and by other things, as numbers: X.columns = X.columns.astype(str) makes all "
                "of them texts."
            ) from error
        gap = _first_gap(X) if "contains NaN" in str(error) else None
        if gap is not None:
            raise DataError(
                f"Input X contains NaN, first in row {gap[0]}, column {gap[1]}: fill gaps before, as by "
                f"make_pipeline(SimpleImputer(), {type(estimator).__name__}(...)); a base= sees no gaps either."
            ) from error
        raise DataError(f"{shortened(str(error), 80)}{column}" if column else str(error)) from error
    _check_size(X)
    if sparse.issparse(X) and X.indices.dtype == np.int64 and max(X.nnz, *X.shape) < 2**31:
        return sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)  # liblinear's
    return X


def _first_gap(X: Any) -> tuple[int, int] | None:
    """Row and column of the first NaN in dense rows of numbers."""
    try:
        places = np.argwhere(np.isnan(np.asarray(getattr(X, "values", X), dtype=np.float64)))
    except (TypeError, ValueError):
        return None
    return (int(places[0, 0]), int(places[0, 1])) if len(places) and places.shape[1] == 2 else None


def _check_size(X: Any) -> None:
    """DataError for a number beyond single precision, in which networks and trees reckon."""
    values, most = X.data if sparse.issparse(X) else X, np.finfo(np.float32).max
    if values.dtype != np.float64 or not values.size or max(values.max(), -values.min()) <= most:
        return
    row, column = (int(each[0]) for each in (abs(X) > most).nonzero())
    raise DataError(
        f"X holds {X[row, column]:.3g} in row {row}, column {column}, beyond {most:.1g}: correct it, or scale the column."
    )


def validated_blocks(estimator: BaseEstimator, X: Any) -> Iterator[Any]:
    """Rows of a prediction, as of :func:`validated`: those that stay in their file some at a time, as matrices."""
    if not isinstance(X, MappedRows):
        yield validated(estimator, X, reset=False)
        return
    _check_mapped(estimator, X)
    for block in X.blocks():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # a file's are its reader's business
            rows = validated(estimator, block, reset=False)
        yield rows


def _mapped(estimator: Any, X: MappedRows, reset: bool) -> MappedRows:
    """ConfigError for an estimator that takes all rows at once, DataError for another number of features."""
    if not getattr(estimator, "_maps_rows", False):
        raise ConfigError(
            f"{type(estimator).__name__} takes all rows at once, and these stay in their file: name a method of networks, as "
            "method='seal-nce' (--model.method), or give it X.read() if that fits into memory."
        )
    if reset:
        for name in ("feature_names_in_", "text_"):  # of rows that it was fitted to before
            estimator.__dict__.pop(name, None)
        estimator.n_features_in_ = X.shape[1]
    _check_mapped(estimator, X)
    return X


def _check_mapped(estimator: Any, X: MappedRows) -> None:
    if not len(X):
        raise DataError("X has no rows.")
    if X.shape[1] != estimator.n_features_in_:
        raise DataError(f"X has {X.shape[1]} features, but the model was fitted to {estimator.n_features_in_}.")


def _unreadable_column(X: Any) -> str | None:
    """Of a data frame of pandas: the first column that is no numbers, and what to do about it."""
    for position, name in enumerate(X.columns if hasattr(X, "iloc") else ()):
        column = X.iloc[:, position]  # two may have one name
        try:
            if column.dtype.kind in "mM":
                raise TypeError
            np.asarray(column, dtype=np.float64)
        except (ValueError, TypeError):
            if are_texts(column.tolist()):
                return (
                    f" (column {name!r} holds texts: read it by a ColumnTransformer, with enstruct.TextFeatures() or a "
                    "TextEncoder for it, or leave it out)"
                )
            return f" (column {name!r} holds {column.dtype}: make numbers of it, or leave it out)"
    return None


def in_single_precision(X: Any) -> Any:
    """DataError for numbers beyond it, which would be infinite."""
    if isinstance(X, MappedRows):
        return X  # of rows that are scaled when they are read
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    if not np.isfinite(single.data if sparse.issparse(single) else single).all():
        raise DataError(f"X holds numbers beyond {np.finfo(np.float32).max:.1g}, which networks cannot take: scale it.")
    return single


@dataclass(frozen=True)
class Features:
    """What training rows say of features: a fitted scaler of scikit-learn's or None, the columns taken or None for all."""

    scaler: Any = None
    columns: NDArray[np.intp] | None = None

    @classmethod
    def fit(cls, X: Any, standardize: bool | str, choose: bool) -> Self:
        """``choose``: whether features that no row has are left out, as far as the networks are made for these rows."""
        if isinstance(X, TokenRows):
            return cls()  # numbers of tokens are names
        if isinstance(X, MappedRows):
            return cls(scaler_of_blocks(standardize, X), seen_in_blocks(X) if choose else None)
        return cls(make_scaler(standardize, X), seen_columns(X) if choose else None)

    def __call__(self, X: Any) -> Any:
        """(rows, features) as the networks take them."""
        if isinstance(X, MappedRows):
            return X.passing(self._in_single, X.shape[1] if self.columns is None else len(self.columns))
        if sparse.issparse(X) and getattr(self.scaler, "mean_", None) is not None:
            X = X.toarray()  # the rows of fit were dense, and centred
        X = X if self.scaler is None else self.scaler.transform(X)
        return X if self.columns is None else X[:, self.columns]

    def _in_single(self, X: Any) -> Any:
        return in_single_precision(self(X))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its numbers: "scaler/idf", "scaler/mean", "scaler/scale", "columns", as far as there are such."""
        scaler = self.scaler
        if scaler is None:
            numbers = {}
        elif hasattr(scaler, "idf_"):
            numbers = {"scaler/idf": scaler.idf_}
        else:
            mean = getattr(scaler, "mean_", None)
            numbers = {"scaler/scale": scaler.scale_} | ({} if mean is None else {"scaler/mean": mean})
        return numbers | ({} if self.columns is None else {"columns": self.columns})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of :meth:`arrays`, of checked shapes. ValueError for a spread that nothing can be divided by."""
        columns, scale = arrays.get("columns"), arrays.get("scaler/scale")
        if scale is not None and not (scale > 0).all():
            raise ValueError("the spread of a feature is not above 0")
        if "scaler/idf" in arrays:
            from sklearn.feature_extraction.text import TfidfTransformer

            weighting = TfidfTransformer()
            weighting.idf_, weighting.n_features_in_ = arrays["scaler/idf"], len(arrays["scaler/idf"])
            return cls(weighting, columns)
        if scale is None:
            return cls(None, columns)
        from sklearn.preprocessing import MaxAbsScaler, StandardScaler

        scaler: Any = StandardScaler() if "scaler/mean" in arrays else MaxAbsScaler()
        scaler.scale_, scaler.n_features_in_ = scale, len(scale)
        if "scaler/mean" in arrays:
            scaler.mean_, scaler.var_ = arrays["scaler/mean"], scale**2
        else:
            scaler.max_abs_ = scale
        return cls(scaler, columns)


def make_scaler(standardize: bool | str, X: Any) -> Any:
    """A fitted scikit-learn scaler or None.

    "auto": dense features that are not all 0/1 get zero mean and unit variance; CSR features beyond [-1, 1]
    are divided by their largest absolute value (centring would fill them in). "tfidf": counts or 0/1 features times
    log((1 + rows) / (1 + rows that have the feature)) + 1, then rows of length 1 (scikit-learn's ``TfidfTransformer``; CSR out).
    """
    if isinstance(standardize, (bool, np.bool_)) and not standardize:
        return None
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler  # only here: it takes half as long to import as enstruct

    if isinstance(standardize, str) and standardize == "tfidf":
        if not weighable(X):
            raise ConfigError(
                "Negative values in data passed to tf-idf, which weighs counts or 0/1 features: use standardize='auto' and "
                "another method."
            )
        from sklearn.feature_extraction.text import TfidfTransformer

        return TfidfTransformer().fit(X)
    if sparse.issparse(X):
        beyond = X.nnz > 0 and np.abs(X.data).max() > 1
        return MaxAbsScaler().fit(X) if beyond or not isinstance(standardize, str) else None
    if isinstance(standardize, str) and np.isin(X, (0, 1)).all():
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # what is beyond single precision is refused by in_single_precision
        return StandardScaler().fit(X)


def seen_columns(X: Any) -> NDArray[np.intp] | None:
    """Which CSR columns are ever other than 0 in the training rows; None for all of them, or dense features.

    The weights of the others are never trained: with them in it a network on words adds noise to rows that have such words, and
    takes two thirds of its time and memory for nothing on a collection like RCV1.
    """
    if not sparse.issparse(X):
        return None
    seen = np.unique(sparse.csr_matrix(X).indices[X.data != 0])
    return None if len(seen) in (0, X.shape[1]) else seen


def scaler_of_blocks(standardize: bool | str, X: MappedRows) -> Any:
    """As :func:`make_scaler`, of rows that are read block by block. ConfigError for "tfidf", whose scaler wants all at once."""
    if isinstance(standardize, (bool, np.bool_)) and not standardize:
        return None
    if isinstance(standardize, str) and standardize == "tfidf":
        raise ConfigError("tf-idf is not made of rows that stay in their file: weigh them before, or name another method.")
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    needed, scaler = not isinstance(standardize, str), MaxAbsScaler() if X.is_sparse else StandardScaler()
    for block in X.blocks():
        scaler.partial_fit(block)
        needed = needed or bool((np.abs(block.data) > 1).any() if X.is_sparse else not np.isin(block, (0, 1)).all())
    return scaler if needed else None


def seen_in_blocks(X: MappedRows) -> NDArray[np.intp] | None:
    """As :func:`seen_columns`."""
    if not X.is_sparse:
        return None
    seen = np.zeros(X.shape[1], dtype=bool)
    for block in X.blocks():
        seen[block.indices[block.data != 0]] = True
    return None if seen.sum() in (0, X.shape[1]) else np.flatnonzero(seen)


def weighable(X: Any) -> bool:
    """Whether no feature is negative, so that it may be a count."""
    return bool(X.shape[0] == 0 or X.min() >= 0)
