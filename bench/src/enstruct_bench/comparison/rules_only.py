"""Tagging by the reward alone, without any training: the baseline that says what the rules know by themselves.

From the best constant sequence :func:`~enstruct.weak_supervision.search.improve` climbs the reward, several times;
the best counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enstruct.weak_supervision.rewards import Reward
from enstruct.weak_supervision.search import improve


def predict_by_rules(
    sentences: Sequence[Sequence[str]], reward: Reward, tags: Sequence[str], tries: int = 1500, restarts: int = 2, seed: int = 0
) -> list[list[str]]:
    """The tags of highest reward that ``restarts`` searches of ``tries`` moves find."""
    rng, names = np.random.default_rng(seed), np.array(tags)
    answers: list[list[str]] = []
    for words in sentences:
        if not words:
            answers.append([])
            continue
        read = reward.read(words)

        def score(numbers: np.ndarray, read: object = read) -> float:
            return reward.score(read, names[numbers].tolist())

        constants = [np.full(len(words), k) for k in range(len(tags))]
        start = max(constants, key=score)
        improved = [improve(start, score, len(tags), tries, rng) for _ in range(restarts)]
        answers.append(names[max(improved, key=score)].tolist())
    return answers
