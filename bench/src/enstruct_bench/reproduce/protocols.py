"""How a cell of a table is run: which rows, and which settings.

fair         the library's own splits, features and defaults, the same for every row of a table
published    as the papers did it: the settings of their authors, F1 at 0.5, and the data handling with its faults

The faults live here only. Genbase: nominal attributes by declared order, which is {YES, NO}, so that YES is 0, and the column of
protein identifiers as the numbers 0, 1, ...; cal500 and eurlex-ev: scaled by minimum and maximum over all rows together, test
rows included; FUN sets: a label "root" that every row has, which is learnt and counts when training is stopped (their features
are standardised: nobody says how theirs were, and so cross-entropy comes out as published). Errors in published losses are not
repeated.

What differs still: the folds are ours (those of the papers are not public), updates a batch are capped on all but the small sets
(``MOST_UPDATES``; the page says where, see :func:`reduced`), the energy's learning rate is halved on a plateau where the
predictor's is (theirs is constant), label scores have a bias, SEAL-margin's candidates are the predictor's, dropout is drawn
once a batch; NCE's inference starts from sigma of normal numbers, not from uniform ones. spo_FUN has 84 of its 86 features here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy import sparse

from enstruct.data.catalogue import CATALOGUE, locate
from enstruct.data.dataset import Dataset, drop_empty_rows
from enstruct.data.load import load
from enstruct.data.opening import read_lines
from enstruct.data.splits import Splits, imputed, split_60_20_20
from enstruct.data.synthetic import block_exclusive
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, DataError
from enstruct.inference import Inference, ProjectedAdam
from enstruct.methods import METHODS, Method
from enstruct.negatives import InferencePoint, PerturbedSamples, PredictorSamples, ValueTuples
from enstruct_bench.comparison.protocols import load_protocol
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.reproduce.seal_settings import EPOCHS, PATIENCE, SEAL_SETTINGS
from enstruct_bench.reproduce.table import BASELINES, LabelTable, Protocol

MOST_UPDATES = (10, 5)
"""Of the energy and of the predictor, a batch: the published up to 90 and 10 would take days on two cores."""
AS_MANY_AS_PUBLISHED = ("genbase", "cal500", "spo_FUN")
"""A few hundred or thousand rows: there all updates are made."""
STANDARDISED = ("spo_FUN", "expr_FUN")
"""Of the published protocol."""
GENERATED_SHAPES: dict[str, dict[str, Any]] = {
    "eurlex-ev": {"rows": 19_314, "features": 5_000, "labels": 3_993, "cardinality": 5.3},
    "expr_FUN": {"rows": 3_773, "features": 561, "labels": 500, "cardinality": 8.9},
    "bookmarks": {"rows": 87_856, "features": 2_150, "labels": 208, "cardinality": 2.0},
}
"""Of sets that are not at hand, all made as sparse topics; expr_FUN is dense and hierarchical in truth."""


def load_rows(table: LabelTable, dataset: str, protocol: Protocol) -> Sequence[Splits]:
    """The splits of a cell: one for all seeds, or one a fold. DataError for a set that is not there."""
    if dataset.startswith("synthetic-"):
        return [_synthetic(int(dataset.partition("-")[2]))]
    if dataset.startswith("shape-"):
        return [split_60_20_20(sparse_topics(**GENERATED_SHAPES[dataset.partition("-")[2]]), 0)]
    if protocol == "fair":
        return load_protocol(dataset, table.split)
    fault = FAULTS.get(dataset, _as_it_is)
    return [imputed(fault(dataset))]


def check_present(dataset: str) -> None:
    """DatasetNotFoundError for a set that neither lies below ENSTRUCT_DATA nor can be fetched; one that can is fetched now."""
    if not dataset.startswith(("synthetic-", "shape-")):
        entry = CATALOGUE[dataset]
        for part in ("full",) if "full" in entry.parts else entry.parts:
            locate(entry, part)


def method_of(table: LabelTable, protocol: Protocol, row: str) -> str | Method:
    """:meth:`LabelTable.method`, but SEAL's SPEN learns its energy from nothing, beside a trained predictor."""
    method = table.method(row)
    return "spen-from-scratch" if protocol == "published" and method == "spen" else method


def settings(table: LabelTable, dataset: str, protocol: Protocol, row: str) -> dict[str, Any]:
    """Parameters of the estimator that are not its defaults. ConfigError where there is no such row."""
    if dataset in table.impossible.get(row, ()):
        raise ConfigError(f"The row {row} of {table.name} cannot be run on {dataset}.")
    method, changes = table.variants.get(row, (row, {}))
    if protocol == "published":
        return {**_published(dataset, method if isinstance(method, str) else method.name), **changes}
    metric = {} if table.metric == "example-f1" else {"metric": table.metric}
    return {**table.settings.get("", {}), **table.settings.get(dataset, {}), **metric, **changes}


