"""What every rule over label sets comes down to: linear inequalities over labels that are 0 or 1.

sum over ``plus`` of y_i  -  sum over ``minus`` of y_i  >=  least
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from enstruct.errors import shown


@dataclass(frozen=True)
class Inequality:
    """Label numbers, none of them twice."""

    plus: tuple[int, ...]
    minus: tuple[int, ...]
    least: int

    @property
    def labels(self) -> tuple[int, ...]:
        return (*self.plus, *self.minus)

    @property
    def always(self) -> bool:
        """Whether no label set breaks it."""
        return -len(self.minus) >= self.least

    @property
    def never(self) -> bool:
        """Whether every label set breaks it."""
        return len(self.plus) < self.least

    def words(self, names: Sequence[Any]) -> str:
        """In English, by the labels' names."""
        plus, minus = ([shown(names[i]) for i in side] for side in (self.plus, self.minus))
        spare = self.least + len(minus)  # of the literals "plus is there" and "minus is not", so many must hold at least
        if spare == 1 and minus and plus:
            return f"{' and '.join(minus)} {'implies' if len(minus) == 1 else 'together imply'} {' or '.join(plus)}"
        if spare == 1 and len(minus) > 1:
            return f"{', '.join(minus)} {'exclude one another' if len(minus) == 2 else 'are not all there together'}"
        if not plus and len(minus) > 1:
            return f"at most {-self.least} of {', '.join(minus)}"
        if not minus and len(plus) > 1:
            return f"at least {self.least} of {', '.join(plus)}"
        literals = [*plus, *(f"not {name}" for name in minus)]
        return literals[0] if len(literals) == spare == 1 else f"at least {spare} of {', '.join(literals)}"


def at_least(k: int, present: Iterable[int], absent: Iterable[int] = ()) -> Inequality:
    """That k of the literals hold: labels that are ``present``, labels that are ``absent``."""
    plus, minus = tuple(present), tuple(absent)
    return Inequality(plus, minus, k - len(minus))
