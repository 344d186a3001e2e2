"""Rules over label sets in force for a fitted classifier: over all its labels, and over those that vary."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.errors import ConfigError
from enstruct.estimators.label_format import LabelFormat
from enstruct.rules import Hierarchy, RuleSystem
from enstruct.rules.closest import nearest
from enstruct.rules.contradictions import check_possible
from enstruct.rules.follow import follow
from enstruct.rules.labels import mapped
from enstruct.rules.marginals import legal_marginals

log = logging.getLogger("enstruct")


def system_of(rules: Any, labels: LabelFormat) -> RuleSystem | None:
    """``rules=`` for these labels; None without rules. ConfigError, DataError for rules that are none, of other labels, that no
    label set meets, or, hierarchies apart, where a row has one label."""
    if rules is None or (isinstance(rules, (list, tuple)) and not rules):
        return None
    system = RuleSystem.of(rules, labels.classes.tolist())
    if labels.kind == "single" and all(isinstance(rule, Hierarchy) for rule in system.rules):
        return None  # a row has one class, which implies none
    if labels.kind == "single":
        raise ConfigError(
            "rules= are about label sets, and each row of y has one class, which excludes the others already: leave them out, or "
            "leave out the rows of classes that cannot be."
        )
    check_possible(system)
    if system.approximations is not None:
        log.info(system.approximations)
    return system


def check_as_fitted(rules: Any, in_force: Sequence[Any], single: bool = False) -> None:
    """ConfigError where ``rules=`` are others than those that a fitted model answers by, which nothing would keep."""
    now = () if rules is None else tuple(rules) if isinstance(rules, (list, tuple)) else (rules,)
    if single:  # a row of one class has no use for hierarchies
        now = tuple(rule for rule in now if not isinstance(rule, Hierarchy))
    if now != tuple(in_force):
        raise ConfigError(
            "save: rules= were changed after fit, and the model answers by those it was fitted under: set them back, or fit anew."
        )


def by_number(rules: Any, labels: LabelFormat) -> Any:
    """The rules of :func:`system_of` over the labels' numbers."""
    if rules is None:
        return None
    number = {name: i for i, name in enumerate(labels.classes.tolist())}
    return [mapped(rule, number.__getitem__) for rule in (rules if isinstance(rules, (list, tuple)) else [rules])]


@dataclass(frozen=True)
class Legality:
    """``whole``: over all labels; ``varying``: over those that vary."""

    whole: RuleSystem
    varying: RuleSystem

    @classmethod
    def of(cls, system: RuleSystem | None, constants: NDArray[np.float64]) -> Self | None:
        """``constants`` (labels,): NaN of labels that vary. DataError where the others break a rule."""
        return None if system is None else cls(system, system.among(np.flatnonzero(np.isnan(constants)), constants))

    def marginals(self, p: NDArray[Any]) -> NDArray[np.float64]:
        """Of marginals (rows, labels that vary)."""
        return legal_marginals(self.varying, p)

    def sets(self, chosen: Any, p: NDArray[Any], known: NDArray[Any] | None = None) -> sparse.csr_matrix:
        """(rows, labels) that keep the rules, of those that a decision rule made of marginals p (rows, labels)."""
        dense = chosen.toarray() if sparse.issparse(chosen) else np.asarray(chosen)
        return as_indicator(nearest(self.whole, dense, p, known))

    def closed(self, chosen: Any) -> sparse.csr_matrix | None:
        """(rows, labels) with what is implied; None where more binds than that, and :meth:`sets` is asked."""
        if not self.whole.only_hierarchies:
            return None
        return as_indicator((sparse.csr_matrix(chosen, dtype=np.int32) @ self.whole.closure).sign())

    def told(self, known: NDArray[Any]) -> NDArray[Any]:
        """(rows, labels), NaN where nothing is told, with what follows."""
        return follow(self.whole, known)
