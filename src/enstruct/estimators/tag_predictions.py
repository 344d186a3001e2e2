"""The predicting half of the tagger: probabilities, tags, spans, energies, saving."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from enstruct.data.rows import Rows
from enstruct.data.sentences import Sentences, TagSequences, split
from enstruct.data.tag_schemes import SCHEMES, Span, find_spans
from enstruct.decisions.tag_sequences import TAG_RULES, greedy, legal
from enstruct.errors import ConfigError
from enstruct.estimators import persistence
from enstruct.estimators.base import EnergyEstimator
from enstruct.estimators.saved_header import OfTagger
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.token_format import Token, TokenFormat, check_pairs
from enstruct.inference import Chain, Solution, Solver
from enstruct.methods import Method
from enstruct.spaces import TagSpace
from enstruct.tag_metrics import get_tag_metric, ratio
from enstruct.training.batches import in_order, to_batch
from enstruct.training.predict import predict_by_inference
from enstruct.validation import one_of

Holes = Sequence[Sequence[bool]]
NOT_SAVED = ("callbacks", "embeddings", "clusters", "initial")
"""Parameters that training has used up: tables live on in the weights and the vocabulary."""
TABLE = "predictor/encoder.embedding.pretrained"


class TagPredictions(EnergyEstimator):
    """What a fitted tagger answers."""

    _header = OfTagger

    tokens_: TokenFormat
    tags_: TagFormat
    classes_: NDArray[Any]
    metric_: str
    _pretrained: torch.Tensor | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True  # lists of words, and of tags
        tags.target_tags.required, tags.target_tags.single_output, tags.target_tags.multi_output = True, False, True
        return tags

    def _output_space(self, method: Method, n_outputs: int, weight: torch.Tensor | None = None) -> TagSpace:
        return TagSpace(n_outputs, method.cost)

    def _inputs(self, sentences: Sequence[Sequence[Token]], holes: Holes | None = None) -> Sentences:
        self._check_fitted()
        return self.tokens_.encode(sentences, holes)

    def _probabilities(self, X: Sentences, refine: int | None = None) -> NDArray[np.float64]:
        """(tokens, tags)."""
        if not len(X.tokens):
            return np.zeros((0, len(self.tags_.tags)))
        return np.asarray(softmax(self._logits(X, refine).astype(np.float64), axis=1))

    def predict_proba(self, sentences: Sequence[Sequence[Token]], *, refine: int | None = None) -> list[NDArray[np.float64]]:
        """For each sentence (tokens, tags), the tags as in ``classes_``. ``refine``: see :meth:`predict`."""
        X = self._inputs(sentences)
        return split(self._probabilities(X, refine), X.offsets)

    def decision_function(self, sentences: Sequence[Sequence[Token]]) -> list[NDArray[np.float64]]:
        """Log-probabilities, in the shape of :meth:`predict_proba`."""
        X = self._inputs(sentences)
        values = log_softmax(self._logits(X).astype(np.float64), axis=1) if len(X.tokens) else np.zeros((0, len(self.classes_)))
        return split(values, X.offsets)

    def predict(
        self,
        sentences: Sequence[Sequence[Token]],
        *,
        decision: str | None = None,
        refine: int | None = None,
        holes: Holes | None = None,
    ) -> list[list[Any]]:
        """A tag for each token, in the scheme of training; None for the tokens that ``holes`` marks True.

        ``decision`` names another rule for this call; ``refine`` first moves the tagger's answer by so many steps of inference on
        the learned energy. ConfigError where there is none, or the rule does not apply.
        """
        X = self._inputs(sentences, holes)  # first, as it asks whether the tagger is fitted
        return self.tags_.decode(self._decided(X, self.decision_ if decision is None else decision, refine))

    def _decided(self, X: Sentences, decision: str, refine: int | None = None) -> TagSequences:
        one_of("decision", TAG_RULES)("decision", decision)
        if decision == "map":
            return greedy(self._map(X), X.holes, X.offsets)
        p = self._probabilities(X, refine)
        if decision == "greedy":
            return greedy(p, X.holes, X.offsets)
        return legal(p, X.holes, X.offsets, self.tags_.tags, self.tags_.scheme)

    def _map(self, X: Sentences) -> NDArray[Any]:
        if not isinstance(self._method().inference, Chain):
            raise ConfigError(f"The rule 'map' is the answer of exact inference, which {self._method().name!r} does not use.")
        if not len(X.tokens):
            return np.zeros((0, len(self.tags_.tags)))
        return predict_by_inference(self.predictor_, self._energy_network(), self._space(), Chain("viterbi"), X, self._device())

    def predict_spans(self, sentences: Sequence[Sequence[Token]], **keywords: Any) -> list[list[Span]]:
        """For each sentence its spans (type, start, end), the end not included; keywords are :meth:`predict`'s.

        ConfigError if the tags do not spell out spans.
        """
        self._check_fitted()
        if self.tags_.given is None:
            raise ConfigError(f"These tags are plain, they do not spell out spans ({', '.join(SCHEMES)}): use predict.")
        return [spans_around_holes(tags) for tags in self.predict(sentences, **keywords)]

    def energy(self, sentences: Sequence[Sequence[Token]], tags: Sequence[Sequence[str | None]]) -> NDArray[np.float64]:
        """(sentences,) E(x, y) of given tags; lower is better. ConfigError if there is no energy, DataError for new tags."""
        check_pairs(sentences, tags)
        holes = [[tag is None for tag in row] for row in tags]
        X, Y = self._inputs(sentences, holes), self.tags_.encode(tags)
        energy = self._energy_network().eval()
        out = np.empty(len(X))
        with torch.no_grad():
            for index in in_order(X):
                batch = to_batch(Rows(X[index], Y[index]), self._device())
                state = energy.prepare(batch.x, batch.mask)  # type: ignore[operator]
                out[index] = energy(state, batch.y.unsqueeze(1)).squeeze(1).cpu().numpy()
        return out

    def infer(self, sentences: Sequence[Sequence[Token]], settings: Solver | None = None, **changes: Any) -> Solution:
        """Minimise the fitted energy for these sentences as one padded batch: marginals, energies, steps, status.

        For methods that answer by the predictor: what ``refine`` minimises, which adds minus the predictor's log-probability
        where the energy is relative to it, so that the energies are not those of :meth:`energy`. ``settings``: default
        :meth:`inference_settings`; ``changes`` are its fields. ConfigError if the method has no energy.
        """
        return self._minimised(self._inputs(sentences), settings, changes)

    def score(self, sentences: Sequence[Sequence[Token]], tags: Sequence[Sequence[str | None]]) -> float:
        """``metric_`` of :meth:`predict`; a tag that training has not seen is an error like any other."""
        check_pairs(sentences, tags)
        holes = [[tag is None for tag in row] for row in tags]
        predicted = self.predict(sentences, holes=holes)
        return ratio(get_tag_metric(self.metric_)(self.tags_.as_given(tags), _without_holes(predicted)))

    # -- saving -----------------------------------------------------------------------------------

    def save(self, path: Path | str, notes: dict[str, Any] | None = None) -> None:
        """Write a model folder (see :mod:`enstruct.estimators.persistence`), whole or not at all.

        A custom ``encoder`` or ``Method`` is code: the folder names it, and :meth:`load` is given it.
        """
        self._check_fitted()
        held = {
            "tokens": self.tokens_.to_json(),
            "tags": {"tags": list(self.tags_.tags), "given": self.tags_.given},
            "metric": self.metric_,
        }
        self._save(path, held, notes, not_saved=NOT_SAVED)

    def _check_parameters(self) -> None:
        self._check_choices()

    def _restore(self, header: dict[str, Any], weights: persistence.Weights) -> None:
        self.tokens_ = TokenFormat.from_json(header["tokens"])
        self.tags_ = TagFormat(tuple(header["tags"]["tags"]), header["tags"]["given"])
        self.tags_.check()
        self.classes_ = np.array(self.tags_.tags)
        self.metric_ = header["metric"]
        if self.metric_ == "span-f1" and self.tags_.given is None:
            raise ValueError("its metric is that of spans, and its tags spell out none")
        self._load_record(header)
        table = weights.shapes.get(TABLE)
        if (0 if table is None else table[0]) <= max(self.tokens_.vectors.values(), default=-1):
            raise ValueError("words stand for rows that the table of vectors does not have")
        self._pretrained = None if table is None else torch.empty(table)
        self._load_networks(weights, lambda: self._blank_networks(self._method()))
        self._pretrained = weights.read().get(TABLE)

    @property
    def rules_(self) -> tuple[str, ...]:
        """The decisions that apply to this tagger."""
        return tuple(rule for rule in TAG_RULES if rule != "map" or isinstance(self._method().inference, Chain))


def spans_around_holes(tags: Sequence[str | None]) -> list[Span]:
    """Spans of the tags that are there, in the places of all tokens."""
    places = [i for i, tag in enumerate(tags) if tag is not None]
    found = find_spans([tag for tag in tags if tag is not None])
    return [Span(span.type, places[span.start], places[span.end - 1] + 1) for span in found]


def _without_holes(tags: Sequence[Sequence[str | None]]) -> list[list[str]]:
    return [[tag for tag in row if tag is not None] for row in tags]
