"""A fitted tagger as a distribution over tag sequences, told some tags or none (:mod:`enstruct.joint.chain`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax

from enstruct.data.sentences import Sentences, TagSequences
from enstruct.errors import DataError, nearest_name, shortened, shown
from enstruct.estimators.label_format import is_missing
from enstruct.estimators.tag_answers import TagAnswers
from enstruct.estimators.tag_format import TagFormat, spans_around_holes
from enstruct.estimators.tag_rules import plain_words, tag_system
from enstruct.inference import Chain
from enstruct.inference.beyond_chain import parted
from enstruct.inference.chain import IMPOSSIBLE, Potentials, thinned
from enstruct.joint.chain import Block, ChainJoint, Costs, Links, fit_links, linked, padded
from enstruct.rules.smallest import smallest_conflict
from enstruct.rules.tags import Gazetteer, TagSystem, tag_may_be
from enstruct.training.batches import in_order
from enstruct.validation import check_series

Known = Sequence[Sequence[str | None]]


@dataclass(frozen=True)
class TagJoint:
    """Sentences X, whose words are ``words``, as a distribution over the tags of their tokens. ``memories``: those of
    the chain's states, as :meth:`TagSystem.expanded` has them to remember which types were there already; 1 where they do not,
    and rules AtMostOnce are not in it yet."""

    tags: TagFormat
    system: TagSystem
    chain: ChainJoint
    words: Sequence[Sequence[str]]
    memories: int = 1

    @classmethod
    def of(
        cls,
        answers: TagAnswers,
        X: Sentences,
        words: Sequence[Any],
        system: TagSystem,
        links: Links | None,
        bound: bool = True,
    ) -> TagJoint:
        """``links``: of taggers that answer token by token; None of those whose energy is a chain itself. ``bound``: whether
        sequences that the scheme and the rules forbid are impossible."""
        costs = Costs.of(system.follow, system.start, system.end)
        costs = costs if bound else costs.free
        system, plain = system if bound else replace(system, once=()), plain_words(words)
        blocks: list[Block] = []
        if isinstance(answers.networks.method.inference, Chain):
            lengths = np.diff(X.offsets)
            for index in in_order(X):
                if len(some := index[lengths[index] > 0]):
                    problem = answers.networks.problem(X[some], bare=True)
                    with torch.no_grad():
                        chain, rest = parted(problem.energy, problem.state)
                    here = Potentials(*(part.cpu().double() if part.is_floating_point() else part.cpu() for part in chain[:5]))
                    blocks.append(Block(some, costs.within(here), None if rest is None else rest.cpu()))
        else:
            links = Links.none(len(system.tags)) if links is None else links
            log_q = log_softmax(answers.logits(X), axis=1)
            for some, values, there in padded(log_q, X.offsets):
                blocks.append(Block(some, costs.within(linked(values, there, links))))
        blocks = [block.narrowed(_weighed(block.chain, [system.phrase_costs(plain[i]) for i in block.some])) for block in blocks]
        return cls(answers.tags, system, ChainJoint(blocks, X.offsets, len(system.tags)), plain)

    def remembering(self) -> TagJoint:
        """Under AtMostOnce too, with a state for each tag and memory, which few others may stand before."""
        system = self.system
        if self.memories == system.n_memories:
            return self
        # what the chain has of these costs is paid; what is forbidden stays
        follow, start, end = (np.where(np.isinf(part), np.inf, 0.0) for part in (system.follow, system.start, system.end))
        *parts, tags = replace(system, follow=follow, start=start, end=end).expanded()
        costs, tag = Costs.of(*parts), torch.from_numpy(tags)
        expanded = [block.narrowed(costs.within(_expanded(block.chain, tag))) for block in self.chain.blocks]
        # sampling has no use for chains that few tags may go on from
        blocks = [block.narrowed(thinned(block.chain)) if block.rest is None else block for block in expanded]
        chain = replace(self.chain, blocks=blocks, n_tags=len(tag))
        return replace(self, chain=chain, memories=system.n_memories)

    # -- answers, over the trained tags -------------------------------------------------------------------

    def marginals(self, known: Known | None) -> NDArray[np.float64]:
        """(tokens, tags)."""
        joint, allowed = self._asked(known)
        p = joint.marginals(allowed)
        return np.asarray(p.reshape(len(p), -1, len(self.tags.tags)).sum(1))

    def best(self, known: Known | None) -> TagSequences:
        """The most probable sequences. One that has no type twice although nothing remembers is the best of those that remember
        too: few sentences are decoded over more states."""
        known = None if known is None else self._rows(known, "known")
        allowed = self._allowed(known, "known")
        tags, possible = (self.chain if known is None else self._with_places(known)).decoded(allowed)
        self._check_possible(known, possible)
        if (twice := self._has_twice(tags)).any():
            few = replace(self, chain=self.chain.some(twice)).remembering()
            states, possible = (few.chain if known is None else few._with_places(known)).decoded(few._allowed(known, "known"))
            self._check_possible(known, possible)
            tags = np.where(np.repeat(twice, np.diff(self.chain.offsets)), states % len(self.tags.tags), tags)
        return self._sequences(tags)

    def _has_twice(self, tags: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(sentences,) whether sequences laid end to end (tokens,) break AtMostOnce."""
        out = np.zeros(len(self.words), dtype=bool)
        for begins, _ in self.system.once:
            out |= np.diff(np.concatenate([[0], np.cumsum(begins[tags])])[self.chain.offsets]) > 1
        return out

    def samples(self, n: int, seed: int, known: Known | None) -> list[TagSequences]:
        joint, allowed = self._asked(known)
        return [self._sequences(column) for column in joint.sample(n, seed, allowed).T]

    def log_probability(self, y: Known, known: Known | None) -> NDArray[np.float64]:
        """(sentences,) log p of what y tells, None being open, given what is known: -inf of y against it."""
        whole = self.remembering()
        joint, given = whole._asked(known)
        y = self._rows(y, "y")
        told, rows = whole._allowed(y, "y"), y if known is None else self._rows(known, "known")
        # where tags stand is said by both of them
        both = [[b if a is None else a for a, b in zip(*pair, strict=True)] for pair in zip(y, rows, strict=True)]
        value = whole._with_places(both).log_partition(told & given) - joint.log_partition(given)
        against = [
            any(a is not None and b is not None and a != b for a, b in zip(*pair, strict=True))
            for pair in zip(y, rows, strict=True)
        ]
        return np.where(against, -np.inf, np.minimum(value, 0.0))  # estimates may say more than is possible

    def quality(self, y: Known) -> list[NDArray[np.float64]]:
        """For each sentence (tokens,) p(its tag | x, the tags outside of the span or the run of O that it is in), of plain
        tags given all others; NaN where y tells nothing."""
        y, whole = self._rows(y, "y"), self.remembering()
        told, open_ = whole._allowed(y, "y"), whole._allowed(None, "y")
        out = []
        for i, row in enumerate(y):
            here = slice(*whole.chain.offsets[i : i + 2])
            units = self._units(row)
            variants = np.repeat(told[here][None], len(units), axis=0)
            for k, unit in enumerate(units):
                variants[k, unit] = open_[here][unit]
            quality = np.full(len(row), np.nan)
            if units:
                for unit, p in zip(units, whole.chain.of_one(i).among(variants), strict=True):
                    quality[unit] = (p[unit] * told[here][unit]).sum(1)
            out.append(quality)
        return out

    def _units(self, row: Sequence[str | None]) -> list[list[int]]:
        """The told tokens of each span and of each run of O between them; of plain tags each told token."""
        told = [t for t, tag in enumerate(row) if tag is not None]
        if self.tags.user_scheme is None:
            return [[t] for t in told]
        span_of = {t: span for span in spans_around_holes(row) for t in range(span.start, span.end)}
        return [list(unit) for _, unit in groupby(told, key=span_of.get)]

    # -- what is told ---------------------------------------------------------------------------------------

    def _asked(self, known: Known | None) -> tuple[ChainJoint, NDArray[np.bool_]]:
        """(the chain that remembers, which states each token may have). DataError for told tags that cannot stand there."""
        known, whole = None if known is None else self._rows(known, "known"), self.remembering()
        allowed = whole._allowed(known, "known")
        joint = whole.chain if known is None else whole._with_places(known)
        self._check_possible(known, joint.possible(allowed))
        return joint, allowed

    def _check_possible(self, known: Known | None, possible: NDArray[np.bool_]) -> None:
        """DataError for the first sentence of which nothing is."""
        if not possible.all():
            raise DataError(self._explained(known, int(np.flatnonzero(~possible)[0])))

    def _rows(self, known: Any, what: str) -> Known:
        """A list of tags for each sentence, with None for tokens of which nothing is told; of a sentence that is None of none."""
        check_series(what, known)
        if len(known) != len(self.words):
            raise DataError(f"There are {len(self.words)} sentences and {len(known)} in {what}: one for each.")
        rows = []
        for i, (row, words) in enumerate(zip(known, self.words, strict=True)):
            if row is not None and (isinstance(row, (str, Mapping)) or not isinstance(row, (Sequence, np.ndarray))):
                raise DataError(f"Sentence {i} of {what} must be a list of tags, None where nothing is told, not {shown(row)}.")
            rows.append([None] * len(words) if row is None else list(row))
        return rows

    def _allowed(self, known: Known | None, what: str) -> NDArray[np.bool_]:
        """(tokens, states)."""
        lengths = [len(words) for words in self.words]
        may = [np.isfinite(self.system.phrase_costs(words)) for words in self.words]
        if known is not None:
            user_tags = self.tags.user_tags
            table = {tag: np.array([tag_may_be(tag, one, self.tags.user_scheme) for one in self.tags.tags]) for tag in user_tags}
            for i, row in enumerate(known):
                if len(row) != lengths[i]:
                    raise DataError(
                        f"Sentence {i} has {lengths[i]} tokens and {len(row)} tags in {what}: None where nothing is told."
                    )
                for t, tag in enumerate(row):
                    if is_missing(tag):
                        continue
                    if not isinstance(tag, str) or tag not in table:
                        raise DataError(
                            f"{what} has {shown(tag)} for token {t} of sentence {i}, which training has not seen."
                            f"{nearest_name(tag, user_tags)} Its tags are {shortened(', '.join(sorted(user_tags)), 120)}."
                        )
                    may[i][t] &= table[tag]
        whole = np.concatenate(may) if may else np.zeros((0, len(self.tags.tags)), dtype=bool)
        return np.tile(whole, (1, self.memories))

    def _with_places(self, known: Known) -> ChainJoint:
        """In IOB1 what a tag says depends on the one before it: B-X stands right behind a span of its type, I-X begins none
        there."""
        if self.tags.user_scheme != "IOB1":
            return self.chain
        tags = [*self.tags.tags] * self.memories
        ends = {kind: torch.tensor([tag in (f"E-{kind}", f"S-{kind}") for tag in tags]) for kind in self.tags.types}
        begins = {kind: torch.tensor([tag in (f"B-{kind}", f"S-{kind}") for tag in tags]) for kind in self.tags.types}

        def placed(some: NDArray[np.intp], chain: Potentials) -> Potentials:
            batch, time = chain.there.shape
            links = chain.transitions.expand(batch, max(time - 1, 0), -1, -1).clone()
            start = chain.unary.clone()
            for k, i in enumerate(some):
                for t, tag in enumerate(known[i]):
                    if tag is None or tag == "O":
                        continue
                    behind = ends[tag[2:]] if tag[0] == "I" else ~ends[tag[2:]]
                    if t:
                        links[k, t - 1][chain.behind(behind.unsqueeze(0))[0] & begins[tag[2:]]] = IMPOSSIBLE
                    elif tag[0] == "B":
                        start[k, 0] = IMPOSSIBLE
            return chain._replace(transitions=links, unary=start)

        return replace(self.chain, narrowed=placed)

    def _explained(self, known: Known | None, i: int) -> str:
        """The first told tag of sentence i that cannot stand behind what is told before it, and the fewest rules that say so."""
        told = [None] * len(self.words[i]) if known is None else list(known[i])
        places = [t for t, tag in enumerate(told) if tag is not None]
        binding = self.system.binding
        every = range(len(binding))

        def prefix(n: int) -> list[str | None]:
            return [tag if t in places[:n] else None for t, tag in enumerate(told)]

        # what is told further on forbids no less
        n = bisect_left(range(len(places) + 1), True, key=lambda n: not self._under(every, i)._is_possible(prefix(n)))
        if n > len(places):
            return f"Preferences broken in sentence {i} weigh so much that it cannot be told from what is impossible: weigh less."
        named = smallest_conflict(len(every), lambda some: self._under(some, i)._is_possible(prefix(n)))
        words = "; ".join(shortened(str(binding[k]), 120 // len(named)) for k in named) or f"the scheme {self.tags.user_scheme}"
        if n == 0:
            sentence = shortened(" ".join(self.words[i]), 80)
            return f"No tags of sentence {i} ({sentence}) keep the rules: {words}. Drop or mend one."
        last = places[n - 1]
        alone = [tag if t == last else None for t, tag in enumerate(told)]
        behind = " after what is told before it" if self._under(named, i)._is_possible(alone) else ""
        return (
            f"known tells {shown(told[last])} for token {last} of sentence {i}, which breaks {words}{behind}: mend one of them."
        )

    def _under(self, some: Sequence[int], i: int) -> TagJoint:
        """Sentence i under some of the rules that bind alone, whatever the tagger says of it. Gazetteers give way to one another
        as they do under all."""
        binding = self.system.binding
        system, words = tag_system([binding[k] for k in some], self.tags), self.words[i]
        places = [k for k, rule in enumerate(binding) if isinstance(rule, Gazetteer)]
        gazetteers = tuple(one for one in self.system.gazetteers if np.isinf(one[1]))
        idle = frozenset(place for place, k in enumerate(places) if k not in some)
        system = replace(system, gazetteers=gazetteers, idle=idle)
        n, costs = len(system.tags), Costs.of(system.follow, system.start, system.end)
        even = linked(torch.zeros(1, len(words), n), torch.ones(1, len(words), dtype=torch.bool), Links.none(n))
        chain = ChainJoint([Block(np.zeros(1, dtype=np.intp), costs.within(even))], np.array([0, len(words)]), n)
        return TagJoint(self.tags, system, chain, [words]).remembering()

    def _is_possible(self, told: Sequence[str | None]) -> bool:
        """Of one sentence, whether it has tags that keep everything."""
        return bool(self._with_places([told]).possible(self._allowed([told], "known"))[0])

    def _sequences(self, states: NDArray[np.int64]) -> TagSequences:
        n = len(self.tags.tags)
        return TagSequences(states % n, self.chain.offsets, n)


def learnt_links(answers: TagAnswers, X: Sentences, tags: TagSequences, system: TagSystem) -> Links | None:
    """Of a tagger that answers token by token, on validation sentences; tags of -1 are open. None of a chain's energy."""
    if isinstance(answers.networks.method.inference, Chain):
        return None
    n = len(system.tags)
    allowed = np.ones((len(tags.tags), n), dtype=bool)
    told = np.flatnonzero(tags.tags >= 0)
    allowed[told] = np.arange(n) == tags.tags[told, None]
    # of what binds alone: links learnt under preferences would take back what these weigh
    legal = Costs.of(system.follow, system.start, system.end).binding
    return fit_links(log_softmax(answers.logits(X), axis=1), allowed, X.offsets, legal)


def _weighed(chain: Potentials, costs: Sequence[NDArray[np.float64]]) -> Potentials:
    """The chain with what tags of its tokens cost (tokens, tags), as far as that is finite."""
    if not any(cost.any() for cost in costs):
        return chain
    unary = chain.unary.clone()
    for row, cost in zip(unary, costs, strict=True):
        row[: len(cost)] += torch.from_numpy(np.where(np.isfinite(cost), cost, 0.0))
    return chain._replace(unary=unary)


def _expanded(chain: Potentials, tag: torch.Tensor) -> Potentials:
    """Over states, of which each is this tag (states,)."""
    return chain._replace(
        unary=chain.unary[..., tag],
        transitions=chain.transitions[tag][:, tag],
        start=chain.start[tag],
        end=chain.end[tag],
    )
