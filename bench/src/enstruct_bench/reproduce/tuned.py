"""Whether the order of methods outlives tuning: equal trials for each, then fresh seeds under what was found."""

from __future__ import annotations

from enstruct_bench.comparison.command import Command
from enstruct_bench.comparison.compare import Compare
from enstruct_bench.reproduce.table import CommandTable
from enstruct_bench.tuning.tune import Tune

METHODS = ("cross-entropy", "seal-margin", "seal-regression", "seal-nce", "seal-ranking")


def _parts(dataset: str) -> dict[str, Command]:
    compared = ("binary-relevance", "extra-trees", *METHODS)
    return {
        f"tune-{dataset}": Tune(dataset, methods=METHODS, trials=20, most_updates=5, storage=f"tune-{dataset}.journal"),
        f"compare-tuned-{dataset}": Compare(dataset, tuned=f"tune-{dataset}", methods=compared, seeds=5),
    }


TUNED = CommandTable(
    "tuned",
    "Equal trials for every method",
    "nowhere: every other fair table has the library's settings; here each method has as many trials on validation rows",
    {**_parts("cal500"), **_parts("yeast")},
)
