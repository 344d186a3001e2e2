"""What a person knows about bibliographic references: twenty-seven rules, and expectations for single words.

Written from how references are set in general (years are dates, "pp." means pages, a reference begins with its authors); none
was fitted to labelled data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from enstruct.weak_supervision.expectations import Expectation
from enstruct.weak_supervision.rewards import Rule, RuleReward

PATTERNS = {
    "year": re.compile(r"^\(?(19|20)\d\d[a-z]?\)?[.,;:)]*$"),
    "range": re.compile(r"^\(?\d+\s*[-–]+\s*\d+\)?[.,;:)]*$"),
    "issue": re.compile(r"^\d+\s?\(\d+(-\d+)?\)[.,;:]*$"),
    "initial": re.compile(r"^([A-Z]\.-?)+,?$"),
}
TELLING = {
    "month": (
        "january february march april may june july august september october november december jan feb mar "
        "apr jun jul aug sept sep oct nov dec spring summer fall winter"
    ),
    "pages": "pp pages page p",
    "venue": "proceedings proc conference conf workshop symposium symp proceeding",
    "journal": "journal transactions trans review letters magazine bulletin annals j jour quarterly communications acta",
    "tech": "technical report tech tr memo rep",
    "thesis": "thesis dissertation ph.d phd master's",
    "institution": "university univ institute department dept laboratory laboratories lab college school center centre",
    "publisher": (
        "press springer springer-verlag verlag wiley elsevier kluwer publishers publisher publishing addison wesley "
        "addison-wesley prentice prentice-hall mcgraw-hill north-holland kaufmann academic"
    ),
    "editor": "ed eds editor editors edited",
    "volume": "vol volume no number",
    "place": (
        "usa ca ma ny nj york london germany france england uk italy canada japan australia netherlands amsterdam "
        "berlin cambridge boston paris switzerland texas california massachusetts washington pa md il"
    ),
}
WORDS = {kind: frozenset(words.split()) for kind, words in TELLING.items()}
TAG_OF = {kind: (kind,) for kind in WORDS} | {
    "month": ("date",),
    "venue": ("booktitle",),
    "thesis": ("tech", "note"),
    "place": ("location",),
}
PEOPLE = ("author", "editor")
SHORT = {"date": 4, "pages": 4, "volume": 5, "location": 6, "publisher": 6}
END = (".", ",", ";", ":", ")", '"', "''", "?")


@dataclass(frozen=True)
class Reference:
    """The words of a reference and what stands out in them, as token numbers."""

    words: tuple[str, ...]

    @cached_property
    def plain(self) -> tuple[str, ...]:
        return tuple(word.lower().strip(".,;:()[]\"'`") for word in self.words)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The tokens of each kind of ``PATTERNS`` and ``WORDS``."""
        by_form = {kind: [i for i, word in enumerate(self.words) if form.match(word)] for kind, form in PATTERNS.items()}
        return by_form | {kind: [i for i, word in enumerate(self.plain) if word in known] for kind, known in WORDS.items()}

    @cached_property
    def quoted(self) -> list[int]:
        """The tokens from the first opening quotation mark to the next closing one."""
        begin = next((i for i, word in enumerate(self.words) if word.startswith(('"', "``", "“"))), None)
        if begin is None:
            return []
        bare = self.words[begin] == '"'  # a mark by itself would close what it opens
        end = next((i for i in range(begin + bare, len(self.words)) if re.search(r"(\"|''|”)[.,]?$", self.words[i])), None)
        return list(range(begin, end + 1)) if end is not None else []

    @cached_property
    def breaks(self) -> frozenset[int]:
        """The tokens after which a field may end."""
        return frozenset(i for i, word in enumerate(self.words) if word.endswith(END))


def segments(tags: Sequence[str]) -> list[tuple[str, int]]:
    """(tag, length) of each stretch of one tag."""
    return [(tag, len(list(group))) for tag, group in groupby(tags)]


def _share(places: Sequence[int], tags: Sequence[str], wanted: tuple[str, ...]) -> float | None:
    """How many of these tokens have a wanted tag; None if there are none."""
    return sum(tags[i] in wanted for i in places) / len(places) if places else None


def _words_have(kind: str) -> Rule:
    return Rule(f"{kind} words", lambda x, tags: _share(x.places[kind], tags, TAG_OF[kind]))


