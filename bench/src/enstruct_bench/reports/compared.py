"""Sections of the results page for comparisons: files of ``enstruct-bench compare --json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import enstruct.estimators
from enstruct_bench.comparison.comparison import Comparison
from enstruct_bench.comparison.comparisons import comparison_of
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.summary import difference, formatted, methods_of, spread, summarise
from enstruct_bench.comparison.tested import RUNS, Tested, tested_in
from enstruct_bench.reports.markdown import Text, markdown_table, set_for_all, where_it_ran

PUBLISHED = {
    "weizmann32": "Published, mean IoU over images: DVN 83.9 (36 crops of 24x24, Gygli et al. 2017), cGLOW 81.2, "
    "ALEN 85.7, implicit CD 89.4 (whole 32x32 images; no code is public). Their networks are wider, their budgets up to a "
    "thousand epochs."
}


def compared_section(path: Path) -> str:
    """The file of a comparison; nothing of one without runs."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if not content["runs"]:
        return ""
    setting = content["setting"]
    comparison, tested = comparison_of(setting), tested_in(setting)
    task = comparison.task
    cells = ResultsFile(path, setting, setting["model"], comparison.kind()).cells
    defaults = getattr(enstruct.estimators, task.estimator)().get_params(deep=False)
    sizes = ", ".join(f"{name} {n}" for name, n in setting[task.parts].items())
    where = where_it_ran(setting["environment"]) + set_for_all(setting["model"], defaults)
    kind = "" if task.name == "labels" else f": {task.name}"
    about = " ".join(ABOUT[task.name]({**setting, "model": {**defaults, **setting["model"]}}).split())
    titles = comparison.titles(comparison.metric_of(cells, setting["model"]))
    lines = [
        f"## {setting['data']}{kind} (`{path.name}`)",
        "",
        f"{spread(cells)} {RUNS[tested]}s; {task.parts}: {sizes}{about} {where}"
        + (" Settings of each row from `enstruct-bench tune`." if "tuned" in setting else ""),
        "",
        *markdown_table(titles, [formatted(comparison, row) for row in summarise(comparison, cells, None, tested)]),
        *_differences(comparison, cells, tested),
    ]
    return Text(lines)


def _of_labels(setting: dict[str, Any]) -> str:
    return f"; {split_of(setting)}, split seed {setting['split_seed']};"


def _of_tags(setting: dict[str, Any]) -> str:
    columns = f"; beside the word its columns {setting['columns']}" if setting["columns"] else ""
    return (
        f"{columns}. Rows that start from cross-entropy go on for {setting['epochs']} epochs at most in each stage; their "
        "updates, epochs and seconds are those after it."
    )


def _of_masks(setting: dict[str, Any]) -> str:
    crop = setting["model"]["crop"]
    protocol = "whole images" if crop is None else f"random {crop}x{crop} crops in training, the mean of 36 crops at test"
    return (
        f"; {protocol}. Test images with a near-duplicate among the training or validation images: "
        f"{', '.join(setting['duplicates']) or 'none'}. {PUBLISHED.get(setting['data'], '')}"
    )


ABOUT = {"labels": _of_labels, "tags": _of_tags, "masks": _of_masks}
"""Task -> what is said of the protocol."""


def split_of(setting: dict[str, Any]) -> str:
    """In words; files without one hold the default split."""
    split = setting.get("split", "auto")
    return "60/20/20 or three published parts" if split == "auto" else f"split {split}"


def _differences(comparison: Comparison, cells: dict[tuple[str, int], Cell], tested: Tested) -> list[str]:
    """Every row against every later reference than the first: the table itself shows the first."""
    methods = methods_of(cells)
    lines = []
    for place, reference in enumerate(methods[1:-1], 1):
        for method in methods[place + 1 :]:
            by_rule = [(rule, difference(cells, reference, method, rule, tested)) for rule in comparison.differences.values()]
            if by_rule[-1][1] is not None:
                words = {"threshold": "tuned ", "chosen": "best rule "} if len(by_rule) > 1 else {}
                told = ", ".join(f"{words.get(rule, '')}{gain}" for rule, gain in by_rule)
                lines.append(f"- {method} against {reference}: {told}")
    return [*lines, ""] if lines else []
