"""Sections of the results page for searches on validation rows and for the cost of couplings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SEARCH_TITLES = (
    "setting",
    "seed",
    "F1 @0.5",
    "F1 tuned",
    "F1 best rule",
    "epochs",
    "implicit / explicit",
    "solver failed",
    "fit s",
)


def search_section(path: Path) -> str:
    """A file of ``benchmarks/search_implicit.py``: validation rows chose and scored, so rows compare with each other alone."""
    content = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        f"## Search on {content['data']}'s validation rows (`{path.name}`)",
        "",
        f"At most {content['epochs']} epochs a fit; the validation rows chose the epoch and the rule too. {_where(content)}",
        "",
        *_table(SEARCH_TITLES, [_search_row(name, fit) for name, fit in content["fits"].items()]),
    ]
    return "\n".join(lines)


def _search_row(key: str, fit: dict[str, Any]) -> tuple[str, ...]:
    name, seed = key.split(" / seed ")
    scores = (f"{100 * fit[score]:.2f}" for score in ("f1_at_0.5", "f1_tuned", "f1_rule"))
    ratio = "–" if fit["implicit_ratio"] is None else f"{fit['implicit_ratio']:.3g}"
    failed = "–" if fit["implicit_ratio"] is None else f"{100 * fit['solver_failed']:.0f}%"
    return (name, seed, *scores, str(fit["epochs"]), ratio, failed, f"{fit['seconds']:.0f}")


def cost_section(path: Path) -> str:
    """The file of ``benchmarks/bilevel_step.py``."""
    content = json.loads(path.read_text(encoding="utf-8"))
    flops = content["gflop"]
    lines = [
        f"## Cost of a batch under each coupling (`{path.name}`)",
        "",
        f"bibtex's shape, batch 32, on an idle machine. A Hessian product at batch 128, dense: {flops['product']:.2f} GFLOP, "
        f"a gradient {flops['gradient']:.2f}. {_where(content)}",
        "",
        *_table(
            ("method", "coupling", "ms", "times alternating"),
            [
                (row["method"], row["coupling"], f"{1e3 * row['step']:.1f}", f"{row['times_alternating']:.2f}")
                for row in content["rows"]
            ],
        ),
    ]
    return "\n".join(lines)


def _where(content: dict[str, Any]) -> str:
    where = content["environment"]
    return (
        f"enstruct {where['enstruct']}, torch {where['torch']}, Python {where['python']}, {where['machine']}, "
        f"{where['threads']} of {where['cores']} cores."
    )


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles), *("| " + " | ".join(row) + " |" for row in rows), ""]