def _one_segment(tag: str) -> Callable[[Reference, Sequence[str]], float]:
    def score(x: Reference, tags: Sequence[str]) -> float:
        n = sum(kind == tag for kind, _ in segments(tags))
        return 1 / n if n else 0.0

    return score


def _changes_at_breaks(x: Reference, tags: Sequence[str]) -> float | None:
    changes = [i for i, (tag, following) in enumerate(pairwise(tags)) if tag != following]
    return sum(i in x.breaks for i in changes) / len(changes) if changes else None


def _title_after_author(x: Reference, tags: Sequence[str]) -> float | None:
    if "author" not in tags or "title" not in tags:
        return None
    return float(tags.index("title") > tags.index("author"))


def _short_fields(x: Reference, tags: Sequence[str]) -> float | None:
    lengths = [(tag, n) for tag, n in segments(tags) if tag in SHORT]
    return sum(n <= SHORT[tag] for tag, n in lengths) / len(lengths) if lengths else None


def _one_venue(x: Reference, tags: Sequence[str]) -> float | None:
    venues = {"booktitle", "journal"}.intersection(tags)
    return float(len(venues) == 1) if venues else None


def _dates_hold_years(x: Reference, tags: Sequence[str]) -> float | None:
    dated = [i for i, tag in enumerate(tags) if tag == "date"]
    likely = {*x.places["year"], *x.places["month"]}
    return sum(i in likely for i in dated) / len(dated) if dated else None


CITATION_RULES: tuple[Rule, ...] = (
    Rule("begins with people", lambda x, tags: float(tags[0] in PEOPLE), 2.0),
    Rule("one author field", _one_segment("author")),
    Rule("one title field", _one_segment("title"), 2.0),
    Rule("years are dates", lambda x, tags: _share(x.places["year"], tags, ("date",)), 2.0),
    Rule("dates hold years", _dates_hold_years),
    Rule("page ranges", lambda x, tags: _share(x.places["range"], tags, ("pages",))),
    Rule("issues are volumes", lambda x, tags: _share(x.places["issue"], tags, ("volume",))),
    Rule("initials are people", lambda x, tags: _share(x.places["initial"], tags, PEOPLE), 2.0),
    Rule("quotes are titles", lambda x, tags: _share(x.quoted, tags, ("title",)), 2.0),
    Rule("title after author", _title_after_author),
    Rule("title is long", lambda x, tags: min(1.0, tags.count("title") / 4), 2.0),
    Rule("authors not too long", lambda x, tags: float(tags.count("author") <= 0.5 * len(tags) + 2)),
    Rule("each field once", lambda x, tags: len(set(tags)) / len(segments(tags)), 3.0),
    Rule("fields end at punctuation", _changes_at_breaks, 3.0),
    Rule("short fields are short", _short_fields),
    Rule("one venue", _one_venue),
    *(_words_have(kind) for kind in TAG_OF),
)
"""Sixteen rules of form and one for each of the eleven kinds of tell-tale words."""


def citation_reward() -> RuleReward:
    return RuleReward(CITATION_RULES, lambda words: Reference(tuple(words)))


def _places(kind: str) -> Callable[[Sequence[str]], Sequence[int]]:
    return lambda words: Reference(tuple(words)).places[kind]


CITATION_EXPECTATIONS: tuple[Expectation, ...] = (
    Expectation("first word", lambda words: [0][: len(words)], {"author": 0.95, "editor": 0.02}),
    Expectation("year", _places("year"), {"date": 0.95}),
    Expectation("page range", _places("range"), {"pages": 0.9}),
    Expectation("issue", _places("issue"), {"volume": 0.9}),
    Expectation("initial", _places("initial"), {"author": 0.9, "editor": 0.08}),
    Expectation("quoted", lambda words: Reference(tuple(words)).quoted, {"title": 0.9}),
    *(Expectation(f"{kind} word", _places(kind), {TAG_OF[kind][0]: 0.8}) for kind in TAG_OF),
    Expectation(
        "any word",
        lambda words: range(len(words)),
        {"author": 0.2, "title": 0.3, "booktitle": 0.15, "journal": 0.06, "date": 0.06, "pages": 0.05},
    ),
)
