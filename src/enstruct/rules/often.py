"""How often given outputs break a rule: one that binds and that data break often is no rule of theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from enstruct.errors import DataError, shortened

OFTEN = 0.05
"""Of the outputs that a rule is about: one that more of them break does not bind."""


class Count(NamedTuple):
    """A rule's words, how many outputs break it, and how many it is about."""

    words: str
    broken: int
    about: int


def check_seldom(counts: Iterable[Count], outputs: str, mend: str) -> None:
    """DataError for a rule that many of the ``outputs`` break; ``mend``: what to do about it."""
    for words, broken, about in counts:
        if broken > max(1, OFTEN * about):
            raise DataError(f"{broken} of the {about} {outputs} that it is about break the rule {shortened(words, 120)}: {mend}.")
