"""What a fitted tagger answers: probabilities of tags, and tags by a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from enstruct.data.sentences import Sentences, TagSequences
from enstruct.decisions.tag_sequences import TAG_RULES, greedy, legal
from enstruct.errors import ConfigError
from enstruct.estimators.tag_format import TagFormat
from enstruct.inference import Chain
from enstruct.training.predict import Networks
from enstruct.validation import one_of


@dataclass(frozen=True)
class TagAnswers:
    """``X`` everywhere: sentences as the networks take them."""

    networks: Networks
    tags: TagFormat

    @property
    def rules(self) -> tuple[str, ...]:
        """The decisions that apply: the energy's best sequence only where inference is a chain's."""
        return tuple(rule for rule in TAG_RULES if rule != "map" or isinstance(self.networks.method.inference, Chain))

    def logits(self, X: Sentences, refine: int | None = None) -> NDArray[np.float64]:
        """(tokens, tags)."""
        return self._of_networks(X, refine=refine, relaxed=False)

    def probabilities(self, X: Sentences, refine: int | None = None) -> NDArray[np.float64]:
        """(tokens, tags)."""
        if refine is None and self.networks.method.inference is None:
            return np.asarray(softmax(self.logits(X), axis=1))
        return self._of_networks(X, refine=refine)

    def _of_networks(self, X: Sentences, **how: Any) -> NDArray[np.float64]:
        if not len(X.tokens):
            return np.zeros((0, len(self.tags.tags)))
        return self.networks.answer(X, **how).astype(np.float64)

    def decided(self, X: Sentences, decision: str, refine: int | None = None) -> TagSequences:
        """ConfigError for a rule that is none, or does not apply."""
        one_of("decision rule", TAG_RULES)("decision", decision)
        if decision == "map":
            if decision not in self.rules:
                name = self.networks.method.name
                raise ConfigError(f"The rule 'map' is the answer of inference on a chain, which {name!r} does not use.")
            return greedy(self._of_networks(X, solver=Chain("viterbi")), X.holes, X.offsets)
        p = self.probabilities(X, refine)
        if decision == "greedy":
            return greedy(p, X.holes, X.offsets)
        return legal(p, X.holes, X.offsets, self.tags.tags, self.tags.scheme)
