"""What is compared on documents with label sets: models of texts, ours and peers', each from training rows to marginals.

    words            one-vs-rest logistic regression on tf-idf of words and pairs, C chosen on the validation rows
    terms            the same on the library's own tf-idf, which has pieces of words too
    svm              LibMultiLabel's default linear trainer on those terms, one-vs-rest support vector machines
    one-vs-rest      its logistic regressions
    joint            the library's default: ``JointMultiLabelClassifier()``
    frozen-linear    one-vs-rest logistic regression on the features of a frozen encoder
    frozen-network   cross-entropy on them; frozen-seal: seal-nce on them
    joint-encoder    the default with ``encoder=``: models on terms and on features, averaged where that scores better
    adapter          cross-entropy, the encoder's adapters trained; adapter-seal: seal-nce likewise; lora: low-rank parts

LibMultiLabel's are left out where it is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from enstruct import EnergyMultiLabelClassifier, JointMultiLabelClassifier, TextEncoder, TextFeatures
from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.data.splits import Splits
from enstruct_bench.costs.peers import libmultilabel
from enstruct_bench.texts.collections import Documents

Marginals = Callable[[list[str]], Any]
"""Texts -> (texts, labels)."""


@dataclass(frozen=True)
class Task:
    train: Documents
    validation: Documents
    encoder: Path | None
    max_tokens: int
    seed: int

    def reader(self, tuning: str) -> TextEncoder:
        if self.encoder is None:
            raise SystemExit("This side needs --encoder FOLDER.")
        return TextEncoder(self.encoder, tuning=tuning, max_tokens=self.max_tokens)


@dataclass(frozen=True)
class Fitted:
    """``joint``: the model that takes what is told, where there is one. ``calibrated``: whether marginals are probabilities."""

    marginals: Marginals
    joint: JointMultiLabelClassifier | None = None
    calibrated: bool = True


def network(method: str, tuning: str | None = None) -> Callable[[Task], Fitted]:
    def fit(task: Task) -> Fitted:
        encoder = None if tuning is None else task.reader(tuning)
        model = EnergyMultiLabelClassifier(method, encoder=encoder, metric="micro-f1", random_state=task.seed)
        model.fit(task.train.texts, task.train.Y, X_val=task.validation.texts, y_val=task.validation.Y)
        return Fitted(model.predict_proba)

    return fit


def words(task: Task) -> Fitted:
    rows = TextFeatures(characters=None).fit(task.train.texts)
    model = EnergyMultiLabelClassifier("binary-relevance", metric="micro-f1", random_state=task.seed)
    inside, outside = (rows.transform(part.texts) for part in (task.train, task.validation))
    model.fit(inside, task.train.Y, X_val=outside, y_val=task.validation.Y)
    return Fitted(make_pipeline(rows, model).predict_proba)


def joint(encoded: bool) -> Callable[[Task], Fitted]:
    def fit(task: Task) -> Fitted:
        encoder = task.reader("frozen") if encoded else None
        model = JointMultiLabelClassifier(encoder=encoder, metric="micro-f1", random_state=task.seed)
        model.fit(task.train.texts, task.train.Y)
        return Fitted(model.predict_proba, model)

    return fit


def peer(solver: int) -> Callable[[Task], Fitted]:
    def fit(task: Task) -> Fitted:
        rows = TextFeatures().fit(task.train.texts)
        train, held = (
            Dataset(rows.transform(part.texts), as_indicator(part.Y), (), part.names) for part in (task.train, task.validation)
        )
        _, marginals = libmultilabel("one-vs-rest", solver)(Splits(train, held, held))
        return Fitted(lambda texts: marginals(rows.transform(texts)), calibrated=solver == 0)

    return fit


SIDES: dict[str, Callable[[Task], Fitted]] = {
    "words": words,
    "terms": network("binary-relevance"),
    "svm": peer(1),
    "one-vs-rest": peer(0),
    "joint": joint(False),
    "frozen-linear": network("binary-relevance", "frozen"),
    "frozen-network": network("cross-entropy", "frozen"),
    "frozen-seal": network("seal-nce", "frozen"),
    "joint-encoder": joint(True),
    "adapter": network("cross-entropy", "adapter"),
    "adapter-seal": network("seal-nce", "adapter"),
    "lora": network("cross-entropy", "lora"),
}
PEERS = {"svm": "libmultilabel", "one-vs-rest": "libmultilabel"}
"""Side -> the package it needs (group "peers" of pyproject.toml)."""


def is_there(side: str) -> bool:
    return side not in PEERS or find_spec(PEERS[side]) is not None


def clipped(p: Any) -> Any:
    return np.clip(np.asarray(p, dtype=np.float64), 0.0, 1.0)
