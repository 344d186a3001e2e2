"""Rules over label sets, as values: what labels exclude, imply or need one another.

A label is a name (or its column number, where labels have no names), or ``Not`` of one. Every rule says itself in words by
``str``, and as inequalities over label numbers (:mod:`enstruct.rules.inequality`).

    Implies(a, b)             rows with a have b; of several on either side: rows with all of a have all of b
    Excludes(a, b, ...)       at most one of them
    AtMost(k, labels)         AtLeast(k, labels)         Exactly(k, labels)
    Requires(a, labels)       rows with a have at least one of the labels
    Forbids(labels, sets)     none of these sets is all that a row has of the labels; of a Python function: ``predicate``
    Hierarchy(n, edges)       every label implies what is above it (:mod:`enstruct.data.hierarchy`)
    Soft(rule, weight)        not binding: a label set is exp(-weight) times as probable for each inequality that it breaks
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, Protocol, runtime_checkable

import numpy as np

from enstruct.data.hierarchy import Hierarchy
from enstruct.errors import ConfigError, shown
from enstruct.rules.inequality import Inequality, at_least
from enstruct.rules.soft import Soft, bare
from enstruct.validation import is_whole

MOST_TABLED = 10
"""Labels of a predicate, of which all sets are tried."""


@dataclass(frozen=True)
class Not:
    """The label's absence."""

    label: Any

    def __str__(self) -> str:
        return f"not {shown(self.label)}"


Number = Callable[[Any], int]
"""The number of a label's name; raises for a name that is none."""


@runtime_checkable
class LabelRule(Protocol):
    def inequalities(self, number: Number) -> list[Inequality]:
        """ConfigError where the rule itself is not one: too few labels, one twice."""


@dataclass(frozen=True)
class Implies:
    """Rows with all of ``when`` have all of ``then``."""

    when: Any
    then: Any

    def inequalities(self, number: Number) -> list[Inequality]:
        if not (_several(self.when) and _several(self.then)):
            raise ConfigError(f"The rule Implies({shown(self.when, 40)}, {shown(self.then, 40)}) needs a label on either side.")
        when = [_literal(one, number) for one in _several(self.when)]
        given = [(i, not there) for i, there in when]  # not all of "when", or the consequence
        return [_clause([*given, _literal(one, number)], 1, self) for one in _several(self.then)]

    def __str__(self) -> str:
        verb = "implies" if len(_several(self.when)) == 1 else "together imply"
        return f"{_joined(self.when, ' and ')} {verb} {_joined(self.then, ' and ')}"


@dataclass(frozen=True, init=False)
class Excludes:
    """At most one of the labels."""

    labels: tuple[Any, ...]

    def __init__(self, *names: Any, labels: Any = ()) -> None:
        listed = len(names) == 1 and not labels and isinstance(names[0], (list, set, frozenset))
        object.__setattr__(self, "labels", (*(names[0] if listed else names), *labels))

    def inequalities(self, number: Number) -> list[Inequality]:
        return _at_most(1, self.labels, number, self, least=2)

    def __str__(self) -> str:
        return f"{_joined(self.labels, ', ')} exclude one another"


@dataclass(frozen=True)
class AtMost:
    k: int
    labels: Any

    def inequalities(self, number: Number) -> list[Inequality]:
        return _at_most(self.k, self.labels, number, self)

    def __str__(self) -> str:
        return f"at most {self.k} of {_joined(self.labels, ', ')}"


@dataclass(frozen=True)
class AtLeast:
    k: int
    labels: Any

    def inequalities(self, number: Number) -> list[Inequality]:
        return _at_least(self.k, self.labels, number, self)

    def __str__(self) -> str:
        return f"at least {self.k} of {_joined(self.labels, ', ')}"


@dataclass(frozen=True)
class Exactly:
    k: int
    labels: Any

    def inequalities(self, number: Number) -> list[Inequality]:
        return _at_least(self.k, self.labels, number, self) + _at_most(self.k, self.labels, number, self)

    def __str__(self) -> str:
        return f"exactly {self.k} of {_joined(self.labels, ', ')}"


@dataclass(frozen=True)
class Requires:
    """Rows with ``label`` have at least one of ``any_of``."""

    label: Any
    any_of: Any

    def inequalities(self, number: Number) -> list[Inequality]:
        if not _several(self.any_of):
            raise ConfigError(f"The rule Requires({shown(self.label)}, {shown(self.any_of)}) needs labels of which there is one.")
        i, there = _literal(self.label, number)
        return [_clause([(i, not there), *(_literal(one, number) for one in _several(self.any_of))], 1, self)]

    def __str__(self) -> str:
        return f"{_joined(self.label, '')} requires any of {_joined(self.any_of, ', ')}"


