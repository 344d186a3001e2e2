"""Every method of every task on every device there is: updates a second, the accelerator's use and memory.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.devices --out results/benchmark-devices.json [--tasks labels,tags,masks]
        [--devices cpu,cuda] [--methods all] [--epochs 2] [--encoder FOLDER] [--join FILES...]

Generated data of one size a task. A method is fitted once to warm up, on few rows, and once for its time: updates of both
networks over the seconds of the fit, judging after every epoch among them. Solvers make no updates and have no line. Of an
accelerator: the mean share of time in which it computed, as its driver samples it, and the most memory that tensors took. A
method that fails has the error in its line. With a pretrained encoder also documents a second: features of the frozen one, and of
training one that is tuned. ``--join`` measures nothing: the lines of files that tasks and devices left apart become one file.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger, TextEncoder
from enstruct.data.synthetic import ellipses
from enstruct.environment import environment
from enstruct.errors import EnstructError, shortened
from enstruct.files import write_json
from enstruct.tasks import TASKS
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.costs.tagging import sentences
from enstruct_bench.costs.text_encoder import documents

WORDS, DOCUMENTS = 300, 256
EVERY = 0.02
"""Seconds between two samples of the accelerator's use."""


class Work(NamedTuple):
    """``estimator(method, **parameters)`` and what it is fitted on; ``few``: rows enough to warm up."""

    estimator: Callable[..., Any]
    X: Any
    Y: Any
    few: int


def labels() -> Work:
    data = sparse_topics(1000, 500, 20, 3.0)
    return Work(EnergyMultiLabelClassifier, data.X, data.Y, 200)


def tags() -> Work:
    rows = sentences(400)
    ends = np.cumsum(rows.X.lengths)
    parts = [slice(end - n, end) for n, end in zip(rows.X.lengths, ends, strict=True)]
    words = [[f"w{number}" for number in rows.X.tokens[part, 1] % WORDS] for part in parts]
    return Work(EnergySequenceTagger, words, [[f"t{k}" for k in rows.Y.tags[part]] for part in parts], 60)


def masks() -> Work:
    return Work(EnergySegmenter, *ellipses(160), 32)


WORK: dict[str, Callable[[], Work]] = {"labels": labels, "tags": tags, "masks": masks}


@contextmanager
def watched(device: str) -> Iterator[dict[str, float]]:
    """What the accelerator did within the block: filled at its end, and left empty for a processor."""
    seen: dict[str, float] = {}
    if not device.startswith("cuda"):
        yield seen
        return
    samples: list[int] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(EVERY):
            samples.append(torch.cuda.utilization(device))

    torch.cuda.utilization(device)  # here, where its error is seen, if its driver's package (nvidia-ml-py) is not there
    torch.cuda.reset_peak_memory_stats(device)
    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()
        torch.cuda.synchronize(device)
        seen |= {"mib": torch.cuda.max_memory_allocated(device) / 2**20}
        if samples:
            seen |= {"use": float(np.mean(samples))}


def measured(work: Work, method: str, device: str, epochs: int) -> dict[str, Any]:
    """``updates_per_second`` and what :func:`watched` saw; or ``error``."""

    def new(epochs: int) -> Any:
        return work.estimator(method, device=device, max_epochs=epochs, n_iter_no_change=epochs, random_state=0)

    try:
        new(1).fit(work.X[: work.few], work.Y[: work.few])
        model = new(epochs)
        with watched(device) as seen:
            begin = time.perf_counter()
            model.fit(work.X, work.Y)
            seconds = time.perf_counter() - begin
    except (EnstructError, RuntimeError, ValueError, TypeError) as error:
        return {"error": f"{type(error).__name__}: {shortened(str(error), 200)}"}
    updates = sum(model.updates_.values())
    return {} if not updates else {"updates_per_second": updates / seconds, "seconds": seconds, **seen}


def measured_on_texts(folder: Path, tuning: str, device: str) -> dict[str, Any]:
    """``documents_per_second``: read ("frozen"), or trained on in one pass."""
    texts = documents(DOCUMENTS, 0)
    if tuning == "frozen":
        encoder = TextEncoder(folder, cache=False, device=device)
        encoder.features(texts[:32])
        with watched(device) as seen:
            begin = time.perf_counter()
            encoder.features(texts)
            seconds = time.perf_counter() - begin
        return {"documents_per_second": len(texts) / seconds, "seconds": seconds, **seen}
    labels = (np.arange(DOCUMENTS)[:, None] >> np.arange(3)) & 1
    encoder = TextEncoder(folder, tuning=tuning)
    fit_seconds = []
    for epochs in (1, 2):  # the second less the first is a pass, without what a fit costs once
        model = EnergyMultiLabelClassifier(
            "cross-entropy", encoder=encoder, device=device, max_epochs=epochs, random_state=0, early_stopping=False
        )
        with watched(device) as seen:
            begin = time.perf_counter()
            model.fit(texts, labels)
            fit_seconds.append(time.perf_counter() - begin)
    seconds = fit_seconds[1] - fit_seconds[0]
    return {"documents_per_second": len(texts) / seconds, "seconds": seconds, **seen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(WORK))
    parser.add_argument("--devices", default="cpu,cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--methods", default="all")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--encoder", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--join", type=Path, nargs="+", default=None)
    options = parser.parse_args()
    if options.join is not None:
        parts = [json.loads(path.read_text(encoding="utf-8")) for path in options.join]
        write_json(options.out, {**parts[0], "rows": [row for part in parts for row in part["rows"]]})
        return
    warnings.simplefilter("ignore")  # of so few epochs
    rows: list[dict[str, Any]] = []

    def note(row: dict[str, Any]) -> None:
        """At once, so that what fails later takes nothing along."""
        rows.append(row)
        print(row, flush=True)
        if options.out is not None:
            names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
            content = {"rows": rows, "accelerators": names, "commit": present_commit(), "environment": environment()}
            write_json(options.out, content)

    for task in options.tasks.split(","):
        work = WORK[task]()
        wanted = TASKS[task].methods if options.methods == "all" else options.methods.split(",")
        for method in (name for name in TASKS[task].methods if name in wanted):
            for device in options.devices.split(","):
                row = measured(work, method, device, options.epochs)
                if row:
                    note({"task": task, "method": method, "device": device, **row})
    for tuning in ("frozen", "adapter", "pfeiffer", "lora", "full") if options.encoder is not None else ():
        for device in options.devices.split(","):
            row = measured_on_texts(options.encoder, tuning, device)
            note({"task": "texts", "method": tuning, "device": device, **row})


if __name__ == "__main__":
    main()
