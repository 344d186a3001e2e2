"""Several processes at one place at the same time: a model's folder, results files, kept features, answers, a folder of arrays.

Each process does its turns as fast as it can while the others do theirs; readers look on. In the end nothing may be lost that was
said to be kept, and nobody may ever have met a half.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct import EnergyMultiLabelClassifier
from enstruct.data.dataset import Dataset
from enstruct.data.on_disk import read_on_disk, write_on_disk
from enstruct.data.rows import as_indicator
from enstruct.encoders.text import feature_cache
from enstruct.errors import DataError, SaveError
from enstruct.files import write_json
from enstruct.metrics import Counts
from enstruct.workbench.journal import Journal
from enstruct_bench.campaigns.processes import Process
from enstruct_bench.campaigns.tiny import table
from enstruct_bench.campaigns.trial import ACCEPTED, DEFECT
from enstruct_bench.campaigns.victims import HEADER, models
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.reproduce.store import Key, Store

PROCESSES = 4
WHERE = {"enstruct": "0.2.0", "torch": "2", "python": "3", "processor": "x", "machine": "y"}
Begin = Callable[[Path, int], Callable[[int], None]]
"""(the place, the process's number) -> a turn, by its number; it raises for what should not be."""


def campaign(turns: int, seed: int, kinds: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """So many turns, shared among the kinds and processes; what became of each, as :mod:`.command` counts it."""
    torch.set_num_threads(1)  # more would not live through a fork
    asked = [*(kinds or KINDS)]
    for kind in asked:
        each = max(1, turns // len(asked) // PROCESSES)
        with tempfile.TemporaryDirectory() as folder:
            for why in _raced(kind, Path(folder), each, seed):
                found = {"group": kind, "verdict": DEFECT if why else ACCEPTED, "why": why}
                yield {"number": 0, "change": f"{PROCESSES} processes", "seconds": 0.0, "peak": 0, "size": 0, **found}


def _raced(kind: str, folder: Path, turns: int, seed: int) -> Iterator[str]:
    """For every turn what is wrong with it; nothing where it is well."""
    prepare, begin, check = KINDS[kind]
    place = folder / "place"
    place.mkdir()
    prepare(place)
    start = time.monotonic() + 0.5

    def work(number: int) -> int:
        rng = random.Random(f"race {kind} {seed} {number}")
        turn = begin(place, number)
        time.sleep(max(0.0, start - time.monotonic()))
        for k in range(turns):
            try:
                turn(k)
                said = ""
            except Exception as error:
                said = f"{type(error).__name__}: {error}".replace("\n", " ")
            print(json.dumps(said), flush=True)
            if rng.random() < 0.1:
                time.sleep(rng.uniform(0, 0.005))
        return 0

    processes = []
    for number in range(PROCESSES):
        own = folder / f"process-{number}"
        own.mkdir()
        processes.append(Process(lambda n=number: work(n), own))  # type: ignore[misc]
    for process in processes:
        code = process.ended()
        lines = process.lines()
        yield from (json.loads(line) for line in lines)
        if code != 0 or len(lines) != turns:
            yield f"a process ends with {code} after {len(lines)} turns: {process.errors()[-200:]}"
    if wrong := check(place, turns):
        yield wrong


def _nothing(place: Path) -> None:
    """To prepare."""


# -- one model's folder: two processes save, two load --------------------------------------------------


def _save_one(place: Path) -> None:
    models()[0].save(place / "model")


def _save_or_load(place: Path, number: int) -> Callable[[int], None]:
    both, (X, _) = models(), table()
    own = [model.predict_proba(X) for model in both]

    def save(k: int) -> None:
        both[(k + number) % 2].save(place / "model")

    def load(k: int) -> None:
        answer = EnergyMultiLabelClassifier.load(place / "model").predict_proba(X)
        if not any(np.array_equal(answer, each) for each in own):
            raise ValueError("a model that is neither of the two")

    return save if number % 2 else load


def _only(name: str) -> Callable[[Path, int], str]:
    def check(place: Path, turns: int) -> str:
        odd = sorted(path.name for path in place.iterdir() if path.name != name)
        return f"{', '.join(odd)} is left behind" if odd else ""

    return check


# -- results ------------------------------------------------------------------------------------------


def _add_cells(place: Path, number: int) -> Callable[[int], None]:
    file = ResultsFile(place / "results.json", {"data": "mine"}, {})

    def turn(k: int) -> None:
        seed = k * PROCESSES + number
        file.run("dvn", seed, lambda: Cell({"method": "dvn", "seed": seed}, {"fixed": Counts.of(np.full(20, seed / 10_000))}))

    return turn


def _all_cells(place: Path, turns: int) -> str:
    cells = ResultsFile(place / "results.json", {"data": "mine"}, {}).cells
    lost = turns * PROCESSES - len(cells)
    wrong = [seed for (_, seed), cell in cells.items() if not np.allclose(cell.rows["fixed"].above, seed / 10_000)]
    return f"{lost} cells are lost" if lost else f"cells {wrong[:5]} have scores of others" if wrong else ""


def _add_runs(place: Path, number: int) -> Callable[[int], None]:
    store = Store(place, "table")

    def turn(k: int) -> None:
        seed = k * PROCESSES + number
        cell = Cell({"seconds": 1.0}, {"fixed": Counts.of(np.full(20, seed / 10_000))})
        store.add(Key("mine", "fair", "dvn", seed), cell, {}, dict(WHERE), None)

    return turn


def _all_runs(place: Path, turns: int) -> str:
    store = Store(place, "table")
    runs = [*store.runs.values(), *store.elsewhere]
    wrong = [run.key.seed for run in runs if not np.allclose(run.rows["fixed"].above, run.key.seed / 10_000)]
    lost = turns * PROCESSES - len(runs)
    return f"{lost} runs are lost" if lost else f"runs {wrong[:5]} have scores of others" if wrong else ""


def _write_or_read(place: Path, number: int) -> Callable[[int], None]:
    path = place / "figures.json"

    def write(k: int) -> None:
        write_json(path, {"by": number, "numbers": [number] * 5000})

    def read(k: int) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["numbers"] != [content["by"]] * 5000:
            raise ValueError("half of one and half of another")

    return write if number % 2 else read


# -- features of texts --------------------------------------------------------------------------------

FEATURES = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)


def _features(place: Path, number: int) -> Callable[[int], None]:
    rng = random.Random(number)

    def turn(k: int) -> None:
        rows = rng.sample(range(len(FEATURES)), 100)
        at = {f"text {row}": row for row in rows}
        if k % 5 == 0 and number == 0:
            shutil.rmtree(place / "cache", ignore_errors=True)
        out = feature_cache.kept("an encoder", [*at], 4, place / "cache", lambda some: FEATURES[[at[text] for text in some]])
        if not np.array_equal(out, FEATURES[rows]):
            raise ValueError("features are others than the texts have")

    return turn


# -- answers: one has the file, the others are told so --------------------------------------------------


def _tell(place: Path, number: int) -> Callable[[int], None]:
    said = place / f"said-{number}"

    def turn(k: int) -> None:
        try:
            journal = Journal(place / "answers.jsonl", HEADER)
        except SaveError as error:
            if "open in another" not in str(error):
                raise
            return
        try:
            name = f"p{number}-{k}"
            journal.tell(name, f"tab{number}", k % 1000, {"calm": k % 2 == 0}, False)
            with said.open("a", encoding="utf-8") as file:
                file.write(f"{name}\n")
        finally:
            journal.close()

    return turn


def _all_answers(place: Path, turns: int) -> str:
    if not (place / "answers.jsonl").exists():
        return "nobody got the file of answers"
    journal = Journal.read(place / "answers.jsonl")
    said = [name for path in place.glob("said-*") for name in path.read_text(encoding="utf-8").split()]
    lost = [name for name in said if not journal.knows(name)]
    return f"{len(lost)} answers are lost" if lost or len(journal) != len(said) else ""


# -- a folder of arrays --------------------------------------------------------------------------------


def _arrays(number: int) -> Dataset:
    X = np.full((50, 3), float(number), dtype=np.float32)
    return Dataset(X, as_indicator(np.ones((50, 2))), ("a", "b", "c"), ("calm", "sad"))


def _write_arrays(place: Path) -> None:
    write_on_disk(place / "arrays", _arrays(1))


def _arrays_or_read(place: Path, number: int) -> Callable[[int], None]:
    def write(k: int) -> None:
        write_on_disk(place / "arrays", _arrays(number))

    def read(k: int) -> None:
        for _ in range(50):
            try:
                values = np.asarray(read_on_disk(place / "arrays").X.read())
            except DataError:  # replaced between two of its files: what is there then is whole
                continue
            if not (values == values[0, 0]).all():
                raise ValueError("half of one and half of another")
            return
        raise ValueError("no whole folder in fifty readings")

    return write if number % 2 else read


KINDS: dict[str, tuple[Callable[[Path], None], Begin, Callable[[Path, int], str]]] = {
    "a model's folder": (_save_one, _save_or_load, _only("model")),
    "a results file": (_nothing, _add_cells, _all_cells),
    "a table's store": (_nothing, _add_runs, _all_runs),
    "a file of figures": (
        lambda place: write_json(place / "figures.json", {"by": 1, "numbers": [1] * 5000}),
        _write_or_read,
        _only("figures.json"),
    ),
    "kept features": (_nothing, _features, lambda place, turns: ""),
    "a file of answers": (_nothing, _tell, _all_answers),
    "a folder of arrays": (_write_arrays, _arrays_or_read, _only("arrays")),
}
"""What is done before, by each process, and what is wrong in the end."""
