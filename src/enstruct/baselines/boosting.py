"""Gradient boosted trees, one ensemble a label: scikit-learn's, which need no further package, LightGBM's and CatBoost's.

Their settings are fixed, for few rows: a rate of 0.05 and trees of 8 leaves with 10 rows at least, about half of scikit-learn's
own for the first and the last and a quarter for the second, as the rows of a rare label are few. CatBoost's trees have the same
split on a whole level, so they are deeper. What any of them has grown becomes plain tables, which need no package to answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.baselines.extra_trees import fits_densely
from enstruct.data.rows import Rows
from enstruct.encoders.boosted import BoostedTrees, Ensemble
from enstruct.errors import ConfigError, MissingExtraError

SETTINGS: dict[str, Any] = {
    "learning_rate": 0.05,
    "max_iter": 100,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 10,
    "l2_regularization": 1.0,
    "early_stopping": False,
}
OF_LIGHTGBM: dict[str, Any] = {
    "objective": "binary",
    "learning_rate": 0.05,
    "num_iterations": 100,
    "num_leaves": 8,
    "min_data_in_leaf": 10,
    "lambda_l2": 1.0,
    "use_missing": False,  # features are complete, and a split is no more than x <= threshold then
    "num_threads": 1,
    "deterministic": True,
    "verbosity": -1,
}
OF_CATBOOST: dict[str, Any] = {
    "learning_rate": 0.05,
    "iterations": 150,
    "depth": 4,
    "border_count": 64,  # a third of the time that 254 take
    "boosting_type": "Plain",
    "thread_count": 1,
    "logging_level": "Silent",
    "allow_writing_files": False,
}
RARE = 3
"""Rows of a label's rarer value below which its share is all that is learnt."""


def fit_boosting(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None = None,
    seed: int = 0,
    metric: str = "example-f1",
    should_stop: Callable[[], bool] = lambda: False,
    *,
    by: str = "boosting",
) -> BoostedTrees:
    """``positive_weight`` (labels,) of positive rows; labels after ``should_stop`` says so get their shares alone.

    by : a key of ``GROWERS``. MissingExtraError where its package is not installed.
    """
    if not is_installed(by):
        raise MissingExtraError(f"The method {by!r} needs a package: pip install 'enstruct[boosting]'.")
    kind = GROWERS[by]
    if not (kind.takes_sparse or fits_densely(train.X)):
        raise ConfigError(
            f"{by!r} needs the features as a dense array, which these would not fit into: take 'lightgbm', or no trees."
        )
    grower = kind(train.X if kind.takes_sparse or not sparse.issparse(train.X) else train.X.toarray(), seed)
    Y = sparse.csc_matrix(train.Y)
    ensembles = []
    for label in range(Y.shape[1]):
        y = Y[:, [label]].toarray().ravel()
        factor = 1.0 if positive_weight is None else float(positive_weight[label])
        weight = (np.ones(len(y)) if train.weight is None else np.asarray(train.weight)) * np.where(y > 0, factor, 1.0)
        ensembles.append(grower.label(y, weight, untouched=should_stop()))
    return BoostedTrees.of_ensembles(ensembles)


def fit_lightgbm(*given: Any, **named: Any) -> BoostedTrees:
    """:func:`fit_boosting` by LightGBM."""
    return fit_boosting(*given, **named, by="lightgbm")


def fit_catboost(*given: Any, **named: Any) -> BoostedTrees:
    """:func:`fit_boosting` by CatBoost."""
    return fit_boosting(*given, **named, by="catboost")


def is_installed(by: str) -> bool:
    """Whether its package can be imported: one without its compiled library (OpenMP's, on some systems) cannot."""
    try:
        return by == "boosting" or import_module(by) is not None
    except (ImportError, OSError):
        return False


def fit_label(
    X: NDArray[Any], y: NDArray[Any], weight: NDArray[Any], seed: int, untouched: bool = False, *, by: str = "boosting"
) -> Ensemble:
    """One label by itself: :meth:`Grower.label`."""
    return GROWERS[by](X, seed).label(y, weight, untouched)


class Grower:
    """Ensembles of labels on the same rows X, whose features are made ready once for all labels where a package can keep them."""

    takes_sparse = False

    def __init__(self, X: Any, seed: int) -> None:
        self.X, self.seed = X, seed
        least, most = (X.min(0).toarray(), X.max(0).toarray()) if sparse.issparse(X) else (X.min(0), X.max(0))
        self.varies = bool((least != most).any())

    def label(self, y: NDArray[Any], weight: NDArray[Any], untouched: bool = False) -> Ensemble:
        """The label's log-odds alone where its values are too few, where no feature varies, or if ``untouched``."""
        positives = int((y > 0).sum())
        if untouched or min(positives, len(y) - positives) < RARE or not self.varies:
            share = ((weight * (y > 0)).sum() + 0.5) / (weight.sum() + 1)
            return Ensemble(float(np.log(share / (1 - share))))
        unequal = weight if (weight != weight[0]).any() else None  # with weights scikit-learn bins fifty times as slowly
        return self.grown(y > 0, unequal)

    def grown(self, y: NDArray[np.bool_], weight: NDArray[Any] | None) -> Ensemble:
        raise NotImplementedError  # every package has its own


