"""One loop for all of them: Adam, batches of documents in random order, stopped by micro-F1 at 0.5 on validation documents.

Of few documents several passes are one round, after which it is judged.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.data.rows import as_indicator
from enstruct.metrics import get_metric
from enstruct_bench.texts.collections import Documents
from enstruct_bench.texts.systems.decoder import LabelWriter, beam
from enstruct_bench.texts.systems.queries import Laco, SeqTag
from enstruct_bench.texts.systems.states import EncodedDocuments, States
from enstruct_bench.texts.systems.writing import completion, teacher

ROUNDS, PATIENCE, BATCH, RATE, CLIP = 30, 4, 32, 1e-3, 5.0
UPDATES = 200
"""Of a round, at least."""
Loss = Callable[[States, Tensor], Tensor]


@dataclass(frozen=True)
class System:
    """A network, the loss of a batch, and what gives a batch's marginals (documents, labels)."""

    network: nn.Module
    loss: Loss
    marginals: Callable[[States], Tensor]


def make_system(name: str, width: int, train: Documents, seed: int) -> System:
    """ "seq2seq", "sgm", "ocd", "seqtag" or "laco"."""
    n_labels, generator = train.Y.shape[1], torch.Generator().manual_seed(seed)
    if name == "seqtag":
        tagger = SeqTag(width, n_labels)
        return System(tagger, tagger.loss, tagger.marginals)
    if name == "laco":
        laco = Laco(width, n_labels)
        return System(laco, partial(laco.loss, generator=generator), laco.marginals)
    writer = LabelWriter(width, n_labels, once=name != "seq2seq", doubts=name == "sgm")
    most = int(train.Y.sum(1).max())
    if name == "ocd":
        loss: Loss = partial(completion, writer, most=most, generator=generator)
    else:
        loss = partial(teacher, writer, by_frequency=torch.from_numpy(np.argsort(-train.Y.sum(0, dtype=np.int64), kind="stable")))
    return System(writer, loss, partial(beam, writer, most=most))


def fit_system(
    name: str, documents: EncodedDocuments, train: Documents, validation: Documents, seed: int
) -> Callable[[Sequence[str]], NDArray[np.float64]]:
    """Texts -> (texts, labels) marginals."""
    documents.encode([*train.texts, *validation.texts])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        system = make_system(name, documents.width, train, seed)
        _learn(system, documents, train, validation, np.random.default_rng(seed))
    return partial(_answers, system, documents)


def _learn(
    system: System, documents: EncodedDocuments, train: Documents, validation: Documents, rng: np.random.Generator
) -> None:
    optimizer = torch.optim.Adam(system.network.parameters(), lr=RATE)
    score, truth = get_metric("micro-f1"), as_indicator(validation.Y)
    best, kept, since = -np.inf, system.network.state_dict(), 0
    batches = max(1, len(train) // BATCH)
    for _ in range(ROUNDS):
        system.network.train()
        passes = (np.array_split(rng.permutation(len(train)), batches) for _ in range(-(-UPDATES // batches)))
        for rows in chain.from_iterable(passes):
            loss = system.loss(documents.batch([train.texts[i] for i in rows]), torch.from_numpy(train.Y[rows]).float())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(system.network.parameters(), CLIP)
            optimizer.step()
        quality = score(truth, as_indicator(_answers(system, documents, validation.texts) >= 0.5))
        since += 1
        if quality > best:
            best, kept, since = quality, copy.deepcopy(system.network.state_dict()), 0
        if since >= PATIENCE:
            break
    system.network.load_state_dict(kept)


def _answers(system: System, documents: EncodedDocuments, texts: Sequence[str]) -> NDArray[np.float64]:
    documents.encode(texts)
    system.network.eval()
    order = np.argsort(documents.lengths(texts), kind="stable")  # as few tokens as can be are filled up
    parts = [system.marginals(documents.batch([texts[i] for i in rows])) for rows in _cut(order)]
    out = torch.cat(parts).double().numpy()
    return out[np.argsort(order, kind="stable")]


def _cut(order: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
