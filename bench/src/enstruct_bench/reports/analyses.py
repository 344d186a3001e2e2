"""What parts of command tables left, as lines of the results page: figures of analyses, descriptions of data sets, pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from enstruct_bench.comparison.quantity import Value, mean_and_deviation
from enstruct_bench.figures.plain import flat, value_of
from enstruct_bench.reports.markdown import markdown_table

SHOWN = 6
"""Records of a curve on the page; the file has them all."""
DESCRIBED = ("rows", "features", "labels", "cardinality", "distinct label sets", "unused labels", "labels seen once")


def analysis_lines(folder: Path) -> list[str]:
    """Of the folder ``enstruct-bench figure`` wrote: its figures, and where its pictures lie."""
    lines = []
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        where = content["environment"]
        lines += [f"`{folder.name}/{path.name}`: torch {where['torch']}, {where['machine']}, {where['threads']} thread.", ""]
        lines += _objectives(content) if content["analysis"] == "objectives" else _figures(content)
    pictures = [f"`results/{folder.name}/{path.name}`" for path in sorted(folder.glob("*.png"))]
    return [*lines, f"Pictures: {', '.join(pictures)}.", ""] if pictures else lines


def _objectives(content: dict[str, Any]) -> list[str]:
    score = {name: replace(mean_and_deviation([100 * f for f in f1]), name=name) for name, f1 in content["f1"].items()}
    rows: list[list[Value]] = [[objective, score[alone], score[loss]] for objective, (alone, loss) in content["pairs"].items()]
    rows.append(["–", "", score[content["baseline"]]])
    head = f"{content['data']}, {content['seeds']} seeds, test F1 under the best rule."
    return [head, "", *markdown_table(["objective", "energy alone, by inference", "as the loss of a predictor"], rows)]


def _figures(content: dict[str, Any]) -> list[str]:
    """Plain numbers, and a few records of every curve."""
    left_out = ("analysis", "environment", "settings", "data", "model", "method")
    figures = dict(flat({key: value for key, value in content.items() if key not in left_out}))
    plain = [[key, value_of(value)] for key, value in figures.items() if not isinstance(value, list)]
    lines = markdown_table(["figure", "value"], plain) if plain else []
    for key, value in figures.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            shown = np.unique(np.linspace(0, len(value) - 1, SHOWN).round().astype(int))
            lines += [f"{key} ({len(value)} records):", ""]
            lines += markdown_table(list(value[0]), [[value_of(value[i][name]) for name in value[0]] for i in shown])
    return lines


def description_lines(paths: list[Path]) -> list[str]:
    """Of the files ``enstruct data describe --json`` wrote: a line for each part of each data set."""
    rows = []
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        for part, figures in content["parts"].items():
            rows.append([content["data"], part, *(value_of(figures[name]) for name in DESCRIBED)])
    return markdown_table(["data", "part", *DESCRIBED], rows) if rows else []
