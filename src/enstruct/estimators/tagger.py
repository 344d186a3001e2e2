"""``EnergySequenceTagger``: a tag for every token, spans where the tags spell them out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils.metaestimators import available_if
from torch import nn

from enstruct.data.rows import Rows
from enstruct.data.sentences import Sentences, TagSequences, split
from enstruct.data.splits import holdout_places
from enstruct.data.tag_schemes import SCHEMES, Span, find_spans
from enstruct.decisions.monitors import tag_monitor
from enstruct.encoders import BiLSTM, TokenEmbedding
from enstruct.encoders.text import Beside, EncodedWords, TextEncoder, keeping_features
from enstruct.energies.tag_lm import pretrain_on
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.base import EnergyEstimator, Training, has_passes, seed_of
from enstruct.estimators.label_rows import row_weights
from enstruct.estimators.legality import check_as_fitted
from enstruct.estimators.networks import Pair, check_places, make_networks, own_encoder
from enstruct.estimators.parameters import TAG_SEQUENCES, WEAK_SUPERVISION
from enstruct.estimators.persistence import Weights
from enstruct.estimators.renamed import refuse_renamed
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.saved_header import OfTagger
from enstruct.estimators.tag_answers import TagAnswers
from enstruct.estimators.tag_format import (
    Sentence,
    TagFormat,
    Tagged,
    blanked,
    spans_around_holes,
    tagged,
    tagged_rows,
    without_holes,
)
from enstruct.estimators.tag_joint import Known, TagJoint, learnt_links
from enstruct.estimators.tag_rules import check_sentences, several, tag_system
from enstruct.estimators.texts import read_by
from enstruct.estimators.token_format import TokenFormat, check_pairs, check_tables, check_tokens, cluster_table, vector_table
from enstruct.estimators.weak_data import WeakData, reward_monitor
from enstruct.inference import Chain
from enstruct.joint.chain import Links
from enstruct.methods import PREDICTOR_ALONE, Method
from enstruct.metrics.tags import get_tag_metric
from enstruct.rules.soft import bare
from enstruct.rules.tags import Gazetteer, TagSystem
from enstruct.tasks import TAGS
from enstruct.training.batches import to_inputs
from enstruct.training.rule_terms import TagRuleTerm
from enstruct.validation import both_or_neither, check_whole
from enstruct.weak_supervision.expectations import Expectation
from enstruct.weak_supervision.rewards import Reward

log = logging.getLogger("enstruct")
Holes = Sequence[Sequence[bool]]
TABLE = "predictor/encoder.embedding.pretrained"


class EnergySequenceTagger(EnergyEstimator):
    """A feed-forward tagger (BiLSTM, one softmax a token) trained with a learned energy as its loss.

    Minimises, over the tagger F and an energy network E that learns beside it,

        CE(F(x), y) + w E(x, F(x)),        E(x, y) = sum_t y_t . u(x, t) + sum_t y_{t-1}' W y_t

    so that what a conditional random field pays for at every prediction is learnt at training time. ``method="crf"`` is that
    field itself, with exact likelihood and decoding; ``method="cross-entropy"`` the tagger alone.

    Parameters
    ----------
    method : str or Method, default="seal-nce"
        A row of ``enstruct.TAG_METHODS``, or one with other columns (:meth:`enstruct.Method.with_`; in searches
        ``method__energy_weight``): "cross-entropy", "crf", "pl", "crf-taught", "seal-margin", "seal-regression",
        "seal-regression-s", "seal-nce", "seal-ranking", "seal-static-nce", "seal-static-margin"; by inference "spen",
        "spen-e2e", "dvn", "nce";
        "infnet", "infnet+"; bilevel "implicit-cd", "implicit-ssvm", "implicit-dvn"; from few labels "ge", "r-spen", "sg-spen";
        and "cross-entropy-longer", the games' control.
    metric : str, default="auto"
        What is watched and decided for: "span-f1", "accuracy"; "auto": spans where the tags spell them out.
    decision : str, default="auto"
        "greedy" (each token's best tag), "legal" (the best sequence the tag scheme allows), "map" (the energy's best sequence;
        ``crf`` and ``pl`` only, and under ``rules`` the chain's), or "auto": the best of them on validation sentences.
    scheme : str or None, default="auto"
        "IOB1", "IOB2", "BIOES", "BILOU", "auto" to look at the tags, None for plain tags. Spans are trained as BIOES and come
        back as they were given.
    classes : list of str, default=None
        All tags, where the training sentences may not show each of them.
    rules : a rule of :mod:`enstruct.rules.tags`, or a list of them, default=None
        Which tags may follow one another, gazetteers and the like, beside the scheme, that no answer breaks.
    embeddings, clusters : path or WordVectors, path or dict, default=None
        Pretrained vectors (GloVe, word2vec or fastText text), else ``embedding_dim`` wide ones are trained; Brown clusters
        (``bits TAB word``), whose prefixes become features.
    characters : int, default=0
        Width of the character network; 0 for none.
    hidden, layers, dropout : int, int, float
        Of the bidirectional LSTM; ``hidden`` is a direction's.
    encoder : nn.Module, callable(TokenFormat) -> nn.Module or TextEncoder, default=None
        Your own tokens (:class:`~enstruct.encoders.tokens.TokenBatch`) -> (batch, time, ``out_features``) instead. Of a frozen
        :class:`~enstruct.TextEncoder` the features go into the LSTM beside the words'; of a tuned one they take its place.
    energy_network : EnergySpec, default=None
        Terms of ``enstruct.energies.build.TAG_TERMS``: "local", "chain", "skip-2", "skip-3", "conv", "tag-lm". ``crf`` and ``pl``
        with others than local and chain answer by sampling (:mod:`enstruct.inference.beyond_chain`), which is approximate.
    initial : EnergySequenceTagger, default=None
        A fitted tagger to start from: its vocabulary, its tags and its network; a first stage by cross-entropy is skipped. It
        does not survive scikit-learn's ``clone``.
    learning_rate, weight_decay, clip, optimizer, batch_size, max_epochs, n_iter_no_change, tol
        As for :class:`~enstruct.EnergyMultiLabelClassifier`; "auto" is 40 epochs a stage at most and patience 5, more on small
        data (:class:`enstruct.tasks.Budget`).
    validation_fraction : float, default=0.1
        Of the sentences held out when ``fit`` gets none for validation.
    random_state, verbose, device, callbacks, warm_start
        As usual. Warm starts go on with the words and tags that the networks know: new words stay unknown.

    Attributes
    ----------
    classes_ : ndarray
        The trained tags, in the order of ``predict_proba``; others as for the multi-label estimator.
    """

    @refuse_renamed
    def __init__(
        self,
        method: Any = "seal-nce",
        *,
        metric: str = "auto",
        decision: str = "auto",
        scheme: str | None = "auto",
        classes: list[str] | None = None,
        rules: Any = None,
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
        learning_rate: float = 2e-3,
        weight_decay: float = 1e-5,
        clip: float | None = 10.0,
        batch_size: int = 32,
        optimizer: str = "adamw",
        max_epochs: int | str = "auto",
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

    average = True
    _task = TAGS
    _parameters = TAG_SEQUENCES
    _header = OfTagger
    _of_networks = ("hidden", "layers", "dropout", "characters", "embedding_dim")
    _not_saved = ("callbacks", "embeddings", "clusters", "initial")  # tables live on in the weights and the vocabulary

    tokens_: TokenFormat
    tags_: TagFormat
    system_: TagSystem
    links_: Links | None
    metric_: str
    _pretrained: torch.Tensor | None

    def _check_parameters(self) -> Method:
        method = super()._check_parameters()
        if several(self.rules) and self.decision not in ("auto", "map"):
            raise ConfigError(f"Under rules= the answer is the chain's best sequence: decision='map', not {self.decision!r}.")
        if isinstance(self.encoder, TextEncoder):
            self.encoder.check_reads_no_labels("a tagger")
        if self.decision == "map" and not several(self.rules) and not isinstance(method.inference, Chain):
            raise ConfigError(f"decision='map' is the answer of inference on a chain, which {method.name!r} does not use.")
        if self.initial is not None and self.warm_start:
            raise ConfigError("warm_start=True goes on with this tagger's networks, initial= with another's: choose one.")
        return method

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True  # lists of words, and of tags
        tags.target_tags.required, tags.target_tags.single_output, tags.target_tags.multi_output = True, False, True
        return tags

    # -- fitting ----------------------------------------------------------------------------------

    @refuse_renamed
    @restore_on_failure
    def fit(
        self,
        X: Sequence[Sentence],
        y: Sequence[Sequence[str | None]],
        sample_weight: Any = None,
        X_val: Sequence[Sentence] | None = None,
        y_val: Sequence[Sequence[str | None]] | None = None,
        *,
        unlabelled: Sequence[Sentence] | None = None,
        reward: Reward | None = None,
        expectations: Sequence[Expectation] | None = None,
    ) -> Self:
        """Train on sentences X, lists of words or of tuples (word, further columns ...), and a tag for each token.

        A tag of None is a hole: the token is read and not trained on. "crf" takes the marginal likelihood, its tag
        being any; to other methods it has none. Sentences without a tag are left out.
        Without ``X_val, y_val`` a part is held out. ``sample_weight``: of the sentences.

        unlabelled : sentences without tags. Methods with an energy learn from them by ``reward``
            (:class:`~enstruct.weak_supervision.Reward`), "ge" by ``expectations``
            (:mod:`enstruct.weak_supervision.expectations`), the others know their words. Nothing is held out then: training
            watches the accuracy on the tagged sentences and the reward on the others, or without a reward its loss.

        Raises DataError, ConfigError, DivergenceError.
        """
        method = self._check_parameters()
        for name, value in {"unlabelled": unlabelled, "reward": reward, "expectations": expectations}.items():
            WEAK_SUPERVISION[name](name, value)
        check_tokens(unlabelled or [])
        validates = both_or_neither(X_val=X_val, y_val=y_val)
        pairs, held_out = tagged(X, y, sample_weight), tagged(X_val, y_val) if validates else []
        if not any(len(row) for row in y):
            raise DataError("There is nothing to train on: no sentence has a token.")
        weak = WeakData(unlabelled or [], reward, tuple(expectations or ()))
        if not pairs and not weak:
            raise DataError("There is nothing to train on: no sentence has a tag.")
        start = seed_of(self.random_state)
        if not validates and not weak:
            train, out = holdout_places(len(pairs), self.validation_fraction, start, "sentences")
            pairs, held_out = [pairs[i] for i in train], [pairs[i] for i in out]
        goes_on = self._goes_on(method)
        if not goes_on:
            self._learn_formats(pairs, [*pairs, *held_out], weak.unlabelled)
        self.metric_ = self.tags_.metric(self.metric)
        self._take_rules()
        check_sentences(self.rules, self.tags_, [pair.tokens for pair in pairs], [pair.tags for pair in pairs])
        if held_out and self.metric_ == "span-f1" and not any(find_spans([tag or "O" for tag in pair.tags]) for pair in held_out):
            log.warning("no validation sentence has a span, which says nothing of those found: training goes by its loss alone")
            held_out = []
        weak.check(method, pairs, self.tags_.user_scheme is not None)
        open_holes = method.takes_several and not weak  # unlabelled sentences have no truth to be open
        rows = tagged_rows(pairs, self.tokens_, self.tags_, open_holes=open_holes)
        validation = tagged_rows(held_out, self.tokens_, self.tags_, open_holes=open_holes) if held_out else None
        monitor, watched = tag_monitor(self.metric_, self.tags_.names), validation
        if weak:
            rows, judged = weak.rows(method, rows, pairs, self.tokens_, self.tags_)
            if validation is None and judged is not None:
                watched, monitor = judged, reward_monitor(self.tags_.names)
        first = len(method.stages) - 1 if goes_on else self._first_stage(method)
        self._forget_passes()
        build = partial(self._build_for, method, rows)
        with keeping_features():
            self._train(Training(method, rows, watched, monitor, start, build, first, not goes_on, rules=self._rule_term(method)))
        self.links_ = None if validation is None else learnt_links(self._answers(), validation.X, validation.Y, self.system_)
        self._choose_decision(validation, held_out)
        return self

    @available_if(has_passes)
    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One pass over these sentences, by the method's first stage.

        A new tagger's first call fixes the words and the tags, with ``classes``; later ones go on with them, as on a fitted or
        loaded tagger: new words stay unknown.
        """
        new, method = not hasattr(self, "predictor_"), self._check_parameters()
        TAG_SEQUENCES["classes"]("classes", classes)
        pairs = tagged(X, y, sample_weight)
        if not pairs:
            raise DataError("There is nothing to train on: no sentence has a tag.")
        if new:
            self._learn_formats(pairs, pairs, (), classes)
            self.metric_ = self.tags_.metric(self.metric)
            self.history_, self.links_ = [], None
            self._take_rules()
            check_sentences(self.rules, self.tags_, [pair.tokens for pair in pairs], [pair.tags for pair in pairs])
            self._choose_decision(None, [])
        unit, monitor = self._weight_unit([pair.weight for pair in pairs]), tag_monitor(self.metric_, self.tags_.names)
        rows = tagged_rows(pairs, self.tokens_, self.tags_, unit, open_holes=method.takes_several)
        start = 0 if hasattr(self, "partial_game_") else seed_of(self.random_state)
        build = partial(self._build_for, method, rows)
        self._train_one_pass(Training(method, rows, None, monitor, start, build, rules=self._rule_term(method)), new)
        return self

    def _learn_formats(self, pairs: list[Tagged], every: list[Tagged], unlabelled: Any, classes: Any = None) -> None:
        """Numbers for words and tags; validation tags are tags too, validation words are not known."""
        if self.initial is not None:
            self.tokens_, self.tags_, self._pretrained = self.initial.tokens_, self.initial.tags_, self.initial._pretrained
        else:
            check_tables(getattr(self, "tokens_", None), self.embeddings, self.clusters)
            words, self._pretrained = vector_table(self.embeddings)
            sentences = [*(pair.tokens for pair in pairs), *unlabelled]
            self.tokens_ = TokenFormat(words, cluster_table(self.clusters)).fit(sentences)
            self.tokens_.pieces_of = self.encoder.pieces if isinstance(self.encoder, TextEncoder) else None
            known = self.classes if classes is None else classes
            self.tags_ = TagFormat.fit([pair.tags for pair in every], self.scheme, known)
        self.classes_ = np.array(self.tags_.tags)

    def _build_for(self, method: Method, rows: Rows) -> Pair:
        """Networks for these rows: their sizes and an own encoder checked, begun from ``initial`` if there is one."""
        longest, width = int(np.diff(rows.X.offsets).max()), 0 if self.encoder is not None else 2 * self.hidden
        self._check_batch(method, len(rows), longest, width, len(self.tags_.tags), "hidden=")
        predictor, energy = self._build(method)
        if self.encoder is not None and not isinstance(self.encoder, TextEncoder):
            x = to_inputs(rows.take(np.arange(min(2, len(rows)))).X).x
            check_places(cast(nn.Module, predictor.encoder), x, tuple(x.columns.shape[:2]), "tokens as a TokenBatch")
        if self.initial is not None:
            try:
                predictor.load_state_dict(self.initial.predictor_.state_dict())
            except RuntimeError as error:
                raise ConfigError(f"initial= has another network than this tagger asks for ({error}).") from error
        pretrain_on(energy, [torch.from_numpy(row[row >= 0]) for row in rows.Y.split()])
        return predictor, energy

    def _build(self, method: Method) -> Pair:
        """(predictor, energy or None), newly initialised."""
        tokens, table = self.tokens_, self._pretrained
        width, n_characters = self.embedding_dim if table is None else table.shape[1], len(tokens.characters) + 2

        def fresh() -> nn.Module:
            if isinstance(self.encoder, TextEncoder) and not self.encoder.frozen:
                return EncodedWords(self.encoder)
            if self.encoder is not None and not isinstance(self.encoder, TextEncoder):
                return own_encoder(self.encoder, tokens, sized=True)
            words = TokenEmbedding(table, len(tokens.words) + 1, width, tokens.categories, self.characters, n_characters)
            read = Beside(words, EncodedWords(self.encoder)) if isinstance(self.encoder, TextEncoder) else words
            return BiLSTM(read, self.hidden, self.layers, self.dropout)

        sizes = "hidden=, layers=, embedding_dim= or characters=" if self.encoder is None else None
        return make_networks(method, TAGS, fresh, len(self.tags_.tags), self.energy_network, sizes)

    def _first_stage(self, method: Method) -> int:
        """Where the training of new networks begins."""
        if self.initial is None or method.stages[0] != PREDICTOR_ALONE[0] or method.predictor_loss.expectation_weight:
            return 0
        if len(method.stages) == 1:
            raise ConfigError(f"Method {method.name!r} has the one stage that initial= stands for: nothing would be trained.")
        return 1

    def _choose_decision(self, validation: Rows | None, pairs: list[Tagged]) -> None:
        """On validation rows, which are these pairs."""
        if self._ruled:
            self.decision_ = "map"
            scores = {"map": self.score([pair.tokens for pair in pairs], [pair.tags for pair in pairs])} if pairs else {}
            self.decision_scores_ = scores
            return
        if validation is None:
            self.decision_, self.decision_scores_ = "greedy" if self.decision == "auto" else self.decision, {}
            return
        truth, score, answers = self.tags_.names(validation.Y), get_tag_metric(self.metric_), self._answers()
        decided = {rule: answers.decided(validation.X, rule) for rule in answers.rules}
        predicted = {
            rule: self.tags_.names(TagSequences(np.where(validation.Y.tags < 0, -1, tags.tags), tags.offsets, tags.n_tags))
            for rule, tags in decided.items()
        }
        self._decide_best({rule: score(truth, tags) for rule, tags in predicted.items()})

    # -- answers ----------------------------------------------------------------------------------

    def _inference_inputs(self, X: Sequence[Sentence], holes: Holes | None = None) -> Sentences:
        self._networks()  # first, as it asks whether the tagger is fitted
        return self.tokens_.encode(X, holes)

    def _answers(self) -> TagAnswers:
        return TagAnswers(self._networks(), self.tags_)

    def _joint(self, X: Sequence[Sentence], bound: bool = True) -> TagJoint:
        inputs = self._inference_inputs(X)
        return TagJoint.of(self._answers(), inputs, X, self.system_, self.links_ if bound else None, bound)

    def _take_rules(self) -> None:
        """Put the rules in force, until another fit."""
        self.system_, self.ruled_by_ = tag_system(self.rules, self.tags_), tuple(several(self.rules))

    def _rule_term(self, method: Method) -> TagRuleTerm | None:
        """What the predictor's own answers say of the tag scheme and the rules, where it learns by that."""
        says = self.tags_.user_scheme is not None or any(not isinstance(bare(rule), Gazetteer) for rule in self.ruled_by_)
        return TagRuleTerm(self.system_) if says and method.predictor_loss.rule_weight else None

    @property
    def _ruled(self) -> bool:
        return len(getattr(self, "ruled_by_", ())) > 0

    def _check_not_refined(self, refine: int | None) -> None:
        if refine is not None:
            raise ConfigError("With known= or rules= the answer is the chain's, which refine= knows nothing of: leave it out.")

    def predict_proba(
        self, X: Sequence[Sentence], *, refine: int | None = None, known: Known | None = None
    ) -> list[NDArray[np.float64]]:
        """For each sentence (tokens, tags), the tags as in ``classes_``. ``refine``, ``known``: see :meth:`predict`.

        With ``known`` or rules they are the marginals of the chain (:mod:`enstruct.joint.chain`), exact unless the energy has
        other terms beside it.
        """
        if known is not None or self._ruled:
            self._check_not_refined(refine)
            joint = self._joint(X)
            return split(joint.marginals(known), joint.chain.offsets)
        inputs = self._inference_inputs(X)
        return split(self._answers().probabilities(inputs, refine), inputs.offsets)

    def decision_function(self, X: Sequence[Sentence]) -> list[NDArray[np.float64]]:
        """Log-probabilities, in the shape of :meth:`predict_proba`; under rules of its probabilities, 1e-300 at least."""
        if self._ruled:
            return [np.log(np.clip(p, 1e-300, None)) for p in self.predict_proba(X)]
        inputs = self._inference_inputs(X)
        return split(log_softmax(self._answers().logits(inputs), axis=1), inputs.offsets)

    def predict(
        self,
        X: Sequence[Sentence],
        *,
        decision: str | None = None,
        refine: int | None = None,
        holes: Holes | None = None,
        known: Known | None = None,
    ) -> list[list[Any]]:
        """A tag for each token, in the scheme of training; None for the tokens that ``holes`` marks True.

        known : for each sentence a tag, as in training, or None for each token. The answer is then the most probable sequence of
            the chain among those that have the told tags, and so it is under rules. DataError for tags that cannot stand there.

        ``decision`` names another rule for this call; ``refine`` first moves the tagger's answer by so many steps of inference on
        the learned energy. ConfigError where there is none, or the rule does not apply.
        """
        if known is not None or self._ruled:
            self._check_not_refined(refine)
            if decision not in (None, "map"):
                raise ConfigError("With known= or rules= the answer is the chain's best sequence: leave decision out.")
            answer = self.tags_.decode(self._joint(X).best(known))
            return answer if holes is None else blanked(answer, holes)
        inputs = self._inference_inputs(X, holes)
        return self.tags_.decode(self._answers().decided(inputs, self.decision_ if decision is None else decision, refine))

    def sample(
        self, X: Sequence[Sentence], n: int = 1, *, known: Known | None = None, random_state: Any = None
    ) -> list[list[list[str]]]:
        """For each sentence n tag sequences, drawn from the chain (:mod:`enstruct.joint.chain`), given what is known."""
        check_whole(1, n=n)
        joint = self._joint(X)
        drawn = joint.samples(n, seed_of(self.random_state if random_state is None else random_state), known)
        return [list(of_one) for of_one in zip(*(self.tags_.decode(tags) for tags in drawn), strict=True)]

    def log_prob(
        self, X: Sequence[Sentence], y: Sequence[Sequence[str | None]], *, known: Known | None = None
    ) -> NDArray[np.float64]:
        """(sentences,) log p(y | x) in nats under the chain; tags of None are summed over. With ``known`` given that.

        Exact of a chain; of energies with other terms beside it an estimate by annealing."""
        return self._joint(X).log_probability(y, known)

    def tag_quality(self, X: Sequence[Sentence], y: Sequence[Sequence[str | None]]) -> list[NDArray[np.float64]]:
        """For each sentence (tokens,) how likely its given tags are, given others (:mod:`enstruct.estimators.tag_issues`).

        With rules, preferences too, the tag scheme and the links between tags count as well."""
        check_pairs(X, y)
        return self._joint(X, bound=self._ruled).quality(y)

    @property
    def rules_(self) -> tuple[str, ...]:
        """The decisions that apply to this tagger; under rules the chain's best sequence alone."""
        return ("map",) if self._ruled else self._answers().rules

    def predict_spans(self, X: Sequence[Sentence], **keywords: Any) -> list[list[Span]]:
        """For each sentence its spans (type, start, end), the end not included; keywords are :meth:`predict`'s.

        ConfigError if the tags do not spell out spans.
        """
        self._networks()
        if self.tags_.user_scheme is None:
            raise ConfigError(f"These tags are plain, they do not spell out spans ({', '.join(SCHEMES)}): use predict.")
        return [spans_around_holes(tags) for tags in self.predict(X, **keywords)]

    def energy(self, X: Sequence[Sentence], y: Sequence[Sequence[str | None]]) -> NDArray[np.float64]:
        """(sentences,) E(x, y) of given tags; lower is better. ConfigError if there is no energy, DataError for new tags."""
        check_pairs(X, y)
        holes = [[tag is None for tag in row] for row in y]
        return self._networks().energies(Rows(self._inference_inputs(X, holes), self.tags_.encode(y)))

    def score(self, X: Sequence[Sentence], y: Sequence[Sequence[str | None]], sample_weight: Any = None) -> float:
        """``metric_`` of :meth:`predict`; a tag that training has not seen is an error like any other."""
        check_pairs(X, y)
        predicted = self.predict(X, holes=[[tag is None for tag in row] for row in y])
        weight = None if sample_weight is None else row_weights(sample_weight, X)
        return get_tag_metric(self.metric_)(self.tags_.as_given(y), without_holes(predicted), weight)

    # -- saving -----------------------------------------------------------------------------------

    def _record(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        check_as_fitted(self.rules, self.ruled_by_)
        links = {} if self.links_ is None else self.links_.tensors()
        record = {"tokens": self.tokens_.record(), "tags": asdict(self.tags_), "metric": self.metric_}
        if isinstance(self.encoder, TextEncoder):
            record["encoder_digest"] = self.encoder.trunk.digest
        return record, links

    def _restore(self, header: OfTagger, weights: Weights) -> None:
        self.tokens_, self.tags_ = TokenFormat.from_record(header.tokens), header.tags
        if isinstance(header.encoder_digest, str):
            self.tokens_.pieces_of = read_by(self.encoder, header.encoder_digest).pieces
        self.classes_, self.metric_ = np.array(self.tags_.tags), header.metric
        if self.metric_ == "span-f1" and self.tags_.user_scheme is None:
            raise ValueError("its metric is that of spans, and its tags spell out none")
        table = weights.shapes.get(TABLE)
        if (0 if table is None else table[0]) <= max(self.tokens_.vectors.values(), default=-1):
            raise ValueError("words stand for rows that the table of vectors does not have")
        self._pretrained = None if table is None else torch.empty(table)
        tensors = self._load_networks(weights, lambda: self._build(self._method()))
        self._pretrained = tensors.get(TABLE)
        self._take_rules()
        self.links_ = Links.parse(tensors, len(self.tags_.tags))
