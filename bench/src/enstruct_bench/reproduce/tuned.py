"""Whether the order of methods outlives tuning: equal trials for each, then fresh seeds under what was found."""

from __future__ import annotations

from enstruct_bench.reproduce.table import CommandTable

DATA = ("cal500", "yeast")
METHODS = "cross-entropy,seal-margin,seal-regression,seal-nce,seal-ranking"


def _trials(dataset: str) -> tuple[str, ...]:
    return (
        *("tune", dataset, "--methods", METHODS, "--trials", "20", "--most_updates", "5"),
        *("--storage", f"tune-{dataset}.journal"),
    )


def _compared(dataset: str) -> tuple[str, ...]:
    methods = f"binary-relevance,extra-trees,{METHODS}"
    return ("compare", dataset, "--tuned", f"tune-{dataset}", "--methods", methods, "--seeds", "5")


TUNED = CommandTable(
    "tuned",
    "Equal trials for every method",
    "nowhere: every other fair table has the library's settings; here each method has as many trials on validation rows",
    {
        name: words
        for dataset in DATA
        for name, words in ((f"tune-{dataset}", _trials(dataset)), (f"compare-tuned-{dataset}", _compared(dataset)))
    },
)
