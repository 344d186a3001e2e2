"""What ends a published row early, patience or the halving of its rates: both of either, told apart.

    OMP_NUM_THREADS=1 python -m enstruct_bench.reproduce.patience cal500 --method dvn --out results/patience-cal500.json

Under the published settings of :mod:`enstruct_bench.reproduce.protocols` a stage ends after 20 epochs without a better score, and
rates are halved after every third of them. Here each is kept or lifted by itself: all epochs or patience, rates halved at the
same places or constant. Finished fits are kept: running the command again goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.label_comparison import LABEL_COMPARISON
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.comparison.run import run_cell
from enstruct_bench.comparison.whereabouts import whereabouts
from enstruct_bench.reproduce.protocols import load_rows, method_of, settings
from enstruct_bench.reproduce.seal_settings import EPOCHS, PATIENCE, SEAL_SETTINGS
from enstruct_bench.reproduce.tables import SEAL_2

if TYPE_CHECKING:
    from enstruct.training.loop import Loop

ENDS = {"patience": PATIENCE, "all epochs": EPOCHS}
RATES = {"halved": max(1, PATIENCE // 3), "constant": None}
"""Epochs without a better score after which rates are halved."""


class Rates(Callback):
    """Rates that are halved after every ``plateau`` epochs without a better score, or never, whatever the loop does."""

    def __init__(self, plateau: int | None) -> None:
        self.plateau, self.halvings = plateau, 0
        self.first: dict[tuple[str, int], float] = {}

    def on_batch_end(self, loop: Loop) -> None:
        if not self.first:
            self.first = {place: group["lr"] for place, group in self._groups(loop)}

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None:
        stale = loop.progress.stale(next(iter(loop.progress.best)))
        self.halvings += bool(self.plateau and stale and stale % self.plateau == 0)
        for place, group in self._groups(loop):
            group["lr"] = self.first[place] * 0.5**self.halvings

    def _groups(self, loop: Loop) -> list[tuple[tuple[str, int], dict[str, Any]]]:
        return [
            ((name, number), group)
            for name, optimizer in loop.game.optimizers.items()
            for number, group in enumerate(optimizer.param_groups)
        ]


def fit(data: str, method: str, end: str, rates: str, seed: int) -> dict[str, Any]:
    """One fit of a row of one stage: F1 of test rows at 0.5 and under the tuned threshold, in percent."""
    parameters = settings(SEAL_2, data, "published", method) | {"n_iter_no_change": ENDS[end]}
    begin, row = time.perf_counter(), method_of(SEAL_2, "published", method)
    cell = run_cell(LABEL_COMPARISON, row, load_rows(SEAL_2, data, "published")[0], seed, parameters, [Rates(RATES[rates])])
    scores = cell.record["example_f1"]
    return {
        "end": end,
        "rates": rates,
        "seed": seed,
        "at 0.5": 100 * scores["fixed"],
        "tuned": 100 * scores["threshold"],
        "commit": present_commit(),
        "epochs": cell.record["epochs"],
        "seconds": time.perf_counter() - begin,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=[name for name, of in SEAL_SETTINGS.items() if "dvn" in of])
    parser.add_argument("--method", default="dvn", choices=["dvn", "cross-entropy"], help="a row of one stage")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    content = {"data": options.data, "method": options.method, "published": SEAL_2.rows[options.method][options.data], "rows": []}
    if options.out.exists():
        kept = json.loads(options.out.read_text(encoding="utf-8"))
        if any(kept[name] != content[name] for name in ("data", "method")):
            parser.error(f"{options.out} is of {kept['method']} on {kept['data']}: give another file.")
        if whereabouts(kept["environment"]) != whereabouts(environment()):
            parser.error(f"{options.out} is of another version or machine: give another file.")
        content = kept
    content |= {"environment": environment()}
    made = {(row["end"], row["rates"], row["seed"]) for row in content["rows"]}
    for seed in range(options.seeds):
        for end in ENDS:
            for rates in RATES:
                if (end, rates, seed) not in made:
                    content["rows"].append(fit(options.data, options.method, end, rates, seed))
                    write_json(options.out, content)
                    print(content["rows"][-1], flush=True)


if __name__ == "__main__":
    main()
