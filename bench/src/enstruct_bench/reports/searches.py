"""Sections of the results page for searches and trials on validation rows, the ablation behind `auto`, peers, and couplings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enstruct_bench.comparison.quantity import Quantity, Value, mean_and_deviation
from enstruct_bench.comparison.tuned_settings import TITLES, summary_row
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

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


SHOWN_AVERAGES = 6


def search_section(path: Path) -> str:
    """A file of :mod:`enstruct_bench.tuning.search_implicit`: validation rows chose and scored, so rows compare
    with each other alone."""
    content = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        f"## Search on {content['data']}'s validation rows (`{path.name}`)",
        "",
        f"At most {content['epochs']} epochs a fit; the validation rows chose the epoch and the rule too. "
        f"{where_it_ran(content['environment'])}",
        "",
        *markdown_table(SEARCH_TITLES, [_search_row(name, fit) for name, fit in content["fits"].items()]),
    ]
    return Text(lines)


def trials_section(path: Path) -> str:
    """A file of ``enstruct-bench tune --json``: the best of each method's trials."""
    content = json.loads(path.read_text(encoding="utf-8"))
    compared = path.with_name(f"compare-tuned-{path.name.removeprefix('tune-')}")
    tested = f" What they give on test rows: `{compared.name}`." if compared.is_file() else ""
    lines = [
        f"## Trials on {content['data']} (`{path.name}`)",
        "",
        f"The best {content['best'][0]['metric']} of each method on validation rows, under its best decision rule, with the "
        f"settings that had it.{tested} {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, [summary_row(best) for best in content["best"]]),
    ]
    return Text(lines)


def _search_row(key: str, fit: dict[str, Any]) -> tuple[Value, ...]:
    name, seed = key.split(" / seed ")
    scores = (Quantity(100 * fit[score]) for score in ("f1_at_0.5", "f1_tuned", "f1_rule"))
    ratio = "–" if fit["implicit_ratio"] is None else Quantity(fit["implicit_ratio"], form=".3g")
    failed = "–" if fit["implicit_ratio"] is None else Quantity(100 * fit["solver_failed"], form=".0f", note="%")
    return (name, seed, *scores, fit["epochs"], ratio, failed, Quantity(fit["seconds"], form=".0f"))


def cost_section(path: Path) -> str:
    """The file of :mod:`enstruct_bench.costs.bilevel_step`."""
    content = json.loads(path.read_text(encoding="utf-8"))
    flops = content["gflop"]
    lines = [
        f"## Cost of a batch under each coupling (`{path.name}`)",
        "",
        f"bibtex's shape, batch 32, on an idle machine. A Hessian product at batch 128, dense: {flops['product']:.2f} GFLOP, "
        f"a gradient {flops['gradient']:.2f}. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(
            ("method", "coupling", "ms", "times alternating"),
            [
                (row["method"], row["coupling"], Quantity(1e3 * row["step"], form=".1f"), Quantity(row["times_alternating"]))
                for row in content["rows"]
            ],
        ),
    ]
    return Text(lines)


def ablation_section(path: Path) -> str:
    """The file of :mod:`enstruct_bench.tuning.ablate_auto`: methods alone, the average of their seeds, averages of
    several methods."""
    content = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        f"## What to average: methods alone and together (`{path.name}`)",
        "",
        "Example-F1 on test rows under the rule chosen on validation rows. Averaged: mean marginals of a method's fits. Δ: to "
        f"the average of cross-entropy's, 95% by bootstrap over test rows. {where_it_ran(content['environment'])}",
        "",
    ]
    for name, ablated in content["sets"].items():
        averages = {tuple(line["members"]): line for line in ablated["averages"]}
        sizes = ", ".join(f"{part} {n}" for part, n in ablated["rows"].items())
        lines += [f"### {name}: {sizes}", ""]
        alone = [_alone(setting, fits, averages[setting,]) for setting, fits in ablated["alone"].items()]
        lines += markdown_table(("method", "fits", "alone", "averaged", "Δ", "s a fit"), alone)
        mixes = [line for line in ablated["averages"] if len(line["members"]) > 1][:SHOWN_AVERAGES]
        lines += [f"The {len(mixes)} averages of several methods that score highest on validation rows:", ""]
        lines += markdown_table(("average of", "validation", "test", "Δ"), [_mix(line) for line in mixes])
    return Text(lines)


def _alone(name: str, fits: dict[str, Any], average: dict[str, Any]) -> tuple[Value, ...]:
    seconds = sum(run["seconds"] for run in fits["runs"]) / len(fits["runs"])
    alone = mean_and_deviation([100 * run["test_f1"][run["rule"]] for run in fits["runs"]])
    return (name, len(fits["runs"]), alone, Quantity(100 * average["test"]), _gain(average), Quantity(seconds, form=".0f"))


def _mix(line: dict[str, Any]) -> tuple[Value, ...]:
    return (", ".join(line["members"]), Quantity(100 * line["validation"]), Quantity(100 * line["test"]), _gain(line))


def _gain(line: dict[str, Any]) -> Value:
    if line["gain"] is None:
        return "–"
    mean, low, high = line["gain"]
    return Quantity(mean, low=low, high=high)


def peers_section(path: Path) -> str:
    """A file of :mod:`enstruct_bench.costs.peers`."""
    content = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        f"## What fits take side by side (`{path.name}`)",
        "",
        "One fit each, seed 0, each in a process of its own on the same core; whole: from its start to its end, with imports, "
        "reading and answers, by the clock; MiB: its peak. Best rule: our decision rules, fitted on validation rows for all. "
        f"Times: whole, of {OURS}'s. Commit {', '.join(sorted({row['commit'] for row in content['rows']}))}. "
        f"{where_it_ran(content['environment'])}",
        "",
    ]
    titles = (
        "library",
        "whole s",
        "of the processor s",
        "fit s",
        "predict s",
        "MiB",
        "F1, its own decision",
        "F1, best rule",
        "times",
    )
    for data in dict.fromkeys(row["data"] for row in content["rows"]):
        rows = [row for row in content["rows"] if row["data"] == data]
        ours = next((row.get("seconds") for row in rows if row["side"] == OURS), None)
        lines += [f"{data}:", "", *markdown_table(titles, [_peer(row, ours) for row in rows])]
    return Text(lines)


OURS = "enstruct seal-nce"


def _peer(row: dict[str, Any], ours: float | None) -> tuple[Value, ...]:
    if "seconds" not in row:
        return (row["side"], f"more than {row['limit']:.0f}", *[""] * 7)
    return (
        row["side"],
        *(Quantity(row[name], form=".1f") for name in ("seconds", "processor_seconds", "fit_seconds")),
        Quantity(row["predict_seconds"]),
        Quantity(row["mib"], form=",.0f"),
        Quantity(100 * row["f1_own_decision"], form=".1f"),
        Quantity(100 * row["f1_best_rule"], form=".1f", note=f" ({row['rule']})"),
        "" if ours is None else Quantity(row["seconds"] / ours),
    )
