"""``EnergySequenceTagger``: a tag for every token, spans where the tags spell them out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import nn

from enstruct.data.embeddings import WordVectors, read_clusters, read_vectors
from enstruct.data.rows import Rows
from enstruct.data.sentences import TagSequences
from enstruct.data.splits import holdout_places
from enstruct.data.tag_schemes import find_spans
from enstruct.decisions.monitors import RewardMonitor, TagMonitor
from enstruct.encoders import BiLSTM, TokenEmbedding
from enstruct.energies.build import TAG_TERMS
from enstruct.energies.tag_lm import TagLanguageEnergy
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.networks import check_places, own_encoder, place_networks
from enstruct.estimators.parameters import LIGHT, TAGS, Table, check_parameters
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.sizes import bounded
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.tag_predictions import TagPredictions
from enstruct.estimators.token_format import Token, TokenFormat, check_pairs, check_tokens
from enstruct.estimators.weak_data import WeakData
from enstruct.inference import Chain
from enstruct.methods import PREDICTOR_ALONE, Method, Stage
from enstruct.tag_methods import TAG_METHODS
from enstruct.tag_metrics import get_tag_metric, ratio
from enstruct.training.batches import to_inputs
from enstruct.training.loop import Monitor
from enstruct.weak_supervision.expectations import Expectation
from enstruct.weak_supervision.rewards import Reward

log = logging.getLogger("enstruct")
Sentence = Sequence[Token]


class EnergySequenceTagger(TagPredictions):
    """A feed-forward tagger (BiLSTM, one softmax a token) trained with a learned energy as its loss.

    Minimises, over the tagger F and an energy network E that learns beside it,

        CE(F(x), y) + w E(x, F(x)),        E(x, y) = sum_t y_t . u(x, t) + sum_t y_{t-1}' W y_t

    so that what a conditional random field pays for at every prediction is learnt at training time. ``method="crf"`` is that
    field itself, with exact likelihood and decoding; ``method="cross-entropy"`` the tagger alone.

    Parameters
    ----------
    method : str or Method, default="seal-nce"
        A row of ``enstruct.tag_methods.TAG_METHODS``: "cross-entropy", "crf", "seal-margin", "seal-regression",
        "seal-regression-s", "seal-nce", "seal-ranking", "seal-static-nce", "seal-static-margin"; by inference "spen", "spen-e2e",
        "dvn", "nce"; inference networks "infnet", "infnet+"; implicit bilevel training "implicit-cd", "implicit-ssvm",
        "implicit-dvn"; from few labels "ge", "r-spen", "sg-spen"; "cross-entropy-longer", the games' control.
    metric : str, default="auto"
        What is watched and decided for: "span-f1", "accuracy"; "auto": spans where the tags spell them out.
    decision : str, default="auto"
        "greedy" (each token's best tag), "legal" (the best sequence the tag scheme allows), "map" (the energy's best sequence;
        ``crf`` only), or "auto": the best of them on validation sentences.
    scheme : str or None, default="auto"
        "IOB1", "IOB2", "BIOES", "BILOU", "auto" to look at the tags, None for plain tags. Spans are trained as BIOES and come
        back as they were given.
    classes : list of str, default=None
        All tags, where the training sentences may not show each of them.
    embeddings : path or WordVectors, default=None
        Pretrained vectors (GloVe, word2vec or fastText text). None trains ``embedding_dim`` wide ones from scratch.
    clusters : path or dict, default=None
        Brown clusters (``bits TAB word``), whose prefixes become features.
    characters : int, default=0
        Width of the character network; 0 for none.
    hidden, layers, dropout : int, int, float
        Of the bidirectional LSTM; ``hidden`` is a direction's.
    encoder : nn.Module or callable(TokenFormat) -> nn.Module, default=None
        Your own tokens (:class:`~enstruct.encoders.tokens.TokenBatch`) -> (batch, time, ``out_features``) instead.
    energy_network : EnergySpec, default=None
        Terms of ``enstruct.energies.build.TAG_TERMS``: "local", "chain", "skip-2", "skip-3", "conv", "tag-lm".
    initial : EnergySequenceTagger, default=None
        A fitted tagger to start from: its vocabulary, its tags and its network; a first stage by cross-entropy is skipped. It
        does not survive scikit-learn's ``clone``.
    energy_weight, supervised_weight, supervised, warmup, entropy_weight, anchor_weight, negatives, n_samples, cost, \
