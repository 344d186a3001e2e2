"""A small table of generated rows, for tests of what makes, keeps and shows runs."""

from enstruct_bench.reproduce.runner import plan, run
from enstruct_bench.reproduce.table import LabelTable

SMALL = LabelTable(
    "small",
    "A small table",
    "nowhere",
    ("synthetic-90",),
    {"seal-nce": {"synthetic-90": 50.0}},
    settings={"": {"max_epochs": 2, "hidden": 8}},
)


def make(store, seeds=2, minutes=None, table=SMALL):
    keys = list(plan(table, ["synthetic-90"], ["fair"], ["binary-relevance", "cross-entropy", "seal-nce"], seeds))
    return run(table, store, keys, minutes, lambda title: [])
