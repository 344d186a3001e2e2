"""What ``enstruct evaluate`` does; its options are declared in :mod:`enstruct.cli.parsers.evaluate`."""

from __future__ import annotations

from typing import Any

import numpy as np
from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli import options as shared
from enstruct.cli.inputs import label_columns, load_model, read_rows, same_source
from enstruct.cli.outputs import check_figures
from enstruct.cli.tables import say
from enstruct.files import write_json
from enstruct.metrics import (
    average_precision,
    calibration_error,
    example_f1,
    hamming_loss,
    macro_f1,
    micro_f1,
    subset_accuracy,
)

METRICS = {
    "example F1": example_f1,
    "micro F1": micro_f1,
    "macro F1": macro_f1,
    "Hamming loss": hamming_loss,
    "subset accuracy": subset_accuracy,
}


def run(options: Namespace) -> None:
    if options.json is not None:
        check_figures(options.json, options.overwrite, {"rows": int, "decision": str, "rules": dict})
    model = load_model(options.model)
    X, data = read_rows(model, options.data, shared.label_argument(options.labels), options.drop, labelled=True)
    truth = data.Y[:, label_columns(model.notes_["label_names"], data)]
    p = model.predict_proba(X)
    precision = average_precision(truth, p)
    figures: dict[str, Any] = {
        "rows": len(data),
        "decision": model.decision_,
        "average precision": None if np.isnan(precision) else precision,  # no label occurs, and JSON has no NaN
        "calibration error": calibration_error(truth, p),
        "rules": {},
    }
    table = Table("rule", *METRICS)
    for rule, predicted in model.predict_by_rule(X).items():
        scores = {name: metric(truth, predicted) for name, metric in METRICS.items()}
        figures["rules"][rule] = scores
        chosen = " (in force)" if rule == model.decision_ else ""
        table.add_row(rule + chosen, *(f"{100 * value:.2f}" for value in scores.values()))
    Console().print(table)
    say(f"{len(data)} rows; average precision {100 * precision:.2f}; calibration error {100 * figures['calibration error']:.2f}")
    if same_source(model.notes_, options.data):
        say("these are the rows it was trained on, those held out among them: this is no test")
    if options.json is not None:
        write_json(options.json, figures)