inference, hypergradient, sample_gradient, energy_steps, predictor_steps, repeats, first
        Columns of the method's row to change, as for :class:`~enstruct.EnergyMultiLabelClassifier`; None keeps them.
    learning_rate, energy_learning_rate, weight_decay, clip, energy_clip, batch_size, optimizer, max_iter, n_iter_no_change, tol
        As there; "auto" is 40 epochs a stage at most and patience 5 (more on small data, at least 5000 and 500 updates; of
        fewer than 90 sentences less of both).
    validation_fraction : float, default=0.1
        Of the sentences held out when ``fit`` gets none for validation.
    random_state, verbose, device, callbacks
        As usual.
    warm_start : bool, default=False
        ``fit`` goes on with the networks that are there, and with the words and tags they know: new words stay unknown.

    Attributes
    ----------
    classes_ : ndarray
        The trained tags, in the order of ``predict_proba``.
    predictor_, energy_, history_, n_iter_, updates_, decision_, decision_scores_
        As for the multi-label estimator.
    """

    _methods: ClassVar[dict[str, Method]] = TAG_METHODS
    _parameters: ClassVar[Table] = TAGS
    _most_epochs = 40
    _patience_epochs = 5
    _full_size = 90

    def __init__(
        self,
        method: Any = "seal-nce",
        *,
        metric: str = "auto",
        decision: str = "auto",
        scheme: str | None = "auto",
        classes: list[str] | None = None,
        embeddings: Any = None,
        embedding_dim: int = 50,
        clusters: Any = None,
        characters: int = 0,
        hidden: int = 100,
        layers: int = 1,
        dropout: float = 0.5,
        encoder: Any = None,
        energy_network: Any = None,
        initial: Any = None,
        energy_weight: float | None = None,
        supervised_weight: float | None = None,
        supervised: str | None = None,
        warmup: int | None = None,
        entropy_weight: float | None = None,
        anchor_weight: float | None = None,
        negatives: Any = None,
        n_samples: int | None = None,
        cost: str | None = None,
        inference: Any = None,
        hypergradient: Any = None,
        sample_gradient: str | None = None,
        energy_steps: int | None = None,
        predictor_steps: int | None = None,
        repeats: int | None = None,
        first: str | None = None,
        learning_rate: float = 2e-3,
        energy_learning_rate: float | None = None,
        weight_decay: float = 1e-5,
        clip: float | None = 10.0,
        energy_clip: float | None = None,
        batch_size: int = 32,
        optimizer: str = "adamw",
        max_iter: int | str = "auto",
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-4,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        device: str = "cpu",
        callbacks: Any = None,
    ) -> None:
        self._store(locals())

    @restore_on_failure
    def fit(
        self,
        sentences: Sequence[Sentence],
        tags: Sequence[Sequence[str | None]],
        sentences_val: Sequence[Sentence] | None = None,
        tags_val: Sequence[Sequence[str | None]] | None = None,
        *,
        unlabelled: Sequence[Sentence] | None = None,
        reward: Reward | None = None,
        expectations: Sequence[Expectation] | None = None,
    ) -> EnergySequenceTagger:
        """Train on sentences, lists of words or of tuples (word, further columns ...), and a tag for each token.

        A tag of None is a hole: the token is read but neither trained on nor predicted. Sentences without a tag are left out.
        Without validation sentences a part is held out.

        unlabelled : sentences without tags. Methods with an energy learn from them by ``reward``
            (:class:`~enstruct.weak_supervision.Reward`), "ge" by ``expectations``
            (:mod:`enstruct.weak_supervision.expectations`), the others know their words. Nothing is held out then: training
            watches the accuracy on the tagged sentences and the reward on the others, or without a reward its loss.

        Raises DataError, ConfigError, DivergenceError.
        """
        self._check_choices()
        for name, value in {"unlabelled": unlabelled, "reward": reward, "expectations": expectations}.items():
            LIGHT[name](name, value)
        check_tokens(unlabelled or [])
        if (sentences_val is None) != (tags_val is None):
            raise ConfigError("Pass both sentences_val and tags_val, or neither.")
        check_pairs(sentences, tags)
        if not any(len(row) for row in tags):
            raise DataError("There is nothing to train on: no sentence has a token.")
        if tags_val is not None and sentences_val is not None:
            check_pairs(sentences_val, tags_val)
        seed = self._seed()
        self._warm = bool(self.warm_start) and hasattr(self, "predictor_")
        pairs = [(s, t) for s, t in zip(sentences, tags, strict=True) if any(tag is not None for tag in t)]
        light = WeakData(unlabelled or [], reward, tuple(expectations or ()))
        if not pairs and not light:
            raise DataError("There is nothing to train on: no sentence has a tag.")
        if light and sentences_val is None:
            held: list[Any] = []
        elif tags_val is None or sentences_val is None:
            kept, out = holdout_places(len(pairs), self.validation_fraction, seed, "sentences")
            pairs, held = [pairs[i] for i in kept], [pairs[i] for i in out]
        else:
            held = [(s, t) for s, t in zip(sentences_val, tags_val, strict=True) if any(tag is not None for tag in t)]
        self._fit_formats(pairs, [*pairs, *held], light.unlabelled)
        if held and self.metric_ == "span-f1" and not any(find_spans([tag or "O" for tag in tags]) for _, tags in held):
            log.warning("no validation sentence has a span, which says nothing of those found: training goes by its loss alone")
            held = []
        light.check(self._method(), pairs, self.tags_.given is not None)
        train, validation = self._rows(pairs), self._rows(held) if held else None
        monitor: Monitor = TagMonitor(self.metric_, self.tags_.names)
        if light:
            train, watched = light.rows(self._method(), train, pairs, self.tokens_, self.tags_)
            if validation is None and watched is not None:
                validation, monitor = watched, RewardMonitor(self.tags_.names)
        self.classes_ = np.array(self.tags_.tags)
        self._train(train, validation, monitor, None, seed)
        self._choose_decision(self._rows(held) if held else None)
        return self

    def _check_choices(self) -> None:
        check_parameters(self, TAGS)
        if self.decision == "map" and not isinstance(self._method().inference, Chain):
            raise ConfigError(f"decision='map' is the answer of exact inference, which {self._method().name!r} does not use.")
        if self.initial is not None and self.warm_start:
            raise ConfigError("warm_start=True goes on with this tagger's networks, initial= with another's: choose one.")

    def _fit_formats(self, train: list[Any], every: list[Any], unlabelled: Sequence[Sentence]) -> None:
        """Numbers for words and tags; validation tags are tags too, validation words are not known."""
        if self.initial is not None:
            self.tokens_, self.tags_ = self.initial.tokens_, self.initial.tags_
            self._pretrained = self.initial._pretrained
        elif not self._warm:
            self._check_tables()
            vectors = _vectors(self.embeddings)
            table = {} if vectors is None else {word: i for i, word in reversed(list(enumerate(vectors.words, 1)))}
            self.tokens_ = TokenFormat(table, _clusters(self.clusters)).fit([*(sentence for sentence, _ in train), *unlabelled])
            self.tags_ = TagFormat.fit([tags for _, tags in every], self.scheme, self.classes)
            self._pretrained = None if vectors is None else _table(vectors)
        spans = self.tags_.given is not None
        if self.metric == "span-f1" and not spans:
            raise ConfigError(
                "metric='span-f1' needs tags that spell out spans (IOB1, IOB2, BIOES, BILOU); these are plain tags."
            )
        self.metric_ = ("span-f1" if spans else "accuracy") if self.metric == "auto" else self.metric

    def _check_tables(self) -> None:
        """ConfigError where a fit anew would lose the tables that a loaded tagger has in its weights alone."""
        for name, table in {"embeddings": "vectors", "clusters": "clusters"}.items():
            if getattr(self, name) is None and hasattr(self, "tokens_") and getattr(self.tokens_, table):
                raise ConfigError(
                    f"This tagger has learnt with {name}=, which its file does not keep: set_params({name}=...) to fit it anew, "
                    "warm_start=True to go on, or clone() it to do without."
                )

    def _rows(self, pairs: list[Any]) -> Rows:
        tags = self.tags_.encode([tags for _, tags in pairs])
        holes = [(row < 0).tolist() for row in tags.split()]
        return Rows(self.tokens_.encode([sentence for sentence, _ in pairs], holes), tags)

    def _new_networks(self, method: Method, train: Rows) -> tuple[nn.Module, nn.Module | None]:
        longest = int(np.diff(train.X.offsets).max())
        self._check_batch(
            len(train), longest, 0 if self.encoder is not None else 2 * self.hidden, len(self.tags_.tags), "hidden="
        )
        predictor, energy = self._blank_networks(method)
        if self.encoder is not None:
            x = to_inputs(train.take(np.arange(min(2, len(train)))).X).x
            check_places(cast(nn.Module, predictor.encoder), x, tuple(x.columns.shape[:2]), "tokens as a TokenBatch")
        if self.initial is not None:
            try:
                predictor.load_state_dict(self.initial.predictor_.state_dict())
            except RuntimeError as error:
                raise ConfigError(f"initial= has another network than this tagger asks for ({error}).") from error
        if energy is not None:
            for term in energy.modules():
                if isinstance(term, TagLanguageEnergy):
                    losses = term.model.pretrain(tag_tensors(train.Y))
                    log.info("tag language model: loss %.3f after the first epoch, %.3f after the last", losses[0], losses[-1])
        return predictor, energy

    def _blank_networks(self, method: Method) -> tuple[nn.Module, nn.Module | None]:
        def fresh() -> nn.Module:
            if self.encoder is None:
                smaller = "hidden=, layers=, embedding_dim= or characters="
                return bounded(lambda: BiLSTM(self._embedding(), self.hidden, self.layers, self.dropout), smaller)
            return own_encoder(self.encoder, self.tokens_, sized=True)

        return place_networks(method, fresh, len(self.tags_.tags), self.energy_network, TAG_TERMS)

    def _embedding(self) -> TokenEmbedding:
        tokens, table = self.tokens_, self._pretrained
        width = self.embedding_dim if table is None else table.shape[1]
        n_characters = len(tokens.characters) + 2
        return TokenEmbedding(table, len(tokens.words) + 1, width, tokens.categories, self.characters, n_characters)

    def _before_stage(self, stage: Stage) -> None:
        if not self._warm:  # a warm start has its energy already
            super()._before_stage(stage)

    def _first_stage(self, method: Method) -> int:
        if self._warm:
            return len(method.stages) - 1
        if self.initial is None or method.stages[0] != PREDICTOR_ALONE[0]:
            return 0
        if method.predictor_loss.expectation_weight:
            return 0
        if len(method.stages) == 1:
            raise ConfigError(f"Method {method.name!r} has the one stage that initial= stands for: nothing would be trained.")
        return 1

    def _choose_decision(self, validation: Rows | None) -> None:
        if validation is None:
            self.decision_, self.decision_scores_ = "greedy" if self.decision == "auto" else self.decision, {}
            return
        rules = self.rules_
        truth, metric = self.tags_.names(validation.Y), get_tag_metric(self.metric_)
        found = {rule: self.tags_.names(self._decided(validation.X, rule)) for rule in rules}
        self.decision_scores_ = {rule: ratio(metric(truth, tags)) for rule, tags in found.items()}
        self.decision_ = max(rules, key=self.decision_scores_.__getitem__) if self.decision == "auto" else self.decision


def tag_tensors(tags: TagSequences) -> list[torch.Tensor]:
    """The tag numbers of each sentence, holes closed up."""
    return [torch.from_numpy(row[row >= 0]) for row in tags.split()]


def _vectors(given: Any) -> WordVectors | None:
    return read_vectors(given) if isinstance(given, (str, Path)) else given


def _clusters(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if isinstance(given, (str, Path)):
        return read_clusters(given)
    if not isinstance(given, Mapping):
        raise ConfigError(f"clusters is a path or a dict of word -> bits, not {type(given).__name__}.")
    return dict(given)


def _table(vectors: WordVectors) -> torch.Tensor:
    """(words + 1, width): row 0 is the vector of ``<unk>``, or zeros."""
    unknown = vectors.vectors[vectors.words.index("<unk>")] if "<unk>" in vectors.words else np.zeros(vectors.vectors.shape[1])
    return torch.from_numpy(np.concatenate([unknown[None].astype(np.float32), vectors.vectors]))
