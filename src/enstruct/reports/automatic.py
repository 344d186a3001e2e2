"""The section of the results page for the automatic classifier: against its baselines, and what else it could have answered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.comparison.bootstrap import paired_difference
from enstruct.comparison.run import AUTO_MINUTES, NETWORKS, ResultsFile
from enstruct.comparison.summary import interval
from enstruct.reports.tagging import markdown_table
from enstruct.reproduce.store import Store

AUTO, LINEAR, AVERAGE = "auto", "binary-relevance", "auto:cross-entropy"
TITLES = ("data", "runs", LINEAR, AVERAGE, AUTO, f"Δ {LINEAR} [95%]", f"Δ {AVERAGE} [95%]", "nets", "minutes", "answered")


@dataclass
class Runs:
    """``records`` and the F1 of each test row under the chosen rule, by method and seed."""

    records: dict[tuple[str, int], dict[str, Any]]
    rows: dict[tuple[str, int], NDArray[np.float64]]

    def of(self, method: str) -> list[dict[str, Any]]:
        return [record for (name, _), record in sorted(self.records.items()) if name == method]

    def mean(self, method: str) -> str:
        found = [100 * record["example_f1"]["chosen"] for record in self.of(method)]
        return f"{np.mean(found):.2f}" if found else "not run"

    def gain(self, reference: str) -> str:
        seeds = [seed for method, seed in self.rows if method == AUTO and (reference, seed) in self.rows]
        if not seeds:
            return "not run"
        a, b = (np.stack([self.rows[method, seed].astype(np.float64) for seed in seeds]) for method in (reference, AUTO))
        return interval([100 * v for v in paired_difference(a, b)])


def automatic_section(folder: Path) -> str:
    """Of every data set with a run of ``auto``, in ``compare-*.json`` or ``reproduce/seal-2.jsonl``."""
    found = collected(folder)
    titles = list(dict.fromkeys(name for runs in found.values() for name in runs.of(AUTO)[0]["candidate_f1"]))
    lines = [
        "## The automatic classifier",
        "",
        f"`auto`: at most {AUTO_MINUTES:g} minutes and {NETWORKS} nets a run (fewer where the time was up); `{AVERAGE}`: the "
        f"average of {NETWORKS} cross-entropy nets within the same time. Test example-F1 under the rule chosen on validation "
        "rows; Δ paired, 95% by hierarchical bootstrap over runs and test rows. Times with other work on the machine.",
        "",
        *markdown_table(list(TITLES), [_row(name, runs) for name, runs in found.items()]),
        "What each candidate would have got on the test rows, by its own rule, mean over the runs (`auto` answers with the one "
        "that scores highest on validation rows; `everything` is the networks with the better linear model):",
        "",
        *markdown_table(["data", *titles], [[name, *_candidates(runs.of(AUTO), titles)] for name, runs in found.items()]),
    ]
    return "\n".join(lines) if found else ""


def collected(folder: Path) -> dict[str, Runs]:
    found: dict[str, Runs] = {}
    for path in sorted(folder.glob("compare-*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if any(run["method"] == AUTO for run in content["runs"]):
            cells = ResultsFile(path, content["setting"], content["setting"]["model"]).cells
            chosen = {key: cell.rows["chosen"] for key, cell in cells.items()}
            found[str(content["setting"]["data"])] = Runs({key: cell.record for key, cell in cells.items()}, chosen)
    runs = [run for run in Store(folder / "reproduce", "seal-2").runs.values() if run.key.protocol == "fair"]
    for name in dict.fromkeys(run.key.dataset for run in runs if run.key.method == AUTO):
        same = {(run.key.method, run.key.seed): run for run in runs if run.key.dataset == name}
        found[name] = Runs({k: run.line for k, run in same.items()}, {k: run.rows["chosen"] for k, run in same.items()})
    return found


def _row(name: str, runs: Runs) -> list[str]:
    mine = runs.of(AUTO)
    answers = ", ".join(f"{answer} {n}" for answer, n in Counter(record["answer"] for record in mine).most_common())
    nets = [sum(not member.startswith(LINEAR) for member in record["members"]) for record in mine]
    minutes = np.mean([record["fit_seconds"] for record in mine]) / 60
    scores = [runs.mean(method) for method in (LINEAR, AVERAGE, AUTO)]
    return [
        *(name, str(len(mine)), *scores, runs.gain(LINEAR), runs.gain(AVERAGE)),
        *(f"{min(nets)}-{max(nets)}" if min(nets) < max(nets) else str(nets[0]), f"{minutes:.1f}", answers),
    ]


def _candidates(records: Sequence[dict[str, Any]], titles: Sequence[str]) -> list[str]:
    means = []
    for title in titles:
        scores = [100 * record["candidate_f1"][title] for record in records if title in record["candidate_f1"]]
        means.append(f"{np.mean(scores):.2f}" if scores else "–")
    return means
