"""``--rules``: read, said again in words, checked and counted on the training rows before anything is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.cli.tables import say
from enstruct.data.dataset import Dataset
from enstruct.rules import RuleSystem
from enstruct.rules.contradictions import check_possible
from enstruct.rules.follow import follow
from enstruct.rules.labels import mapped


def rules_for(data: Dataset, rules: list[Any]) -> list[Any] | None:
    """Rules by names, with the data's own hierarchy, as rules by label numbers; each is printed with how many rows break it.

    ConfigError for names that are no labels and for rules that contradict one another, DataError for those that rows break often.
    """
    every = [*rules, *([] if data.hierarchy is None else [data.hierarchy])]
    if not every:
        return None
    system = RuleSystem.of(every, data.label_names)
    check_possible(system)
    Y = data.Y if data.unknown is None else data.told()
    for words, broken, about in system.counts(Y):
        say(f"rule: {words} (broken in {broken} of the {about} rows that it is about)")
    if system.approximations is not None:
        say(system.approximations)
    system.check_rows(Y)
    number = {name: i for i, name in enumerate(data.label_names)}
    return [mapped(rule, number.__getitem__) for rule in every]


def check_told(rules: Any, names: list[str], known: NDArray[np.float64]) -> None:
    """DataError, by the labels' names, for told labels (rows, labels) that break a rule of a model."""
    if rules:
        several = rules if isinstance(rules, (list, tuple)) else [rules]
        follow(RuleSystem.of([mapped(rule, lambda i: names[i]) for rule in several], names), known)
