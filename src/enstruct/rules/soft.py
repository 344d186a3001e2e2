"""A rule as a preference, which weighs and does not bind."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

from enstruct.errors import ConfigError


@dataclass(frozen=True)
class Soft:
    """``rule``, over labels, tags or masks, as a preference: weight, in nats, of each of its inequalities that a label set
    breaks, of each time that a tag sequence breaks it (:mod:`enstruct.rules.tags`; there more than 100 count as 100), or of a
    mask that breaks it, however much."""

    rule: Any
    weight: float

    def __post_init__(self) -> None:
        if isinstance(self.rule, (Soft, type)):
            raise ConfigError(f"Soft takes a rule over labels, tags or masks that is not soft itself, not {self.rule!r:.80}.")
        if not (isinstance(self.weight, Real) and 0 < self.weight < float("inf")):
            raise ConfigError(f"Soft({str(self.rule)!r:.100}) needs a weight in nats above 0, not {self.weight!r:.40}.")

    def __str__(self) -> str:
        return f"{self.weight:g} nats: {self.rule}"


def bare(rule: Any) -> Any:
    """The rule itself."""
    return rule.rule if isinstance(rule, Soft) else rule
