"""Sections of the results page for taggers: comparisons on tagged sets, and the citation protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enstruct.estimators import EnergySequenceTagger
from enstruct_bench.comparison.light import LIGHT_CELLS, formatted_light_row, light_titles, summarise_light
from enstruct_bench.comparison.ratios import summarise_ratios
from enstruct_bench.comparison.results_file import Cell, Kind, ResultsFile
from enstruct_bench.comparison.summary import methods_of, spread
from enstruct_bench.comparison.tagging import TAG_CELLS, formatted_tag_row, tag_titles
from enstruct_bench.reports.markdown import markdown_table, set_for_all, where_it_ran


def tag_section(path: Path) -> str:
    """A file of ``enstruct-bench tags compare``."""
    content = json.loads(path.read_text(encoding="utf-8"))
    setting, cells = content["setting"], cells_of(path, content, TAG_CELLS)
    rows = summarise_ratios(cells)
    sizes = ", ".join(f"{name} {n}" for name, n in setting["sentences"].items())
    columns = f"; beside the word its columns {setting['columns']}" if setting["columns"] else ""
    n, epochs = spread(cells), setting["epochs"]
    lines = [
        f"## {setting['data']}: tags (`{path.name}`)",
        "",
        f"{n} seeds; sentences: {sizes}{columns}. Rows that start from cross-entropy go on for {epochs} epochs at most in each "
        f"stage; their updates, epochs and seconds are those after it. {_where(setting)}",
        "",
        *markdown_table(tag_titles(rows[0]["metric"]), [formatted_tag_row(row) for row in rows]),
        *differences(cells),
    ]
    return "\n".join(lines)


def cells_of(path: Path, content: dict[str, Any], kind: Kind) -> dict[tuple[str, int], Cell]:
    return ResultsFile(path, content["setting"], content["setting"]["model"], kind).cells


def light_section(path: Path) -> str:
    """A file of ``enstruct-bench tags light``."""
    content = json.loads(path.read_text(encoding="utf-8"))
    setting, cells = content["setting"], cells_of(path, content, LIGHT_CELLS)
    sizes = setting["labelled"]
    rows = summarise_light(cells, sizes)
    lines = [
        f"## {setting['data']}: few labels and a reward (`{path.name}`)",
        "",
        f"Token accuracy on 200 references, {spread(cells)} draws of the labelled ones; at most {setting['epochs']} epochs of "
        "each stage over the unlabelled references. Published: the implicit-training paper's Table 4, on another extension of "
        f"Cora with other rules. Δ: paired difference to {rows[0]['method']}, 95% by hierarchical bootstrap over draws and "
        f"references. {_where(setting)}",
        "",
        *markdown_table(light_titles(sizes), [formatted_light_row(row, sizes) for row in rows]),
    ]
    return "\n".join(lines)


def differences(cells: dict[tuple[str, int], Cell]) -> list[str]:
    """Every row against every later reference than the first: the table itself shows the first."""
    methods = methods_of(cells)
    lines = []
    for reference in methods[1:-1]:
        for row in summarise_ratios(cells, reference, percents=()):
            if methods.index(row["method"]) > methods.index(reference) and row["difference"] is not None:
                lines.append(f"- {row['method']} against {reference}: {row['difference']}")
    return [*lines, ""] if lines else []


def _where(setting: dict[str, Any]) -> str:
    return where_it_ran(setting["environment"]) + set_for_all(setting["model"], EnergySequenceTagger().get_params(deep=False))
