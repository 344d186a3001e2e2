"""What training watches, and which of the epochs it kept is the answer: for label sets, tag sequences and masks.

Tag sequences and masks have one score, the metric of greedy decoding. Scores of label sets' marginals on validation rows, in
the order in which ties are settled:

    f1          example-F1, mean of that at 0.5 and that at the best threshold: rises longest; the learning rate follows it
    threshold   the metric at its best threshold
    decoded     for example-F1: its expected-F1 decoding, on :func:`~enstruct.decisions.thresholds.fitting_rows`

Stages that train an energy alone are watched by its objective instead (:mod:`enstruct.training.loop`). With ``monitor="fixed"``,
as the published systems have it, the one score is the metric at 0.5, in those stages too, there of inference's answers. Otherwise
no one of them is right everywhere: networks stopped at the best threshold score are too young on some data, those stopped by "f1"
overfitted on others (docs/choices.md). So a snapshot is kept for each, and the one whose *final decision* scores highest,
cross-validated within the validation rows, is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.data.rows import Rows
from enstruct.data.sentences import TagSequences
from enstruct.decisions.choose import FAVOURITE, cross_validate
from enstruct.decisions.expected_f1 import decode
from enstruct.decisions.masks import greedy as best_class
from enstruct.decisions.tag_sequences import greedy
from enstruct.decisions.thresholds import at_threshold, best_threshold_score, fitting_rows, sets_of_size
from enstruct.metrics import example_f1, get_metric
from enstruct.metrics.masks import get_mask_metric
from enstruct.metrics.tags import get_tag_metric

Names = Callable[[TagSequences], list[list[str]]]


@dataclass(frozen=True)
class LabelSetMonitor:
    """``decision``: the rule that will decide, or "auto". ``single``: one label a row, decided by argmax.

    ``monitor="fixed"``: the metric at 0.5 alone, which stays at 0 while no marginal has come that far.
    """

    metric: str = "example-f1"
    decision: str = "auto"
    single: bool = False
    monitor: str = "auto"

    @property
    def by_inference(self) -> bool:
        """Whether inference's answers are watched in stages that train an energy alone."""
        return self.monitor == "fixed"

    def scores(self, p: NDArray[Any], rows: Rows) -> dict[str, float]:
        if self.single:
            return {"accuracy": get_metric("example-f1")(rows.Y, sets_of_size(p, 1), rows.weight)}
        if self.monitor == "fixed":
            return {"fixed": get_metric(self.metric)(rows.Y, at_threshold(p, 0.5), rows.weight)}
        half = example_f1(rows.Y, at_threshold(p, 0.5), rows.weight)
        tuned = best_threshold_score(p, rows.Y, "example-f1", rows.weight)
        scores = {"f1": (half + tuned) / 2}
        if self.metric != "example-f1":
            return scores | {"threshold": best_threshold_score(p, rows.Y, self.metric, rows.weight)}
        sample = fitting_rows(*p.shape)
        part = rows.take(sample)
        decoded = example_f1(part.Y, decode(p[sample], bool((part.Y.sum(1) == 0).any())), part.weight)
        return scores | {"threshold": tuned, "decoded": decoded}

    def choose(self, candidates: Sequence[NDArray[Any]], rows: Rows) -> int:
        """Which of several marginals (rows, labels) the decision makes most of; the first of equals."""
        if self.single or len(candidates) == 1:
            return 0
        comparisons = [cross_validate(self._rules(), p, rows.Y, self.metric, weight=rows.weight) for p in candidates]
        return int(np.argmax([max(compared.scores.values()) for compared in comparisons]))

    def _rules(self) -> tuple[str, ...]:
        """The rules that stand for the decision: under "auto" its two usual winners; "bayes-risk" needs the energy's samples."""
        if self.decision in ("auto", "bayes-risk"):
            return ("threshold", FAVOURITE) if self.metric == "example-f1" else ("threshold", "per-label")
        return (self.decision,)


@dataclass(frozen=True)
class ScoreMonitor:
    """One score: ``score(p, rows)`` of the answers p, called ``name`` in the history."""

    name: str
    score: Callable[[NDArray[Any], Rows], float]
    by_inference: bool = False

    def scores(self, p: NDArray[Any], rows: Rows) -> dict[str, float]:
        return {self.name: self.score(p, rows)}

    def choose(self, candidates: Sequence[NDArray[Any]], rows: Rows) -> int:
        return int(np.argmax([self.score(p, rows) for p in candidates]))


def tag_monitor(metric: str, names: Names) -> ScoreMonitor:
    """``metric``: a key of :data:`~enstruct.metrics.tags.TAG_METRICS`; ``names`` gives the user's tags of numbers."""

    def score(p: NDArray[Any], rows: Rows) -> float:
        return get_tag_metric(metric)(names(rows.Y), names(greedy(p, rows.Y.tags < 0, rows.Y.offsets)))

    return ScoreMonitor(metric, score)


def mask_monitor(metric: str) -> ScoreMonitor:
    """``metric``: a key of :data:`~enstruct.metrics.masks.MASK_METRICS`, of the whole images that rows are patches of."""

    def score(p: NDArray[Any], rows: Rows) -> float:
        return get_mask_metric(metric)(rows.Y.classes(), best_class(p), n_classes=rows.Y.n_classes)

    return ScoreMonitor(metric, score)
