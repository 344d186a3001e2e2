"""From each token's probabilities to tags.

greedy   the most probable tag of each token
legal    the most probable sequence of independent tags among those the scheme allows (Viterbi)
map      the sequence of least energy, of methods that answer by inference on a chain
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.data.sentences import TagSequences
from enstruct.data.tag_schemes import Scheme, legal_transitions
from enstruct.inference.chain import IMPOSSIBLE, Potentials, viterbi

TagRule = Literal["greedy", "legal", "map"]
TAG_RULES: tuple[TagRule, ...] = get_args(TagRule)
EPS = 1e-9


def greedy(p: NDArray[Any], holes: NDArray[np.bool_], offsets: NDArray[np.int64]) -> TagSequences:
    """p (tokens, tags)."""
    return TagSequences(np.where(holes, -1, p.argmax(1) if len(p) else np.zeros(0, dtype=np.int64)), offsets, p.shape[1])


def legal(
    p: NDArray[Any], holes: NDArray[np.bool_], offsets: NDArray[np.int64], tags: Sequence[str], scheme: Scheme | None
) -> TagSequences:
    """p (tokens, tags). Only what tags follow each other counts: holes are passed over."""
    forbidden = [torch.from_numpy(~allowed) * IMPOSSIBLE for allowed in legal_transitions(tags, scheme)]
    transitions, start, end = (table.double() for table in forbidden)
    best_tags = np.full(len(p), -1, dtype=np.int64)
    cost = -np.log(np.maximum(p, EPS))
    places = [np.flatnonzero(~holes[a:b]) + a for a, b in pairwise(offsets)]
    order = sorted((i for i, place in enumerate(places) if len(place)), key=lambda i: len(places[i]))
    for begin in range(0, len(order), 256):
        chunk = [places[i] for i in order[begin : begin + 256]]
        there = np.arange(len(chunk[-1])) < np.array([len(place) for place in chunk])[:, None]
        unary = np.zeros((*there.shape, p.shape[1]))
        unary[there] = cost[np.concatenate(chunk)]
        best = viterbi(Potentials(torch.from_numpy(unary), torch.from_numpy(there), transitions, start, end))
        best_tags[np.concatenate(chunk)] = best.argmax(-1).numpy()[there]
    return TagSequences(best_tags, offsets, p.shape[1])
