"""Sections of the results page for the citation protocol: files of ``enstruct-bench light --json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enstruct.estimators import EnergySequenceTagger
from enstruct_bench.comparison.light import LIGHT_CELLS, formatted_light_row, light_titles, summarise_light
from enstruct_bench.comparison.results_file import ResultsFile
from enstruct_bench.comparison.summary import spread
from enstruct_bench.reports.markdown import Text, markdown_table, set_for_all, where_it_ran


def light_section(path: Path) -> str:
    """A file of ``enstruct-bench light``."""
    content = json.loads(path.read_text(encoding="utf-8"))
    setting, cells = content["setting"], ResultsFile(path, content["setting"], content["setting"]["model"], LIGHT_CELLS).cells
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
    return Text(lines)


def _where(setting: dict[str, Any]) -> str:
    return where_it_ran(setting["environment"]) + set_for_all(setting["model"], EnergySequenceTagger().get_params(deep=False))