@dataclass(frozen=True)
class Forbids:
    """None of the sets is all that a row has of the labels. ``sets``: tuples of some of ``labels``; ``words`` say why."""

    labels: tuple[Any, ...]
    sets: tuple[tuple[Any, ...], ...]
    words: str = ""

    def inequalities(self, number: Number) -> list[Inequality]:
        numbers = {name: number(name) for name in self.labels}
        out = []
        for some in self.sets:
            if strange := [name for name in some if name not in numbers]:
                raise ConfigError(
                    f"The rule {str(self)!r:.150} forbids a set with {shown(strange[0])}, which is none of its labels."
                )
            out.append(_clause([(i, name not in some) for name, i in numbers.items()], 1, self))
        return out

    def __str__(self) -> str:
        if self.words:
            return self.words
        sets = " or ".join("{" + ", ".join(map(shown, some)) + "}" for some in self.sets[:3])
        return f"of {_joined(self.labels, ', ')} not {sets}{' or others' if len(self.sets) > 3 else ''}"


def predicate(holds: Callable[[frozenset[Any]], bool], labels: Sequence[Any], words: str = "") -> Forbids:
    """The rule that ``holds(which of the labels a row has)``; it is tried on all sets at once, and is not called again.

    ConfigError for more than MOST_TABLED labels.
    """
    labels = tuple(labels)
    if not 0 < len(labels) <= MOST_TABLED:
        raise ConfigError(f"A predicate takes 1 to {MOST_TABLED} labels, of which it is tried on all sets, not {len(labels)}.")
    every = [
        tuple(name for name, there in zip(labels, y, strict=True) if there) for y in product((False, True), repeat=len(labels))
    ]
    return Forbids(labels, tuple(some for some in every if not _answer(holds, some, words)), words)


def _answer(holds: Callable[[frozenset[Any]], bool], some: tuple[Any, ...], words: str) -> bool:
    """ConfigError where the function fails, or says neither yes nor no."""
    rule = f"The predicate {shown(words or getattr(holds, '__name__', 'given'))} of {{{', '.join(map(shown, some))}}}"
    try:
        answer = holds(frozenset(some))
    except Exception as error:
        raise ConfigError(f"{rule} raised {type(error).__name__}: {error}.") from error
    if not isinstance(answer, (bool, np.bool_)):
        raise ConfigError(f"{rule} must be True or False, not {shown(answer)}: does the function return its answer?")
    return bool(answer)


def is_over_labels(rule: Any) -> bool:
    """Whether it is a rule over labels, soft or not."""
    return not isinstance(rule, type) and isinstance(bare(rule), (LabelRule, Hierarchy))


def inequalities_of(rule: Any, number: Number) -> list[Inequality]:
    """Of any rule, soft or not; those of a hierarchy go by label numbers."""
    rule = bare(rule)
    if isinstance(rule, Hierarchy):
        return [at_least(1, (parent,), (child,)) for parent, child in rule.edges if parent != child]
    return rule.inequalities(number)


def mapped(rule: Any, other: Callable[[Any], Any]) -> Any:
    """The rule over labels that are called ``other(label)``; a hierarchy, which goes by numbers, is as it was."""
    if isinstance(rule, Hierarchy):
        return rule
    if isinstance(rule, Soft):
        return Soft(mapped(rule.rule, other), rule.weight)

    def change(value: Any) -> Any:
        if isinstance(value, Not):
            return Not(other(value.label))
        return tuple(map(change, _several(value))) if isinstance(value, Iterable) and not isinstance(value, str) else other(value)

    return type(rule)(
        **{
            field.name: (value if field.name in ("k", "words") else change(value))
            for field in fields(rule)
            for value in [getattr(rule, field.name)]
        }
    )


def words_of(rule: Any) -> str:
    return f"a hierarchy of {len(rule.edges)} edges" if isinstance(rule, Hierarchy) else str(rule)


def _several(labels: Any) -> tuple[Any, ...]:
    return (labels,) if isinstance(labels, (str, Not)) or not isinstance(labels, Iterable) else tuple(labels)


def _joined(labels: Any, by: str) -> str:
    return by.join(str(one) if isinstance(one, Not) else shown(one) for one in _several(labels))


def _literal(label: Any, number: Number) -> tuple[int, bool]:
    return (number(label.label), False) if isinstance(label, Not) else (number(label), True)


def _clause(literals: Sequence[tuple[int, bool]], k: int, rule: Any) -> Inequality:
    """That k of the literals hold."""
    distinct = dict.fromkeys(literals)
    if len({i for i, _ in distinct}) < len(distinct) or len(distinct) < len(literals):
        raise ConfigError(f"The rule {str(rule)!r:.200} names a label twice.")
    return at_least(k, (i for i, there in distinct if there), (i for i, there in distinct if not there))


def _at_least(k: Any, labels: Any, number: Number, rule: Any, least: int = 1) -> list[Inequality]:
    literals = [_literal(one, number) for one in _several(labels)]
    if len(literals) < least:
        raise ConfigError(
            f"The rule {str(rule)!r:.150} needs {least} label{'s' if least > 1 else ''} at least; it has {len(literals)}."
        )
    if not is_whole(k) or not 0 <= k <= len(literals):
        raise ConfigError(
            f"The rule {str(rule)!r:.150} needs a whole number between 0 and {len(literals)}, how many labels it has."
        )
    return [_clause(literals, k, rule)]


def _at_most(k: Any, labels: Any, number: Number, rule: Any, least: int = 1) -> list[Inequality]:
    several = _several(labels)
    opposite = tuple(one.label if isinstance(one, Not) else Not(one) for one in several)
    return _at_least(len(several) - k if is_whole(k) else None, opposite, number, rule, least)
