"""What is compared on documents with label sets: models of texts, ours and peers', each from training rows to marginals.

    words            one-vs-rest logistic regression on tf-idf of words and pairs, C chosen on the validation rows
    terms            the same on the library's own tf-idf, which has pieces of words too; terms-svm: support vector machines
    svm, one-vs-rest, cost-sensitive, fasttext, trainer, contrastive
                     peers (:mod:`.peers`)
    joint            the library's default: ``JointMultiLabelClassifier()``
    frozen-linear    one-vs-rest logistic regression on the features of a frozen encoder
    frozen-network   cross-entropy on them; frozen-seal: seal-nce on them
    joint-encoder    the default with ``encoder=``: models on terms and on features, averaged where that scores better;
                     joint-adapter: with one whose adapters are trained, and models on terms; joint-adapter-once: its adapters
                     trained once, all else learnt from a fifth that is left out (folds=1), in up to ten minutes
    frozen-margin    seal-margin on them; frozen-infnet: inference networks; frozen-cd: implicit-cd
    adapter          cross-entropy, the encoder's adapters trained; pfeiffer: one a layer; lora: low-rank parts; full:
                     every weight
    adapter-seal     seal-nce, predictor and energy with adapters of their own; so adapter-margin, adapter-infnet, adapter-cd
    seq2seq, sgm, ocd, seqtag, laco
                     systems of the implicit-training paper's Table 2 on the frozen encoder's states (:mod:`.systems`)

Peers are left out where their package is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from enstruct import EnergyMultiLabelClassifier, JointMultiLabelClassifier, TextEncoder, TextFeatures
from enstruct.encoders.text.pretrained import accelerator
from enstruct_bench.texts import peers
from enstruct_bench.texts.collections import Documents
from enstruct_bench.texts.peers import Marginals
from enstruct_bench.texts.systems.fit import fit_system
from enstruct_bench.texts.systems.states import EncodedDocuments


@dataclass(frozen=True)
class Task:
    train: Documents
    validation: Documents
    encoder: Path | None
    max_tokens: int
    seed: int
    device: str = "cpu"

    def reader(self, tuning: str) -> TextEncoder:
        if self.encoder is None:
            raise SystemExit("This side needs --encoder FOLDER.")
        return TextEncoder(self.encoder, tuning=tuning, max_tokens=self.max_tokens)


@dataclass(frozen=True)
class Fitted:
    """``joint``: the model that takes what is told, where there is one. ``calibrated``: whether marginals are probabilities;
    ``device``: where it was trained."""

    marginals: Marginals
    joint: JointMultiLabelClassifier | None = None
    calibrated: bool = True
    device: str = "cpu"


OURS_WITHOUT_NETWORKS = ("binary-relevance", "linear-svm")


def network(method: str, tuning: str | None = None) -> Callable[[Task], Fitted]:
    def fit(task: Task) -> Fitted:
        encoder = None if tuning is None else task.reader(tuning)
        model = EnergyMultiLabelClassifier(method, encoder=encoder, metric="micro-f1", random_state=task.seed, device=task.device)
        model.fit(task.train.texts, task.train.Y, X_val=task.validation.texts, y_val=task.validation.Y)
        return Fitted(model.predict_proba, device="cpu" if method in OURS_WITHOUT_NETWORKS else str(model._device()))

    return fit


def words(task: Task) -> Fitted:
    rows = TextFeatures(characters=None).fit(task.train.texts)
    model = EnergyMultiLabelClassifier("binary-relevance", metric="micro-f1", random_state=task.seed)
    inside, outside = (rows.transform(part.texts) for part in (task.train, task.validation))
    model.fit(inside, task.train.Y, X_val=outside, y_val=task.validation.Y)
    return Fitted(make_pipeline(rows, model).predict_proba)


def joint(tuning: str | None, **settings: Any) -> Callable[[Task], Fitted]:
    def fit(task: Task) -> Fitted:
        encoder = None if tuning is None else task.reader(tuning)
        model = JointMultiLabelClassifier(encoder=encoder, metric="micro-f1", random_state=task.seed, **settings)
        model.fit(task.train.texts, task.train.Y)
        return Fitted(model.base_proba, model)  # which its own predict decides by

    return fit


def linear_peer(trainer: str, solver: int) -> Callable[[Task], Fitted]:
    return lambda task: Fitted(peers.linear(trainer, solver, task.train, task.validation), calibrated=solver == 0)


def system(name: str) -> Callable[[Task], Fitted]:
    def fit(task: Task) -> Fitted:
        documents = _encoded(task.reader("frozen").name, task.max_tokens)
        return Fitted(fit_system(name, documents, task.train, task.validation, task.seed))

    return fit


@lru_cache(maxsize=1)
def _encoded(encoder: Path, max_tokens: int) -> EncodedDocuments:
    """One for all systems and seeds of a run, since states are what takes long."""
    return EncodedDocuments(TextEncoder(encoder, max_tokens=max_tokens))


SIDES: dict[str, Callable[[Task], Fitted]] = {
    "words": words,
    "terms": network("binary-relevance"),
    "terms-svm": network("linear-svm"),
    "svm": linear_peer("one-vs-rest", 1),
    "one-vs-rest": linear_peer("one-vs-rest", 0),
    "cost-sensitive": linear_peer("cost-sensitive", 1),
    "fasttext": lambda task: Fitted(peers.fasttext(task.train, task.seed)),
    "joint": joint(None),
    "frozen-linear": network("binary-relevance", "frozen"),
    "frozen-network": network("cross-entropy", "frozen"),
    "frozen-margin": network("seal-margin", "frozen"),
    "frozen-seal": network("seal-nce", "frozen"),
    "frozen-infnet": network("infnet", "frozen"),
    "frozen-cd": network("implicit-cd", "frozen"),
    **{name: system(name) for name in ("seq2seq", "sgm", "ocd", "seqtag", "laco")},
    "joint-encoder": joint("frozen"),
    "joint-adapter": joint("adapter"),
    "joint-adapter-once": joint("adapter", folds=1, minutes=10.0),
    "adapter": network("cross-entropy", "adapter"),
    "adapter-seal": network("seal-nce", "adapter"),
    "adapter-margin": network("seal-margin", "adapter"),
    "adapter-infnet": network("infnet", "adapter"),
    "adapter-cd": network("implicit-cd", "adapter"),
    "pfeiffer": network("cross-entropy", "pfeiffer"),
    "lora": network("cross-entropy", "lora"),
    "full": network("cross-entropy", "full"),
    "trainer": lambda task: Fitted(
        peers.trainer(task.reader("full"), task.train, task.validation, task.seed), device=str(accelerator())
    ),
    "contrastive": lambda task: Fitted(peers.contrastive(task.reader("full"), task.train, task.seed), device=str(accelerator())),
}
ON_TERMS = ("words", "terms", "terms-svm", "svm", "one-vs-rest", "cost-sensitive", "fasttext", "joint")
"""Sides that read no encoder."""
PEERS = {
    **dict.fromkeys(("svm", "one-vs-rest", "cost-sensitive"), "libmultilabel"),
    "fasttext": "fasttext",
    "trainer": "accelerate",
}
"""Side -> the package it needs (group "peers" of pyproject.toml)."""


def is_there(side: str) -> bool:
    return side not in PEERS or find_spec(PEERS[side]) is not None


def clipped(p: Any) -> Any:
    return np.clip(np.asarray(p, dtype=np.float64), 0.0, 1.0)