class ScikitLearns(Grower):
    def grown(self, y: NDArray[np.bool_], weight: NDArray[Any] | None) -> Ensemble:
        from sklearn.ensemble import HistGradientBoostingClassifier  # only here: networks do without

        model = HistGradientBoostingClassifier(**SETTINGS, random_state=self.seed)
        return of_scikit_learn(model.fit(self.X, y, sample_weight=weight))


class LightGBMs(Grower):
    """Bins once for all labels."""

    takes_sparse = True

    def __init__(self, X: Any, seed: int) -> None:
        super().__init__(X, seed)
        # by rows where most values are nothing, which takes a third of the time; it would choose by the clock
        direction = {"force_row_wise": True} if sparse.issparse(X) else {"force_col_wise": True}
        self.settings = {**OF_LIGHTGBM, **direction, "seed": seed % 2**31}

    @cached_property
    def binned(self) -> Any:
        import lightgbm

        X = self.X.astype(np.float64) if sparse.issparse(self.X) and self.X.dtype.kind != "f" else self.X
        return lightgbm.Dataset(X, np.zeros(X.shape[0]), params=self.settings).construct()

    def grown(self, y: NDArray[np.bool_], weight: NDArray[Any] | None) -> Ensemble:
        import lightgbm

        self.binned.set_label(y.astype(np.float32))
        own = np.ones(len(y)) if weight is None else weight
        self.binned.set_field("weight", own.astype(np.float32))  # set_weight takes ones for none, and leaves the last label's
        return of_lightgbm(lightgbm.train(self.settings, self.binned))


class CatBoosts(Grower):
    def grown(self, y: NDArray[np.bool_], weight: NDArray[Any] | None) -> Ensemble:
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(**OF_CATBOOST, random_seed=self.seed % 2**31)
        return of_catboost(model.fit(self.X, y, sample_weight=weight))


def of_scikit_learn(model: Any) -> Ensemble:
    """Of a ``HistGradientBoostingClassifier``."""
    trees = []
    for nodes in (predictor.nodes for step in model._predictors for predictor in step):
        leaf, own = nodes["is_leaf"].astype(bool), np.arange(len(nodes))
        fields = ("feature_idx", 0), ("num_threshold", 0), ("left", own), ("right", own)
        inner = [np.where(leaf, of_leaves, nodes[name]) for name, of_leaves in fields]
        trees.append(np.stack([*inner, np.where(leaf, nodes["value"], 0)]).astype(float))
    return Ensemble(float(np.ravel(model._baseline_prediction)[0]), trees)


def of_lightgbm(model: Any) -> Ensemble:
    """Of a ``Booster``; its first tree has the bias in its leaves."""

    def grow(node: dict[str, Any], rows: list[list[float]]) -> list[list[float]]:
        own = len(rows)
        rows.append([0, 0, own, own, node.get("leaf_value", 0)])
        if "left_child" in node:
            rows[own][:3] = node["split_feature"], node["threshold"], len(rows)
            grow(node["left_child"], rows)
            rows[own][3] = len(rows)
            grow(node["right_child"], rows)
        return rows

    return Ensemble(0.0, [np.array(grow(tree["tree_structure"], []), float).T for tree in model.dump_model()["tree_info"]])


def of_catboost(model: Any) -> Ensemble:
    """Of a ``CatBoostClassifier``, which gives its trees away by a file alone."""
    with TemporaryDirectory() as folder:
        model.save_model(str(Path(folder) / "model.json"), format="json")
        saved = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
    scale, (bias,) = saved["scale_and_bias"]
    trees = []
    for tree in saved["oblivious_trees"]:
        splits = (tree["splits"] or [])[::-1]  # the first one is the lowest bit of a leaf's number; a tree may have none
        inner, level = 2 ** len(splits) - 1, 2 ** np.arange(len(splits))
        table = np.zeros((5, 2 * inner + 1))
        table[0, :inner] = np.repeat([split["float_feature_index"] for split in splits], level)
        table[1, :inner] = np.repeat([split["border"] for split in splits], level)
        table[2:4] = np.arange(2 * inner + 1)
        table[2:4, :inner] = 2 * table[2:4, :inner] + [[1], [2]]
        table[4, inner:] = scale * np.array(tree["leaf_values"])
        trees.append(table)
    return Ensemble(bias, trees)


GROWERS: dict[str, type[Grower]] = {"boosting": ScikitLearns, "lightgbm": LightGBMs, "catboost": CatBoosts}
"""By the methods' names."""
