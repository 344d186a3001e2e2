"""What ``enstruct evaluate`` does; its options are declared in :mod:`enstruct.cli.parsers.evaluate`."""

from __future__ import annotations

from typing import Any

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli.outputs import check_figures, check_free
from enstruct.cli.tables import counted, say
from enstruct.cli.task_files import TaskFiles, files_of
from enstruct.cli.which_task import task_of_model
from enstruct.files import write_json


def run(options: Namespace) -> None:
    files = files_of(task_of_model(options.model))
    parts = files.task.parts
    if options.json is not None:
        check_figures(options.json, options.overwrite, {parts: int, "rules": dict})
    if options.pictures is not None:
        check_free([options.pictures / name for name in files.pictures], options.overwrite)
    model = files.load(options)
    data = files.read(model, options)
    if options.pictures is not None:
        _draw(files, model, data, options)
    truth, metrics = files.truth(model, data), files.metrics(model, data)
    rules: dict[str, dict[str, Any]] = {}
    table = Table("rule", *metrics)
    for rule, predicted in files.by_rule(model, data):
        scores = {name: files.score(model, metric, truth, predicted) for name, metric in metrics.items()}
        rules[rule] = {**scores, **files.details(model, truth, predicted)}
        in_force = " (in force)" if rule == model.decision_ else ""
        table.add_row(rule + in_force, *map(_percent, scores.values()))
    Console().print(table)
    for rule, figures in rules.items():
        for name in figures.keys() - metrics.keys():
            say(f"{name}, {rule}: {', '.join(map(_percent, figures[name]))}")
    if remark := files.remark(model, truth):
        say(remark)
    whole = files.whatever_the_rule(model, data, truth)
    say("; ".join([counted(files.counts(data)), *(f"{name} {_figure(name, value)}" for name, value in whole.items())]))
    if files.was_trained_on(model, options):
        say(f"these are the {parts} it was trained on, those held out among them: this is no test")
    if options.json is not None:
        write_json(options.json, {**files.counts(data), "decision": model.decision_, **whole, "rules": rules})


IN_NATS = {"log-loss"}
"""Figures that are no shares."""


def _figure(name: str, value: float | None) -> str:
    return _percent(value) if value is None or name not in IN_NATS else f"{value:.4f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f}"


def _draw(files: TaskFiles, model: Any, data: Any, options: Namespace) -> None:
    drawings = files.draw(model, data, options)
    for name, draw in drawings.items():
        draw(options.pictures / name)
    missing = [name for name in files.pictures if name not in drawings]
    if drawings:
        say(f"pictures in {options.pictures}: {', '.join(drawings)}")
    if missing:
        say(f"not drawn, as this model's energy has no such term: {', '.join(missing)}")
