"""What a table or figure of a paper is, as data: cells to run, or commands. The declarations are in
:mod:`enstruct_bench.reproduce.tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from enstruct.methods import Method
from enstruct_bench.comparison.command import Command
from enstruct_bench.comparison.tested import Tested, tested_rows

Protocol = Literal["fair", "published"]
PROTOCOLS: tuple[Protocol, ...] = ("fair", "published")
BASELINES = ("binary-relevance", "extra-trees", "cross-entropy")


@dataclass(frozen=True)
class LabelTable:
    """``rows``: our method -> data set -> the published figure (percent), None where the paper has none.

    ``why_fair_only``: why there is no published protocol, for tables without one. ``changed``: row -> the row that it changes one
    thing of, and is held against. ``impossible``: row -> data sets that it cannot be run on.
    """

    name: str
    title: str
    published_as: str
    datasets: tuple[str, ...]
    rows: Mapping[str, Mapping[str, float | None]]
    metric: str = "example-f1"
    split: str = "auto"
    protocols: tuple[Protocol, ...] = ("fair",)
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # data set, or "" for all -> parameters
    why_fair_only: str = ""
    variants: Mapping[str, tuple[str | Method, Mapping[str, object]]] = field(default_factory=dict)  # row -> method, parameters
    changed: Mapping[str, str] = field(default_factory=dict)
    impossible: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def tested(self) -> Tested:
        """On which rows the runs of several seeds are tested."""
        return tested_rows(self.split)

    def method(self, row: str) -> str | Method:
        """The library's name of a row's method, or a row of its own."""
        return self.variants[row][0] if row in self.variants else row

    def methods(self) -> tuple[str, ...]:
        """Baselines first, then the table's own."""
        return (*BASELINES, *(name for name in self.rows if name not in BASELINES))


@dataclass(frozen=True)
class CommandTable:
    """``parts``: part -> its command; a file or folder of that name in the results folder takes the figures. An option that is
    another part's name stands for its file, which is made first; "NAME.journal" for one of trials, kept here.

    ``against``: part that compares -> data set and method of seal-2's fair runs that its rows are held against.
    ``made``: word -> the command that makes the file or folder it stands for, before a part that names it.
    """

    name: str
    title: str
    published_as: str
    parts: Mapping[str, Command]
    published: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, Command] = field(default_factory=dict)
    against: Mapping[str, tuple[str, str]] = field(default_factory=dict)


Table = LabelTable | CommandTable