def _published(dataset: str, method: str) -> dict[str, Any]:
    standardize = dataset in STANDARDISED
    if method in BASELINES and METHODS[method].solver is not None:
        return {"decision": "fixed", "standardize": standardize}
    published = SEAL_SETTINGS.get(dataset, {}).get(method)
    if published is None:
        raise ConfigError(f"There are no published settings of {method} on {dataset}.")
    network = {"layers": published.layers, "hidden": published.hidden, "dropout": published.dropout}
    training = {"max_epochs": EPOCHS, "n_iter_no_change": PATIENCE, "weight_decay": published.weight_decay}
    parameters: dict[str, Any] = {**network, **training, "decision": "fixed", "monitor": "fixed", "standardize": standardize}
    parameters |= {"learn_constant": True} if dataset in STANDARDISED else {}
    trained_with_cross_entropy = SEAL_SETTINGS[dataset]["cross-entropy"]
    parameters["learning_rate"] = published.predictor_rate or trained_with_cross_entropy.predictor_rate
    if method == "cross-entropy":
        return parameters
    if published.energy_rate is not None:
        parameters["method__energy_rate"] = published.energy_rate / parameters["learning_rate"]
    parameters["energy_network"] = EnergySpec(units=published.units, features="separate")
    if published.energy_weight is not None:
        parameters |= {"method__energy_weight": published.energy_weight, "method__supervised_weight": published.supervised_weight}
        parameters["method__warmup"] = 0
    if method == "seal-regression-s":
        parameters["method__negatives"] = PerturbedSamples(published.samples or 10, published.std or 1.0)
    elif method == "nce":
        parameters["method__negatives"] = PredictorSamples(cast(int, published.samples), dropout=True)
    elif published.samples is not None:
        parameters["method__n_samples"] = published.samples
    if published.inference_rate is not None:
        parameters |= {"method__energy_clip": 10.0, **_inference(method, published.inference_rate)}
    return parameters | capped(dataset, method, published.inner, published.outer)


def _inference(method: str, rate: float) -> dict[str, Any]:
    """Gradient-based inference of the energy-only rows: Adam on probabilities, clamped; 20 steps, for DVN 30 to answer."""
    rule = ProjectedAdam(rate)
    if method == "dvn":
        training = Inference(rule, ("zeros",), steps=20, as_value=True)
        negatives = ValueTuples(training, adversarial=rule, adversarial_steps=20)
        return {"method__negatives": negatives, "method__inference": replace(training, steps=30)}
    if method == "nce":
        return {"method__inference": Inference(rule, ("random",) * 3, steps=20)}
    how = Inference(rule, ("predictor",), steps=20)
    return {"method__negatives": InferencePoint(how, dropout=True), "method__inference": how}


def capped(dataset: str, method: str, inner: int, outer: int) -> dict[str, Any]:
    """Updates a batch as published, as far as the caps allow; the energy's go first, but for SEAL-margin."""
    if outer == 0 or method == "nce":
        return {}
    most_energy, most_predictor = (inner * outer, outer) if dataset in AS_MANY_AS_PUBLISHED else MOST_UPDATES
    if method == "seal-margin":
        steps = {"update_first": "predictor", "predictor_steps": min(outer, most_predictor), "energy_steps": 1}
    else:
        repeats = min(outer, most_predictor)
        steps = {"rounds_per_batch": repeats, "energy_steps": max(1, min(inner, most_energy // repeats))}
    return {f"method__{name}": value for name, value in steps.items()}


def reduced(dataset: str, method: str) -> str | None:
    """What the caps took away, energy x predictor updates a batch: "3 x 10 to 2 x 5"; None where they took nothing."""
    published = SEAL_SETTINGS.get(dataset, {}).get(method)
    steps = {} if published is None else capped(dataset, method, published.inner, published.outer)
    if published is None or not steps:
        return None
    if method == "seal-margin":
        stated, kept = (1, published.outer), (steps["method__energy_steps"], steps["method__predictor_steps"])
    else:
        stated, kept = (published.inner, published.outer), (steps["method__energy_steps"], steps["method__rounds_per_batch"])
    return None if stated == kept else f"{stated[0]} x {stated[1]} to {kept[0]} x {kept[1]}"


def _synthetic(rows: int) -> Splits:
    """About so many rows to train on, and a third as many to validate and to test, as `enstruct data synthetic` makes them."""
    return split_60_20_20(block_exclusive(round(rows / 0.6), seed=0), 0)


def _as_it_is(dataset: str) -> Splits:
    return load_protocol(dataset, "auto")[0]


def _declared_order(dataset: str) -> Splits:
    """Genbase as a reader sees it that numbers nominal values in the order in which they are declared."""
    _check_declarations(locate(CATALOGUE[dataset], "full"))
    data = load(dataset)
    X = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
    numbered = np.hstack([np.arange(len(data))[:, None], 1.0 - X])
    wrong = Dataset(numbered, data.Y, ("protein", *data.feature_names), data.label_names, name=dataset)
    return split_60_20_20(drop_empty_rows(wrong), 0)


def _check_declarations(path: Path) -> None:
    declared = [line for line in read_lines(path) if line.lower().startswith("@attribute ps")]
    if not declared or any("{YES,NO}" not in line.replace(" ", "").upper() for line in declared):
        raise DataError(f"{path} does not declare its attributes as {{YES, NO}}: the published fault cannot be repeated on it.")


def _root(dataset: str) -> Splits:
    """FUN sets: a label that every row has."""

    def spoiled(part: Dataset) -> Dataset:
        root = sparse.csr_matrix(np.ones((len(part), 1), dtype=np.uint8))
        Y = sparse.hstack([root, part.Y], format="csr", dtype=np.uint8)
        return replace(part, Y=Y, label_names=("root", *part.label_names), hierarchy=None)

    return Splits(*(spoiled(part) for part in load_protocol(dataset, "auto")[0].parts().values()))


def _pooled_scaling(dataset: str) -> Splits:
    data = drop_empty_rows(load(dataset))
    X = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
    span = np.ptp(X, axis=0)
    return split_60_20_20(replace(data, X=(X - X.min(0)) / np.where(span > 0, span, 1)), 0)


FAULTS: dict[str, Callable[[str], Splits]] = {
    "genbase": _declared_order,
    "spo_FUN": _root,
    "expr_FUN": _root,
    "cal500": _pooled_scaling,
    "eurlex-ev": _pooled_scaling,
}
