"""Rules over tag sequences, as values. Tags are the user's, as in training; types are those of spans, or plain tags.

    NeverFollows(before, tag)       OnlyFollows(tag, befores)       Starts(tags)       Ends(tags)
    AtMostOnce(type)                at most one span of the type a sentence, or one token of a plain tag
    Gazetteer(type, phrases)        where a phrase stands, it is a span of the type; must=False: no token of it is part of one

In IOB1, where spans begin with I-X but right behind another of their type, ``tag`` is what stands there; of ``before``, and of
the last tag, B-X and I-X stand for all that begin a span of the type, I-X also for what goes on.

All bind, unless they are preferences, Soft(rule, weight): a sequence is exp(-weight) times as probable for each pair of
neighbours, beginning or end of a sentence, further span of the type, and token of a phrase that breaks it. All stay exact:
sequences that keep them are those of a chain, with a bit more of memory for every AtMostOnce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import ConfigError, shortened, shown, unknown_name
from enstruct.rules.smallest import refused, smallest_conflict
from enstruct.rules.soft import Soft, bare

MOST_ONCE = 5
"""Rules AtMostOnce at most: each doubles the states of the chain."""
HEAVIEST = 100.0
"""Nats that a preference weighs at most: thousands of breaks are far less than what is impossible, and exp(-100) is nothing."""


@dataclass(frozen=True)
class NeverFollows:
    """``tag`` does not stand right behind ``before``."""

    before: str
    tag: str

    def __str__(self) -> str:
        return f"{shown(self.tag)} never follows {shown(self.before)}"


@dataclass(frozen=True)
class OnlyFollows:
    """``tag`` stands right behind one of ``befores`` alone, and begins no sentence."""

    tag: str
    befores: Sequence[str]

    def __str__(self) -> str:
        return f"{shown(self.tag)} only follows {_joined(self.befores)}"


@dataclass(frozen=True)
class Starts:
    """Sentences begin with one of these tags."""

    tags: Sequence[str]

    def __str__(self) -> str:
        return f"sentences start with {_joined(self.tags)}"


@dataclass(frozen=True)
class Ends:
    """Sentences end with one of these tags."""

    tags: Sequence[str]

    def __str__(self) -> str:
        return f"sentences end with {_joined(self.tags)}"


@dataclass(frozen=True)
class AtMostOnce:
    type: str

    def __str__(self) -> str:
        return f"at most one {shown(self.type)} a sentence"


@dataclass(frozen=True)
class Gazetteer:
    """``phrases``: strings of words with spaces between them. Of phrases that overlap the longest counts, of all lists, then the
    first; what must not be gives way to what must. One phrase in two lists that contradict each other is refused."""

    type: str
    phrases: Sequence[str]
    must: bool = True

    def __str__(self) -> str:
        several = [self.phrases] if isinstance(self.phrases, str) else [*self.phrases]
        some = ", ".join(map(shown, several[:3])) + (f" and {len(several) - 3} more phrases" if len(several) > 3 else "")
        return f"{some} {'is' if len(several) == 1 else 'are'} {'' if self.must else 'never '}{shown(self.type)}"


TAG_RULES = (NeverFollows, OnlyFollows, Starts, Ends, AtMostOnce, Gazetteer)


@dataclass(frozen=True)
class TagSystem:
    """``rules`` compiled for trained tags. ``follow`` (tags, tags), ``start``, ``end`` (tags,): what they cost, in nats, infinite
    where the scheme or a rule forbids; ``once``: for each AtMostOnce the tags that begin one (tags,), and what a further one
    costs; ``gazetteers``: (rule, what a token costs that breaks it, length -> its phrases of so many words, longest first)."""

    rules: tuple[Any, ...]
    tags: tuple[str, ...]
    follow: NDArray[np.float64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    once: tuple[tuple[NDArray[np.bool_], float], ...]
    gazetteers: tuple[tuple[Gazetteer, float, dict[int, set[tuple[str, ...]]]], ...]
    idle: frozenset[int] = frozenset()
    """Numbers of gazetteers whose phrases are found, before which others give way, and cost nothing."""

    @classmethod
    def of(cls, rules: Any, tags: Sequence[str], user_tags: Iterable[str], scheme: str | None, legal: Any) -> TagSystem:
        """``tags``: the trained ones, BIOES where they spell out spans (``scheme`` is the user's then); ``legal``: what that
        scheme allows. ConfigError for what is no rule, for tags and types that are not there, and for rules that leave no
        sentence of any length, with the smallest set of them."""
        several = () if rules is None else tuple(rules) if isinstance(rules, (list, tuple)) else (rules,)
        out = cls._compiled(several, tags, user_tags, scheme, legal)
        out._check_phrases()
        if out.is_possible:
            return out

        def possible(some: list[int]) -> bool:
            return cls._compiled([several[k] for k in some], tags, user_tags, scheme, legal).is_possible

        raise refused("sentence", [several[k] for k in smallest_conflict(len(several), possible)])

    @classmethod
    def _compiled(
        cls, several: Sequence[Any], tags: Sequence[str], user_tags: Iterable[str], scheme: str | None, legal: Any
    ) -> TagSystem:
        follow, start, end = (np.where(part, 0.0, np.inf) for part in legal)
        known, types = sorted(user_tags), sorted({tag[2:] for tag in tags if tag != "O"} if scheme else set(tags))
        once, gazetteers = [], []

        def places(tag: str) -> NDArray[np.bool_]:
            if tag not in known:
                raise ConfigError(f"{shortened(str(given), 100)}: {unknown_name('tag', str(tag), known)}")
            return np.array([tag_may_be(tag, one, scheme) for one in tags])

        def any_of(several: Sequence[str], where: Callable[[str], NDArray[np.bool_]] = places) -> NDArray[np.bool_]:
            if isinstance(several, str) or not len(several):
                raise ConfigError(f"A rule of tags takes a list of them, not {shown(several)}.")
            return np.any([where(tag) for tag in several], axis=0)

        def behind(tag: str) -> NDArray[np.bool_]:
            """(tags, tags) where the second is this tag of the user's."""
            pairs = np.broadcast_to(places(tag), follow.shape)
            if scheme != "IOB1" or tag == "O":
                return pairs
            ends, begins = ([one[0] in side and one[2:] == tag[2:] for one in tags] for side in ("ES", "BS"))
            again = np.outer(ends, begins)
            return pairs & (again if tag[0] == "B" else ~again)

        def first(tag: str) -> NDArray[np.bool_]:
            return places(tag) & (scheme != "IOB1" or tag[0] != "B")

        for given in several:
            rule, weight = bare(given), min(float(given.weight), HEAVIEST) if isinstance(given, Soft) else np.inf
            if isinstance(rule, (AtMostOnce, Gazetteer)) and rule.type not in types:
                raise ConfigError(f"{shortened(str(given), 100)}: {unknown_name('type', str(rule.type), types)}")
            match rule:
                case NeverFollows(before, tag):
                    follow[places(before)[:, None] & behind(tag)] += weight
                case OnlyFollows(tag, befores):
                    follow[~any_of(befores)[:, None] & behind(tag)] += weight
                    start[first(tag)] += weight
                case Starts(some):
                    start[~any_of(some, first)] += weight
                case Ends(some):
                    end[~any_of(some)] += weight
                case AtMostOnce(kind):
                    begins = [tag in (f"B-{kind}", f"S-{kind}") if scheme else tag == kind for tag in tags]
                    once.append((np.array(begins), weight))
                case Gazetteer(_, phrases):
                    if isinstance(phrases, str) or not all(isinstance(phrase, str) for phrase in phrases):
                        raise ConfigError(f"{str(rule)[:80]}: phrases are a list of texts, as ['New York', 'Rome'].")
                    if not any(phrase.split() for phrase in phrases):
                        raise ConfigError(f"The gazetteer of {shown(rule.type)} has no phrases: leave it out.")
                    by_length: dict[int, set[tuple[str, ...]]] = {}
                    for words in filter(None, (tuple(phrase.split()) for phrase in phrases)):
                        by_length.setdefault(len(words), set()).add(words)
                    gazetteers.append((rule, weight, dict(sorted(by_length.items(), reverse=True))))
                case _:
                    raise ConfigError(f"rules= of a tagger takes rules of enstruct.rules.tags, not {rule!r:.80}.")
        if len(once) > MOST_ONCE:
            raise ConfigError(f"At most {MOST_ONCE} rules AtMostOnce: each doubles the states of the chain.")
        return cls(tuple(several), tuple(tags), follow, start, end, tuple(once), tuple(gazetteers))

    @property
    def binding(self) -> list[Any]:
        """The rules that are no preferences."""
        return [rule for rule in self.rules if not isinstance(rule, Soft)]

    @property
    def is_possible(self) -> bool:
        """Whether a sentence of some length can be tagged."""
        follow, reached, end, _ = (np.isfinite(part) for part in self.expanded())
        while True:
            further = reached | follow[reached].any(0)
            if (further == reached).all():
                return bool((reached & end).any())
            reached = further

    def _check_phrases(self) -> None:
        """ConfigError for a phrase that one list says must be of a type, and another of another, or not."""
        said: dict[tuple[str, ...], Gazetteer] = {}
        bind = [(rule, by_length) for rule, weight, by_length in self.gazetteers if np.isinf(weight)]
        for rule, by_length in sorted(bind, key=lambda one: not one[0].must):
            for phrase in (phrase for phrases in by_length.values() for phrase in phrases):
                first = said.setdefault(phrase, rule) if rule.must else said.get(phrase)
                if first is not None and (first.type == rule.type) != rule.must:
                    must = [
                        f"{shown(one.type)} by one" if one.must else f"never {shown(one.type)} by one" for one in (first, rule)
                    ]
                    raise ConfigError(
                        f"The phrase {shown(' '.join(phrase), 60)} is in two gazetteers, {' and '.join(must)}: take it out of "
                        "one, or make one a preference, Soft(rule, weight)."
                    )

    def phrase_costs(self, words: Sequence[str]) -> NDArray[np.float64]:
        """(tokens, tags) what the gazetteers make a sentence's tokens cost. Of phrases that must be there the longest counts, of
        all rules, then the first; others give way to them. Preferences add up, each by its own longest and first phrases."""
        costs, bound = np.zeros((len(words), len(self.tags))), np.zeros(len(words), dtype=bool)
        binds = [np.isinf(weight) for _, weight, _ in self.gazetteers]
        must = [k for k, (rule, _, _) in enumerate(self.gazetteers) if binds[k] and rule.must]
        others = [k for k in np.argsort(np.logical_not(binds), kind="stable").tolist() if k not in must]
        for together in (must, *([k] for k in others)):
            taken = bound if all(binds[k] for k in together) else bound.copy()
            found = ((of, here) for of in together for here in self._found(of, words))
            for k, here in sorted(found, key=_longest_first):
                self._bind(costs, k, here, taken)
        return costs

    def _found(self, k: int, words: Sequence[str]) -> Iterator[slice]:
        """Where phrases of a gazetteer stand."""
        for length, phrases in self.gazetteers[k][2].items():
            for at in range(len(words) - length + 1):
                if tuple(words[at : at + length]) in phrases:
                    yield slice(at, at + length)

    def _bind(self, costs: NDArray[np.float64], k: int, here: slice, taken: NDArray[np.bool_]) -> None:
        """What a gazetteer's phrase makes the tokens there cost, unless some are taken; phrases that must be there take them."""
        if taken[here].any():
            return
        rule, weight, _ = self.gazetteers[k]
        weight = 0.0 if k in self.idle else weight
        if not rule.must:
            costs[here, [_is_of(rule.type, one, self.tags) for one in self.tags]] += weight
            return
        taken[here] = True
        for t, tag in enumerate(span_tags(rule.type, here.stop - here.start, self.tags), here.start):
            costs[t, [one != tag for one in self.tags]] += weight

    # -- what tagged sentences break -----------------------------------------------------------------------

    def breaks(self, words: Sequence[str], tags: NDArray[np.int64]) -> bool:
        """Whether a sentence's trained tags (tokens,), -1 being open, break something."""
        told = tags >= 0
        if self.phrase_costs(words)[told, tags[told]].any() or any(begins[tags[told]].sum() > 1 for begins, _ in self.once):
            return True
        pairs = told[:-1] & told[1:]
        ends = [costs[tags[at]] for costs, at in ((self.start, 0), (self.end, -1)) if told[at]]
        return any(ends) or bool(self.follow[tags[:-1][pairs], tags[1:][pairs]].any())

    # -- the memory that AtMostOnce takes ----------------------------------------------------------------

    @property
    def n_memories(self) -> int:
        return 2 ** len(self.once)

    def expanded(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
        """(follow, start, end, the tag that each is) over states (tag, which types were there already), tags changing fastest."""
        n, states = len(self.tags), self.n_memories * len(self.tags)
        follow, start = np.full((states, states), np.inf), np.full(states, np.inf)
        for before in range(self.n_memories):
            for tag in range(n):
                begun = [k for k, (begins, _) in enumerate(self.once) if begins[tag]]
                again = sum(self.once[k][1] for k in begun if before >> k & 1)
                after = before | sum(1 << k for k in begun)
                follow[before * n : before * n + n, after * n + tag] = self.follow[:, tag] + again
                if before == 0:
                    start[after * n + tag] = self.start[tag]
        return follow, start, np.tile(self.end, self.n_memories), np.tile(np.arange(n), self.n_memories)


def tag_may_be(tag: str, trained: str, scheme: str | None) -> bool:
    """Whether a user's tag of this scheme may stand for a trained one, of BIOES, or plain without a scheme."""
    if scheme is None or tag == "O" or trained == "O":
        return tag == trained
    own = {"IOB1": {"B": "BS", "I": "BIES"}, "IOB2": {"B": "BS", "I": "IE"}, "BILOU": {"L": "E", "U": "S"}}.get(scheme, {})
    return tag[2:] == trained[2:] and trained[0] in own.get(tag[0], tag[0])


def _longest_first(found: tuple[int, slice]) -> tuple[int, int, int]:
    k, here = found
    return here.start - here.stop, here.start, k


def _is_of(kind: str, tag: str, tags: Sequence[str]) -> bool:
    """Whether a trained tag is of a type, which of plain tags is the tag itself."""
    return tag == kind if kind in tags else tag[1:2] == "-" and tag[2:] == kind


def span_tags(kind: str, length: int, tags: Sequence[str]) -> list[str]:
    """The trained tags of a span, or of so many tokens of a plain tag."""
    if kind in tags:
        return [kind] * length
    return [f"S-{kind}"] if length == 1 else [f"B-{kind}", *[f"I-{kind}"] * (length - 2), f"E-{kind}"]


def _joined(tags: Iterable[str]) -> str:
    return " or ".join(map(shown, tags))
