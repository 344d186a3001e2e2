"""Runs the cells of a table that are not finished yet, one after another, within a budget."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from enstruct.comparison.run import ResultsFile, environment, run_cell
from enstruct.data.splits import Splits
from enstruct.errors import ConfigError, DataError, DatasetNotFoundError, unknown_name
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.estimators.persistence import encode_parameter
from enstruct.reproduce.protocols import load_rows, settings
from enstruct.reproduce.store import Key, Store, present_commit
from enstruct.reproduce.tables import PROTOCOLS, LabelTable, Protocol
from enstruct.training.callbacks import Callback

Bar = Callable[[str], list[Callback]]


def plan(
    table: LabelTable, datasets: Sequence[str], protocols: Sequence[Protocol], methods: Sequence[str], seeds: int
) -> Iterator[Key]:
    """The cells in the order in which they are run: all methods of a seed, then the next: an early end is a fair table."""
    for dataset in datasets:
        for protocol in protocols:
            for seed in range(seeds):
                for method in methods:
                    if has_settings(table, dataset, protocol, method):
                        yield Key(dataset, protocol, method, seed)


def has_settings(table: LabelTable, dataset: str, protocol: Protocol, method: str) -> bool:
    try:
        settings(table, dataset, protocol, method)
    except ConfigError:
        return False
    return True


def check_choice(table: LabelTable, datasets: Sequence[str], protocols: Sequence[str]) -> tuple[list[str], list[Protocol]]:
    """What is asked for, or by default all that can run here. ConfigError, DataError."""
    for name in datasets:
        if name not in table.datasets:
            raise unknown_name(f"data set of {table.name}", name, table.datasets)
        if name in table.absent:
            raise DataError(f"{name} cannot run here: {table.absent[name]}.")
    for protocol in protocols:
        if protocol not in table.protocols:
            raise unknown_name(f"protocol of {table.name}", protocol, table.protocols)
    chosen: list[Protocol] = [p for p in PROTOCOLS if p in (protocols or table.protocols)]
    return list(datasets) or [name for name in table.datasets if name not in table.absent], chosen


def run(
    table: LabelTable,
    store: Store,
    keys: Sequence[Key],
    minutes: float | None,
    bar: Bar,
    say: Callable[[str], None] = lambda text: None,
    needed: bool = True,
) -> int:
    """Make the runs that are missing; returns how many were made. What is finished stays, whatever happens to the next.

    A run that took longer last time than what is left of the budget is not begun. ConfigError if not even the first fits. A data
    set that is not there is an error if it is ``needed``, else passed over with a word.
    """
    missing = [key for key in keys if key not in store.runs]
    end = None if minutes is None else time.monotonic() + 60 * minutes
    made, loaded, commit = 0, ("", ""), present_commit()
    splits: list[Splits] = []
    absent: set[str] = set()
    for key in missing:
        left = None if end is None else end - time.monotonic()
        expected = _expected(store, key)
        if left is not None and (left <= 0 or expected > left):
            if not made:
                raise ConfigError(
                    f"The budget of {minutes:g} minutes is too small for one run: {key} took {expected:.0f} s last time. "
                    "Raise --budget; nothing is lost."
                )
            say(f"the budget is spent; {len(missing) - made} runs are left: run the command again to go on")
            break
        if key.dataset in absent:
            continue
        if loaded != (key.dataset, key.protocol):
            try:
                splits = load_rows(table, key.dataset, key.protocol)  # type: ignore[arg-type]
            except DatasetNotFoundError as error:
                if needed:
                    raise
                say(f"{key.dataset} is passed over: {error}")
                absent.add(key.dataset)
                continue
            loaded = (key.dataset, key.protocol)
        _make(table, store, key, splits, bar, commit)
        made += 1
    return made


def _make(table: LabelTable, store: Store, key: Key, splits: list[Splits], bar: Bar, commit: str | None) -> None:
    given = settings(table, key.dataset, key.protocol, key.method)  # type: ignore[arg-type]
    if len(splits) > 1 and key.seed >= len(splits):
        raise ConfigError(f"{table.name} has {len(splits)} folds; there is no fold {key.seed}.")
    begin = time.perf_counter()
    cell = run_cell(key.method, splits[key.seed if len(splits) > 1 else 0], key.seed, given, bar(str(key)))
    cell.record["seconds"] = time.perf_counter() - begin
    cell.record["test_rows"] = len(splits[0].test)
    store.add(key, cell, {name: encode_parameter(name, value) for name, value in given.items()}, environment(), commit)


def _expected(store: Store, key: Key) -> float:
    """Seconds that the same cell took with another seed; 0 where nothing is known."""
    same = [run.line.get("seconds", 0.0) for other, run in store.runs.items() if other[:3] == key[:3]]
    return max(same, default=0.0)


def adopt(table: LabelTable, store: Store, path: Path) -> int:
    """Take finished cells of a file of ``enstruct compare`` into the fair protocol; returns how many were new.

    DataError unless the file has the data set, the split and the settings of the table.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    setting = content["setting"]
    dataset = str(setting["data"]).removesuffix(".npz")
    if dataset not in table.datasets or setting.get("split", "auto") != table.split or setting["split_seed"] != 0:
        raise DataError(f"{path} has other data or another split than {table.name}: {dataset}, {setting.get('split', 'auto')}.")
    defaults = json.loads(json.dumps(EnergyMultiLabelClassifier().get_params()))
    expected = {**defaults, **settings(table, dataset, "fair", "cross-entropy")}
    differs = [k for k, v in setting["model"].items() if k not in ("method", "random_state", "device") and v != expected.get(k)]
    if differs:
        raise DataError(f"{path} was run with another {', '.join(differs)} than {table.name}'s fair protocol.")
    cells, new = ResultsFile(path, setting, setting["model"]).cells, 0
    for (method, seed), cell in cells.items():
        key = Key(dataset, "fair", method, seed)
        if key not in store.runs:
            given = settings(table, dataset, "fair", method)
            record = {**cell.record, "seconds": cell.record["fit_seconds"], "test_rows": setting["rows"]["test"]}
            record["adopted_from"] = path.name
            cell.record.update(record)
            store.add(key, cell, given, setting["environment"], None, write=False)
            new += 1
    store.write()
    return new
