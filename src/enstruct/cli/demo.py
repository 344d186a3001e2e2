"""What ``enstruct demo`` does; its options are declared in :mod:`enstruct.cli.parsers.demo`."""

from __future__ import annotations

import time
from typing import Any

import torch
from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli.outputs import check_figures
from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import say
from enstruct.data.synthetic import block_exclusive
from enstruct.energies import EnergySpec
from enstruct.environment import environment
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.files import write_json
from enstruct.metrics import example_f1
from enstruct.plots.labels import measurement_matrix

METHODS: dict[str, dict[str, Any]] = {
    "binary-relevance": {},
    "mlp": {},
    "seal-nce": {"energy_network": EnergySpec(units=16, nonlinearity="hardtanh")},
}


def run(options: Namespace) -> None:
    figures, picture = options.out / "results.json", options.out / "measurement_matrix.png"
    check_figures(figures, options.overwrite, {"rows": int, "seed": int, "results": list}, beside=[picture])
    torch.set_num_threads(1)  # networks this small gain nothing from more, and on a busy machine threads wait for each other
    train, test = block_exclusive(options.rows, seed=options.seed), block_exclusive(5000, seed=options.seed + 1000)
    table = Table("model", "F1 @0.5", "F1 best rule", "rule", "F1 min. Bayes risk", "seconds", title="Block-exclusive labels")
    results = []
    for name, settings in METHODS.items():
        bar = EpochBar(name)
        begin = time.perf_counter()
        model = EnergyMultiLabelClassifier(name, random_state=options.seed, callbacks=[bar], **settings).fit(train.X, train.Y)
        seconds = time.perf_counter() - begin
        f1 = {rule: 100 * example_f1(test.Y, model.predict(test.X, decision=rule)) for rule in model.rules_}
        risk = f"{f1['bayes-risk']:.1f}" if "bayes-risk" in f1 else "–"
        table.add_row(name, f"{f1['fixed']:.1f}", f"{f1[model.decision_]:.1f}", model.decision_, risk, f"{seconds:.1f}")
        results.append(
            {"method": name, "example_f1": f1, "decision": model.decision_, "seconds": seconds, "epochs": model.n_iter_}
        )
    console = Console(width=100)
    console.print(table)
    measurement_matrix(model, train.label_names, train.Y, picture)
    content = {"rows": options.rows, "seed": options.seed, "environment": environment(), "results": results}
    write_json(figures, content)
    say(f"figures: {figures}   picture: {picture}")
