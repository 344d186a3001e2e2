"""A small fitted model of every kind that can be saved, and the rows it answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from enstruct import (
    AutoMultiLabelClassifier,
    EnergyMultiLabelClassifier,
    EnergySegmenter,
    EnergySequenceTagger,
    JointMultiLabelClassifier,
)
from enstruct.baselines import observed_network
from enstruct.data.synthetic import block_exclusive, ellipses
from enstruct.estimators import joint
from enstruct.estimators.bases import ObservedBase
from enstruct.rules import AtMost
from enstruct_bench.campaigns.trial import Unsound

NETWORK: dict[str, Any] = {"hidden": 6, "layers": 1, "max_epochs": 2, "random_state": 0}


class Small(NamedTuple):
    """``model``, fitted; ``rows`` to answer."""

    model: Any
    rows: Any

    def answers(self, model: Any = None) -> dict[str, Any]:
        """All that a model says of the rows, by call, as lists of arrays."""
        model = self.model if model is None else model
        told = {"predict": model.predict(self.rows)}
        if hasattr(model, "predict_proba"):
            told["predict_proba"] = model.predict_proba(self.rows)
        if isinstance(model, JointMultiLabelClassifier):
            known = np.full((len(self.rows), len(model.classes_)), np.nan)
            known[:, 0] = 1
            told |= {"known": model.predict_proba(self.rows, known=known), "log_prob": model.log_prob(self.rows, told["predict"])}
        elif hasattr(model, "energy") and getattr(model, "energy_", None) is not None:
            told["energy"] = model.energy(self.rows, told["predict"])
        return {name: each if isinstance(each, list) else [each] for name, each in told.items()}

    def check(self, model: Any) -> None:
        """Unsound for an answer that is none: of another shape, no probability, no number."""
        own = self.answers()
        for name, each in self.answers(model).items():
            if len(each) != len(own[name]):
                raise Unsound(f"{name} answers {len(each)} of {len(own[name])} rows")
            for one in each:
                values = one.toarray() if hasattr(one, "toarray") else np.asarray(one)
                if values.dtype.kind not in "biuf":
                    continue
                if np.isnan(values).any():
                    raise Unsound(f"{name} answers NaN")
                if name in ("predict_proba", "known") and not ((values >= 0) & (values <= 1 + 1e-6)).all():
                    raise Unsound(f"{name} answers what is no probability")


def labelled() -> tuple[Any, Any]:
    rows = block_exclusive(80, seed=3)
    return rows.X, rows.Y.toarray()[:, :6]


def _classifier(method: str, **settings: Any) -> Small:
    X, Y = labelled()
    return Small(EnergyMultiLabelClassifier(method, **{**NETWORK, **settings}).fit(X, Y), X[:5])


def _joint(**settings: Any) -> Small:
    X, Y = labelled()
    model = JointMultiLabelClassifier(base="binary-relevance", folds=2, random_state=0, **settings)
    model._candidates = model._candidates[:1]
    return Small(model.fit(X, Y), X[:5])


def _holes() -> Small:
    """On a small network of observed labels, which is one of what "auto" tries."""
    X, Y = labelled()
    Y = np.where(np.arange(Y.size).reshape(Y.shape) % 7 == 0, np.nan, Y.astype(float))
    model = JointMultiLabelClassifier(folds=2, random_state=0)
    model._candidates = model._candidates[:1]
    network = patch.object(joint, "automatic", lambda *_: [ObservedBase("network")])
    with network, patch.object(observed_network, "HIDDEN", 6), patch.object(observed_network, "EPOCHS", 5):
        return Small(model.fit(X, Y), X[:5])


def _automatic() -> Small:
    X, Y = labelled()
    settings = {"hidden": 6, "layers": 1}
    of = ["binary-relevance", "cross-entropy"]
    model = AutoMultiLabelClassifier(of, members=2, folds=2, minutes=0.02, settings=settings, random_state=0)
    return Small(model.fit(X, Y), X[:5])


def _texts() -> Small:
    words = ("sun", "rain", "snow", "wind", "fog")
    texts = [" ".join(words[(k + j) % 5] for j in range(3)) for k in range(40)]
    labels = [[words[k % 5]] for k in range(40)]
    return Small(EnergyMultiLabelClassifier("binary-relevance", random_state=0).fit(texts, labels), texts[:5])


def _tagger() -> Small:
    sentences = [["Ada", "met", "Bob"], ["in", "Rome"], ["Bob", "slept"], ["Rome", "and", "Ada"]] * 6
    tags = [["B-PER", "O", "B-PER"], ["O", "B-LOC"], ["B-PER", "O"], ["B-LOC", "O", "B-PER"]] * 6
    model = EnergySequenceTagger("seal-nce", hidden=4, embedding_dim=4, max_epochs=2, random_state=0)
    return Small(model.fit(sentences, tags), sentences[:4])


def _segmenter() -> Small:
    images, masks = ellipses(12, size=16, seed=1)
    return Small(EnergySegmenter("seal-nce", width=2, levels=1, max_epochs=1, random_state=0).fit(images, masks), images[:2])


MAKERS: dict[str, Callable[[], Small]] = {
    "network": lambda: _classifier("seal-nce"),
    "by inference": lambda: _classifier("spen"),
    "under rules": lambda: _classifier("cross-entropy", rules=[AtMost(3, [0, 1, 2, 3])]),
    "linear": lambda: _classifier("binary-relevance"),
    "forest": lambda: _classifier("extra-trees"),
    "boosted trees": lambda: _classifier("boosting"),
    "texts": _texts,
    "joint": _joint,
    "holes": _holes,
    "average": _automatic,
    "tagger": _tagger,
    "segmenter": _segmenter,
}


@cache
def small(kind: str) -> Small:
    """Fitted once in a process."""
    return MAKERS[kind]()
