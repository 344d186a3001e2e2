"""Training rows of few tagged and many untagged sentences, with what a person knows about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enstruct.data.rows import Rows
from enstruct.data.sentences import TagSequences, offsets_of
from enstruct.errors import ConfigError
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.token_format import Token, TokenFormat, as_tuple
from enstruct.light.expectations import Expectation, read_expectations
from enstruct.light.rewards import Judged, Reward
from enstruct.methods import Method

LABELLED_SHARE = 0.2
"""Tagged sentences are repeated until they are this share of the rows, so that no epoch forgets them."""
WATCHED = 200
"""Untagged sentences whose reward is watched."""


@dataclass(frozen=True)
class LightData:
    """What ``fit`` was given beside tagged sentences; false if nothing."""

    unlabelled: Sequence[Sequence[Token]]
    reward: Reward | None
    expectations: tuple[Expectation, ...]

    def __bool__(self) -> bool:
        return bool(self.unlabelled) or self.reward is not None or bool(self.expectations)

    def rows(
        self, method: Method, tagged: Rows, pairs: list[Any], tokens: TokenFormat, tags: TagFormat
    ) -> tuple[Rows, Rows | None]:
        """(training rows, the untagged ones among them where the method uses those; rows that are watched, or None)."""
        uses_expectations = method.predictor_loss.expectation_weight > 0
        if uses_expectations and not self.expectations:
            raise ConfigError(f"Method {method.name!r} learns from expectations: pass fit(..., expectations=...).")
        if not uses_expectations and not (method.has_energy and self.reward is not None):
            return tagged, None
        copies = self._copies(len(tagged))
        labelled = [as_words(sentence) for sentence, _ in pairs]
        others = [sentence for sentence in self.unlabelled if len(sentence)]
        words = [*labelled * copies, *(as_words(sentence) for sentence in others)]
        X = tokens.encode([*[sentence for sentence, _ in pairs] * copies, *others])
        n_open = sum(map(len, others))
        known = np.concatenate([np.tile(tagged.Y.tags, copies), np.full(n_open, -1, dtype=np.int64)])
        Y = TagSequences(known, offsets_of([len(sentence) for sentence in words]), tagged.Y.n_tags)
        expected = read_expectations(self.expectations, words, tags.tags) if uses_expectations else None
        reward = None
        if self.reward is not None:
            is_labelled = np.arange(len(words)) < len(labelled) * copies
            reward = Judged(self.reward, tuple(map(self.reward.read, words)), is_labelled, tags.tags)
        rows = Rows(X, Y, None, reward, expected)
        if reward is None:
            return rows, None
        end = len(labelled) * copies
        return rows, rows.take(np.r_[: len(labelled), end : min(len(words), end + WATCHED)])

    def _copies(self, n: int) -> int:
        wanted = LABELLED_SHARE / (1 - LABELLED_SHARE) * len(self.unlabelled)
        return max(1, round(wanted / n))


def as_words(sentence: Sequence[Token]) -> list[str]:
    return [as_tuple(token)[0] for token in sentence]
