"""``docs/results.md`` from the files ``enstruct-bench compare``, ``tags compare``, ``tags light`` and ``masks compare`` leave.

    python -m enstruct_bench.reports.results [results] [docs/results.md]

Nothing on the page is typed by hand; a test regenerates it and fails if it differs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.records import read_record
from enstruct_bench.comparison.results_file import Cell, ResultsFile, is_folds
from enstruct_bench.comparison.run import label_kind, scored_by
from enstruct_bench.comparison.summary import DIFFERENCES, formatted, methods_of, spread, summarise, titles
from enstruct_bench.reports.automatic import automatic_section
from enstruct_bench.reports.costs import costs_section
from enstruct_bench.reports.markdown import markdown_table, set_for_all, where_it_ran
from enstruct_bench.reports.masks import mask_section
from enstruct_bench.reports.reproduced import reproduced_page
from enstruct_bench.reports.searches import ablation_section, cost_section, peers_section, search_section, trials_section
from enstruct_bench.reports.tagging import light_section, tag_section

HEAD = """# Results

Printed by `enstruct-bench report` from what the commands of `enstruct-bench` left in `results/`: `compare-*.json` (`compare`),
`tags-*.json`, `light-*.json`, `masks-*.json` (`tags compare`, `tags light`, `masks compare`), `tune-*.json` (`tune`),
`search-*.json`, `ablation-*.json` (`python -m enstruct_bench.tuning.search_implicit`, `ablate_auto`), `benchmark-*.json`
(`costs --measure`), and `reproduce/*.jsonl` (`run`).
Example-F1, or the metric named, in percent on test rows: at 0.5, at the threshold tuned on validation rows, and under the
decision rule chosen on validation rows. Δ: paired difference to the first row, 95% by hierarchical bootstrap over seeds and
rows, of folds over rows alone. Seconds are of the run as it was, with other work on the machine: they are no benchmark.
"""


def page(folder: Path) -> str:
    for path in sorted(folder.glob("*.json")):
        _check(path)
    parts = [HEAD, automatic_section(folder)]
    for path in sorted(folder.glob("compare-*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["runs"]:
            parts.append(_section(path, content))
    parts += [tag_section(path) for path in sorted(folder.glob("tags-*.json"))]
    parts += [mask_section(path) for path in sorted(folder.glob("masks-*.json"))]
    parts += [light_section(path) for path in sorted(folder.glob("light-*.json"))]
    parts += [trials_section(path) for path in sorted(folder.glob("tune-*.json"))]
    parts += [search_section(path) for path in sorted(folder.glob("search-*.json"))]
    parts += [ablation_section(path) for path in sorted(folder.glob("ablation-*.json"))]
    parts += [peers_section(path) for path in sorted(folder.glob("benchmark-peers*.json"))]
    parts += [cost_section(path) for path in sorted(folder.glob("benchmark-bilevel.json"))]
    parts.append(costs_section(folder))
    parts += reproduced_page(folder / "reproduce")
    return "\n".join(part for part in parts if part)


def _check(path: Path) -> None:
    """DataError that names a file that is cut or damaged."""
    read_record(path, {str: object}, "damaged")


def _section(path: Path, content: dict[str, Any]) -> str:
    setting = content["setting"]
    cells = ResultsFile(path, setting, setting["model"], label_kind(setting["model"])).cells
    metric, folds = scored_by(setting["model"]), is_folds(setting)
    sizes = ", ".join(f"{name} {n}" for name, n in setting["rows"].items())
    lines = [
        f"## {setting['data']} (`{path.name}`)",
        "",
        f"{spread(cells)} {'folds' if folds else 'seeds'}; rows: {sizes}; "
        f"{split_of(setting)}, split seed {setting['split_seed']}; {where_it_ran(setting['environment'])}"
        + set_for_all(setting["model"], EnergyMultiLabelClassifier().get_params())
        + (" Settings of each row from `enstruct-bench tune`." if "tuned" in setting else ""),
        "",
        *markdown_table(titles(metric), [formatted(row) for row in summarise(cells, None, metric, folds)]),
        *_differences(cells, metric, folds),
    ]
    return "\n".join(lines)


def split_of(setting: dict[str, Any]) -> str:
    """In words; files without one hold the default split."""
    split = setting.get("split", "auto")
    return "60/20/20 or three published parts" if split == "auto" else f"split {split}"


def _differences(cells: dict[tuple[str, int], Cell], metric: str, folds: bool) -> list[str]:
    """Every row against every later reference than the first: the table itself shows the first."""
    methods = methods_of(cells)
    lines = []
    for reference in methods[1:-1]:
        for row in summarise(cells, reference, metric, folds):
            if methods.index(row["method"]) > methods.index(reference) and row["chosen_difference"] is not None:
                tuned, best = (str(row[key]) for key in DIFFERENCES)
                lines.append(f"- {row['method']} against {reference}: tuned {tuned}, best rule {best}")
    return [*lines, ""] if lines else []
