"""The section of the results page for the automatic classifier: against its baselines, and what else it could have answered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.methods import METHODS
from enstruct.metrics import Counts
from enstruct_bench.comparison.label_comparison import AUTO_MINUTES, AUTOMATIC, FOLDED, NETWORKS
from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.comparison.results_file import ResultsFile
from enstruct_bench.comparison.summary import paired
from enstruct_bench.comparison.tested import Tested, tested_in
from enstruct_bench.comparison.whereabouts import Where, parts_of, whereabouts
from enstruct_bench.reports.markdown import Text, markdown_table
from enstruct_bench.reproduce.store import stores_of

Cell = tuple[str, int]
"""Method and seed."""
Origin = tuple[str, Where, str]
"""Data set, where it ran, and the file of runs with unusual settings."""


@dataclass(frozen=True)
class Headline:
    """A table: the automatic row, and what it is held against (a name, or the better of it and its kin on tf-idf)."""

    automatic: str
    baselines: tuple[tuple[str, ...], ...]

    def titles(self) -> list[str]:
        names = [alike[0] if len(alike) == 1 else f"{alike[0]}[-tfidf]" for alike in self.baselines]
        gains = [f"Δ {name} [95%]" for name in names]
        return ["data", "runs", *names, self.automatic, *gains, "nets", f"nets of {names[-1]}", "minutes", "answered"]


GIVEN = Headline("auto", (("binary-relevance",), ("extra-trees",), ("auto:cross-entropy",)))
TOGETHER = Headline(
    FOLDED,
    (
        ("auto",),
        (f"{FOLDED}:binary-relevance", f"{FOLDED}:binary-relevance-tfidf"),
        (f"{FOLDED}:extra-trees",),
        (f"{FOLDED}:cross-entropy",),
    ),
)


@dataclass
class Runs:
    """``records`` and what each test row counts under the chosen rule, by method and seed (or fold)."""

    records: dict[Cell, dict[str, Any]]
    rows: dict[Cell, Counts]
    tested: Tested = "same"

    def of(self, method: str) -> list[dict[str, Any]]:
        return [record for (name, _), record in sorted(self.records.items()) if name == method]

    def score(self, method: str) -> float:
        """Mean F1 in percent, 0 without a run."""
        scores = [100 * record["example_f1"]["chosen"] for record in self.of(method)]
        return float(np.mean(scores)) if scores else 0.0

    def mean(self, method: str) -> Value:
        return Quantity(self.score(method)) if self.of(method) else "not run"

    def nets(self, method: str) -> Value:
        """How many there are among the members: "6", or "3-4"."""
        if not self.of(method):
            return "–"
        numbers = [sum(METHODS[member].solver is None for member in record["members"]) for record in self.of(method)]
        return f"{min(numbers)}-{max(numbers)}" if min(numbers) < max(numbers) else numbers[0]

    def gain(self, reference: str, automatic: str) -> Value:
        seeds = [seed for method, seed in self.rows if method == automatic and (reference, seed) in self.rows]
        if not seeds:
            return "not run"
        a, b = ([self.rows[method, seed] for seed in seeds] for method in (reference, automatic))
        return paired(a, b, sum(method == automatic for method, _ in self.rows), self.tested).quantity()


def automatic_section(folder: Path) -> str:
    """Of every data set with a run of ``auto`` or of FOLDED, in ``compare-*.json`` or ``reproduce/seal-2.jsonl``."""
    runs_by_name = collected(folder)
    if not runs_by_name:
        return ""
    lines = [
        "## The automatic classifier",
        "",
        f"`auto`: members for at most {AUTO_MINUTES:g} minutes, {NETWORKS} nets of them (fewer where the time was up), and then "
        f"the choice; `auto:cross-entropy`: the average of up to {NETWORKS} cross-entropy nets within the same time. Test "
        "example-F1 under the rule chosen on rows held out; Δ paired over the seeds that both have (their number where it is not "
        "the row's) with 95% by hierarchical bootstrap over runs and test rows. Times with other work on the machine.",
        "",
        *_tables(GIVEN, runs_by_name),
        f"`{FOLDED}` is given training and validation rows together, as `fit(X, y)` and `enstruct train --auto` are: each member "
        f"leaves out a fifth of them. So are `{FOLDED}:cross-entropy`, of as many nets, and the linear models and trees of that "
        "name, an average of one for each fold.",
        "",
        *_tables(TOGETHER, runs_by_name),
        *_of_fewer_methods(runs_by_name),
    ]
    return Text(lines)


def _tables(headline: Headline, runs_by_name: dict[str, Runs]) -> list[str]:
    having = {name: runs for name, runs in runs_by_name.items() if runs.of(headline.automatic)}
    if not having:
        return ["Not run.", ""]
    records = [record for runs in having.values() for record in runs.of(headline.automatic)]
    titles = list(dict.fromkeys(candidate for record in records for candidate in record["candidate_f1"]))
    candidates = [[name, *_candidates(runs.of(headline.automatic), titles)] for name, runs in having.items()]
    return [
        *markdown_table(headline.titles(), [_row(headline, name, runs) for name, runs in having.items()]),
        f"What each candidate of `{headline.automatic}` would have got on the test rows, by its own rule, mean over the runs "
        "(the one that scores highest on rows held out answers; `everything`: the networks, the better linear model and trees):",
        "",
        *markdown_table(["data", *titles], candidates),
    ]


def _of_fewer_methods(runs_by_name: dict[str, Runs]) -> list[str]:
    """Fewer methods in the same time: what is lost so is what the others are worth to ``auto`` and FOLDED."""
    rows = [
        [
            *(name, method, runs.mean(method), runs.nets(method), head, runs.mean(head), runs.nets(head)),
            *(runs.gain(method, head), len(runs.of(head))),
        ]
        for name, runs in runs_by_name.items()
        for method in dict.fromkeys(method for method, _ in sorted(runs.records))
        for head, _, methods in [method.partition(":")]
        if "+" in methods and runs.of(head)
    ]
    if not rows:
        return []
    what = (
        f"What energies, trees and the linear model add: the same choice and averages of fewer methods, of up to {NETWORKS} "
        "nets too; where the time was up these are more, being fewer kinds, or dearer ones:"
    )
    return [what, "", *markdown_table(["data", "fewer methods", "F1", "nets", "of", "F1", "nets", "Δ [95%]", "runs"], rows)]


def collected(folder: Path) -> dict[str, Runs]:
    """Data set -> runs of all files that have an automatic row of it; those of several versions, machines or settings under
    several titles.

    Which torch or numpy prints the page makes no difference to it; settings are told from today's defaults.
    """
    runs_by_origin: dict[Origin, Runs] = {}
    sizes: dict[str, Any] = {}  # a file may have been made anew, or rows left out of it

    def add(key: Origin, runs: dict[Cell, tuple[dict[str, Any], Counts]], tested: Tested) -> None:
        into = runs_by_origin.setdefault(key, Runs({}, {}, tested))
        into.records |= {cell: record for cell, (record, _) in runs.items()}
        into.rows |= {cell: rows for cell, (_, rows) in runs.items()}

    for path in sorted(folder.glob("compare-*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if any(run["method"].partition(":")[0] in AUTOMATIC for run in content["runs"]):
            setting = content["setting"]
            usual = _is_usual(setting) and sizes.setdefault(str(setting["data"]), setting.get("rows")) == setting.get("rows")
            key = str(setting["data"]), whereabouts(setting.get("environment", {})), "" if usual else path.name
            cells = ResultsFile(path, setting, setting["model"]).cells
            add(key, {k: (cell.record, cell.rows["chosen"]) for k, cell in cells.items()}, tested_in(setting))
    for store in stores_of(folder / "reproduce", "seal-2"):
        runs = [run for run in store.runs.values() if run.key.protocol == "fair"]
        for name in dict.fromkeys(run.key.dataset for run in runs if run.key.method in AUTOMATIC):
            same = {(run.key.method, run.key.seed): run for run in runs if run.key.dataset == name}
            add((name, store.where, ""), {k: (run.line, run.rows["chosen"]) for k, run in same.items()}, tested="same")
    return {_title(key, [other for other in runs_by_origin if other[0] == key[0]]): runs for key, runs in runs_by_origin.items()}


def _is_usual(setting: dict[str, Any]) -> bool:
    """Whether a comparison was made as the fair runs of SEAL's Table 2 are: by the library's defaults, on its own split."""
    defaults = json.loads(json.dumps(NetworkClassifier().get_params(deep=False)))
    settings = {name: value for name, value in setting["model"].items() if name not in ("method", "random_state", "device")}
    return (
        "tuned" not in setting
        and (setting.get("split", "auto"), setting.get("split_seed", 0)) == ("auto", 0)
        and all(defaults.get(name) == value for name, value in settings.items())
    )


def _title(key: Origin, alike: Sequence[Origin]) -> str:
    """The data set, and what runs on it differ in."""
    name, where, file = key
    others = [parts_of(other) for _, other, _ in alike]
    differing = [f"{k} {v}" for k, v in parts_of(where).items() if any(other[k] != v for other in others)]
    differing += [file] if file and len(alike) > 1 else []
    return f"{name} ({', '.join(differing)})" if differing else name


def _row(headline: Headline, name: str, runs: Runs) -> list[Value]:
    mine = runs.of(headline.automatic)
    against = [max(alike, key=runs.score) for alike in headline.baselines]
    answers = ", ".join(f"{answer} {n}" for answer, n in Counter(record["answer"] for record in mine).most_common())
    minutes = np.mean([record["fit_seconds"] for record in mine]) / 60
    return [
        *(name, len(mine), *(runs.mean(method) for method in (*against, headline.automatic))),
        *(runs.gain(method, headline.automatic) for method in against),
        *(runs.nets(headline.automatic), runs.nets(against[-1]), Quantity(float(minutes), form=".1f"), answers),
    ]


def _candidates(records: Sequence[dict[str, Any]], titles: Sequence[str]) -> list[Value]:
    means: list[Value] = []
    for title in titles:
        scores = [100 * record["candidate_f1"][title] for record in records if title in record["candidate_f1"]]
        means.append(Quantity(float(np.mean(scores))) if scores else "–")
    return means
