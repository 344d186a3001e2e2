"""A section of the results page: models of texts, from a file of :mod:`enstruct_bench.texts.compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

FIGURES = {"micro-f1": "micro F1", "macro-f1": "macro F1", "subset-accuracy": "exact sets", "half-told": "F1, half told"}
PAIRED = {"micro-f1": "Δ micro F1", "macro-f1": "Δ macro F1", "subset-accuracy": "Δ exact", "half-told": "Δ half told"}
TITLES = ("side", *FIGURES.values(), "log-loss", *PAIRED.values(), "fit s", "seeds", "on", "commit")


def texts_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    first, *others = content["differences"] or [""]
    for side in dict.fromkeys(row["side"] for row in content["rows"]):
        runs = [row for row in content["rows"] if row["side"] == side]
        away = content["differences"].get(first, {}).get(side, {})
        rows.append(
            [
                side,
                *(_mean(runs, key) for key in (*FIGURES, "log-loss")),
                *(_interval(away.get(key)) for key in PAIRED),
                Quantity(float(np.mean([run["fit_seconds"] for run in runs])), form=".1f"),
                len(runs),
                ", ".join(dict.fromkeys(str(run.get("device", "")) for run in runs)),
                ", ".join(dict.fromkeys(str(run["commit"]) for run in runs)),
            ]
        )
    sizes = sorted({run["documents"] for run in content["rows"]})
    documents = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    shots = content.get("shots")
    few = "" if shots is None else f", drawn until every label has {shots} or all that there are, to choose on among them"
    of_older = "a fourth as many" if content.get("few") is None else "a fifth of all that the collection has to train on"
    held = content.get("chosen_on") or of_older
    chosen = {run["side"]: f"{run['base']}; energy {run['energy']}" for run in content["rows"] if "base" in run}
    lines = [
        f"## {content['data']}: texts (`{path.name}`)",
        "",
        f"{documents} training documents{few}, {held} to choose on; encoder {content['encoder']}, "
        f"{content['max_tokens']} tokens at most. "
        "Each metric under the rule that is best for it on the documents held out. Half told: example-F1 of the "
        "labels that are not told once half of each document's are, by the joint's conditionals, or by marginals. Log-loss: the "
        "sum over labels, in nats a document. Neither of svm, whose scores are no probabilities. "
        f"Δ: points above {first or 'nobody'}, 95% by bootstrap over seeds and "
        "documents, of one seed over documents alone. Seconds are with other work on the machine, without features of the "
        "frozen encoder. "
        f"{where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    for other in others:
        lines += ["", *(f"- {side} against {other}: {_sentence(away)}" for side, away in content["differences"][other].items())]
    others_read = {run["side"]: run["encoder"] for run in content["rows"] if "encoder" in run}
    if others_read:
        lines += ["", "By another encoder: " + "; ".join(f"{side}: {encoder}" for side, encoder in others_read.items()) + "."]
    if content.get("left_out"):
        lines += ["", f"Left out in the last run, as what they need was not installed: {', '.join(content['left_out'])}."]
    if chosen:
        each = "; ".join(f"{side}: {what}" for side, what in chosen.items())
        lines += ["", f"Chosen by the defaults, last seed: {each}.", ""]
    return Text(lines)


def _mean(runs: list[dict[str, Any]], key: str) -> Value:
    if any(key not in run for run in runs):
        return ""
    return Quantity(float(np.mean([run[key] for run in runs])), form=".2f")


def _sentence(away: dict[str, list[float]]) -> str:
    return ", ".join(f"{PAIRED[key].removeprefix('Δ ')} {_interval(value)}" for key, value in away.items())


def _interval(value: list[float] | None) -> str:
    return "" if value is None else "{:+.2f} [{:+.2f}, {:+.2f}]".format(*value)
