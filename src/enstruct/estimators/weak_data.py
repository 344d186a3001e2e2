"""Training rows of few tagged and many untagged sentences, with what a person knows about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.data.rows import Rows
from enstruct.data.sentences import TagSequences, offsets_of
from enstruct.decisions.monitors import Names, ScoreMonitor
from enstruct.decisions.tag_sequences import greedy
from enstruct.errors import ConfigError
from enstruct.estimators.tag_format import TagFormat, Tagged
from enstruct.estimators.token_format import Token, TokenFormat, as_tuple
from enstruct.methods import Method
from enstruct.methods.tags import TAG_METHODS
from enstruct.negatives import (
    InferencePoint,
    PerturbedSamples,
    PredictorPoint,
    PredictorSamples,
    SearchPair,
    UnrolledIterates,
    ValueTuples,
)
from enstruct.objectives import END_TO_END
from enstruct.weak_supervision.expectations import Expectation, read_expectations
from enstruct.weak_supervision.rewards import Judged, Reward


def _takes_reward(method: Method) -> bool:
    """Whether both players can do with rows whose truth is found by a search: the predictor's loss reads none."""
    plain = isinstance(
        method.negatives,
        (InferencePoint, PredictorPoint, PredictorSamples, PerturbedSamples, SearchPair, UnrolledIterates, ValueTuples),
    )
    return method.has_energy and plain and not method.predictor_loss.augmented and method.objective is not END_TO_END


LABELLED_SHARE = 0.2
"""Tagged sentences are repeated until they are this share of the rows, so that no epoch forgets them."""
WATCHED = 200
"""Untagged sentences whose reward is watched."""


@dataclass(frozen=True)
class WeakData:
    """What ``fit`` was given beside tagged sentences; false if nothing."""

    unlabelled: Sequence[Sequence[Token]]
    reward: Reward | None
    expectations: tuple[Expectation, ...]

    def __bool__(self) -> bool:
        return bool(self.unlabelled) or self.reward is not None or bool(self.expectations)

    def check(self, method: Method, pairs: Sequence[Tagged], spans: bool) -> None:
        """ConfigError for what the method cannot use, or lacks, before anything is trained."""
        name, uses_expectations = method.name, method.predictor_loss.expectation_weight > 0
        if uses_expectations and not self.expectations:
            raise ConfigError(f"Method {name!r} learns from expectations: pass fit(..., expectations=...).")
        if self.expectations and not uses_expectations:
            raise ConfigError(f"Method {name!r} takes no expectations; 'ge' does.")
        if self.expectations and spans:
            raise ConfigError("Expectations speak of plain tags; these spell out spans.")
        if isinstance(method.negatives, SearchPair) and self.reward is None:
            raise ConfigError(f"Method {name!r} is guided by a reward: pass fit(..., reward=...).")
        if self.reward is not None and not _takes_reward(method):
            raise ConfigError(
                f"Method {name!r} cannot learn from a reward; these can: "
                f"{', '.join(each for each, row in TAG_METHODS.items() if _takes_reward(row))}."
            )
        if self.reward is not None and method.predictor_loss.supervised == "ranking":
            raise ConfigError("supervised='ranking' ranks the truth, which untagged sentences lack: leave it with reward=.")
        if self.reward is not None and any(tag is None for pair in pairs for tag in pair.tags):
            raise ConfigError("Rewards read whole sentences: tags of None (holes) cannot be combined with reward=.")

    def rows(
        self, method: Method, tagged: Rows, pairs: Sequence[Tagged], tokens: TokenFormat, tags: TagFormat
    ) -> tuple[Rows, Rows | None]:
        """(training rows, the untagged ones among them where the method uses those; rows that are watched, or None)."""
        uses_expectations = method.predictor_loss.expectation_weight > 0
        if not uses_expectations and not (method.has_energy and self.reward is not None):
            return tagged, None
        copies = self._copies(len(tagged))
        labelled = [as_words(pair.tokens) for pair in pairs]
        others = [sentence for sentence in self.unlabelled if len(sentence)]
        words = [*labelled * copies, *(as_words(sentence) for sentence in others)]
        X = tokens.encode([*[pair.tokens for pair in pairs] * copies, *others])
        n_open = sum(map(len, others))
        known = np.concatenate([np.tile(tagged.Y.tags, copies), np.full(n_open, -1, dtype=np.int64)])
        Y = TagSequences(known, offsets_of([len(sentence) for sentence in words]), tagged.Y.n_tags)
        expected = read_expectations(self.expectations, words, tags.tags) if uses_expectations else None
        reward = None
        if self.reward is not None:
            is_labelled = np.arange(len(words)) < len(labelled) * copies
            read = tuple(map(self.reward.read, words))
            reward = Judged(self.reward, read, is_labelled, tags.write, len(tags.tags))
        weight = None if tagged.weight is None else np.concatenate([np.tile(tagged.weight, copies), np.ones(len(others))])
        rows = Rows(X, Y, weight, reward or expected)
        if reward is None:
            return rows, None
        end = len(labelled) * copies
        return rows, rows.take(np.r_[: len(labelled), end : min(len(words), end + WATCHED)])

    def _copies(self, n: int) -> int:
        wanted = LABELLED_SHARE / (1 - LABELLED_SHARE) * len(self.unlabelled)
        return max(1, round(wanted / n))


def as_words(sentence: Sequence[Token]) -> list[str]:
    return [as_tuple(token)[0] for token in sentence]


def reward_monitor(names: Names) -> ScoreMonitor:
    """What is watched where most sentences have no tags: the accuracy on those that have, plus the mean reward of the others.

    ``names`` as for :func:`~enstruct.decisions.monitors.tag_monitor`.
    """

    def score(p: NDArray[Any], rows: Rows) -> float:
        judged = rows.supervision
        if not isinstance(judged, Judged):
            raise RuntimeError("a reward monitor is given rows with a reward")
        total = 0.0
        if judged.labelled.any():
            truth, guessed = rows.Y.split(), greedy(p, rows.Y.tags < 0, rows.Y.offsets).split()
            total += float(np.mean([(guessed[i] == truth[i]).mean() for i in np.flatnonzero(judged.labelled)]))
        if not judged.labelled.all():
            tags = names(greedy(p, np.zeros(len(p), dtype=bool), rows.Y.offsets))
            total += float(np.mean([judged.reward.score(judged.read[i], tags[i]) for i in np.flatnonzero(~judged.labelled)]))
        return total

    return ScoreMonitor("accuracy+reward", score)
