"""Runs the cells of a table that are not finished yet, one after another, within a budget."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast

from enstruct.comparison.run import ResultsFile, check_method, environment, make_estimator, run_cell
from enstruct.data.splits import Splits
from enstruct.errors import ConfigError, DataError, DatasetNotFoundError, unknown_name
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.estimators.members import TRAINED
from enstruct.estimators.persistence import encode_parameter
from enstruct.methods import METHODS
from enstruct.reproduce.protocols import load_rows, settings
from enstruct.reproduce.store import Key, Store, present_commit
from enstruct.reproduce.tables import PROTOCOLS, LabelTable, Protocol
from enstruct.training.callbacks import Callback

Bar = Callable[[str], list[Callback]]


def plan(
    table: LabelTable, datasets: Sequence[str], protocols: Sequence[Protocol], methods: Sequence[str], seeds: int
) -> Iterator[Key]:
    """The cells in the order in which they are run: all methods of a seed, then the next: an early end is a fair table."""
    if seeds < 1:
        raise ConfigError(f"--seeds must be at least 1, not {seeds}.")
    number = int(table.split.partition("-")[0]) if table.split.endswith("-fold") else seeds
    for method in methods:
        check_method(method)
    for dataset in datasets:
        for protocol in protocols:
            for seed in range(number):
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
    """What is asked for, or by default everything. ConfigError."""
    for name in datasets:
        if name not in table.datasets:
            raise unknown_name(f"data set of {table.name}", name, table.datasets)
    for protocol in protocols:
        if protocol not in table.protocols:
            raise unknown_name(f"protocol of {table.name}", protocol, table.protocols)
    chosen: list[Protocol] = [p for p in PROTOCOLS if p in (protocols or table.protocols)]
    return list(datasets) or list(table.datasets), chosen


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
    check_settings(table, store)
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
                took = f"{key} took {expected:.0f} s last time" if expected else f"{key} cannot even begin"
                raise ConfigError(
                    f"The budget of {minutes:g} minutes is too small for one run: {took}. Raise --budget; nothing is lost."
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
        store.refresh()
        if key in store.runs:  # another process has made it meanwhile
            continue
        _make(table, store, key, splits, bar, commit)
        made += 1
    return made


def _make(table: LabelTable, store: Store, key: Key, splits: list[Splits], bar: Bar, commit: str | None) -> None:
    given = settings(table, key.dataset, key.protocol, key.method)  # type: ignore[arg-type]
    begin = time.perf_counter()
    cell = run_cell(key.method, splits[key.seed if len(splits) > 1 else 0], key.seed, given, bar(str(key)))
    cell.record["seconds"] = time.perf_counter() - begin
    cell.record["test_rows"] = len(splits[key.seed if len(splits) > 1 else 0].test)
    cell.record["parameters"] = parameters(key.method, given)
    store.add(key, cell, encoded(given), environment(), commit)


def encoded(given: dict[str, Any]) -> dict[str, Any]:
    """Settings as a line keeps them."""
    return cast(dict[str, Any], json.loads(json.dumps({name: encode_parameter(name, value) for name, value in given.items()})))


def parameters(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """All that a run of these settings is made with, defaults too, so that a default changed later is noticed."""
    estimator = make_estimator(method, 0, given)
    found = encoded(
        {k: v for k, v in estimator.get_params(deep=False).items() if k not in ("random_state", "callbacks", "device")}
    )
    names = [method] if isinstance(estimator, EnergyMultiLabelClassifier) else estimator.methods or TRAINED
    return found | {f"{name}: {entry}": value for name in names for entry, value in described(METHODS[name]).items()}


def described(value: Any, prefix: str = "") -> dict[str, Any]:
    """Entries of a declaration made of dataclasses, as "predictor_loss.energy_weight"; functions by their names."""
    found: dict[str, Any] = {}
    for field in fields(value):
        entry = getattr(value, field.name)
        if is_dataclass(entry):
            found |= described(entry, f"{prefix}{field.name}.")
        else:
            found[prefix + field.name] = entry if isinstance(entry, int | float) else getattr(entry, "__name__", str(entry))
    return found


def check_settings(table: LabelTable, store: Store) -> None:
    """DataError if finished runs have other settings than the table declares now, or than the defaults are now.

    They must not be averaged with new ones. A parameter younger than a run had its default then.
    """
    declared: dict[tuple[str, ...], tuple[dict[str, Any], dict[str, Any]]] = {}
    for key, run in store.runs.items():
        if key.dataset in table.datasets and has_settings(table, key.dataset, key.protocol, key.method):  # type: ignore[arg-type]
            if key[:3] not in declared:
                given = settings(table, key.dataset, key.protocol, key.method)  # type: ignore[arg-type]
                declared[key[:3]] = encoded(given), parameters(key.method, given)
            now, whole = declared[key[:3]]
            then = run.line.get("parameters", {})
            if run.line["settings"] != now or any(whole.get(name) != value for name, value in then.items()):
                differs = sorted(name for name, value in then.items() if whole.get(name) != value) or run.line["settings"]
                raise DataError(
                    f"{store.path}: the run {key} has other settings ({differs}) than {table.name} declares by now ({now}). "
                    "Move the file away, or undo the change."
                )


def _expected(store: Store, key: Key) -> float:
    """Seconds that the same cell took with another seed; 0 where nothing is known."""
    same = [run.line.get("seconds", 0.0) for other, run in store.runs.items() if other[:3] == key[:3]]
    return max(same, default=0.0)


def adopt(table: LabelTable, store: Store, path: Path) -> int:
    """Take finished cells of a file of ``enstruct compare`` into the fair protocol; returns how many were new.

    DataError unless the file has the data set, the split and the settings of the table.
    """
    check_settings(table, store)
    try:
        setting = json.loads(path.read_text(encoding="utf-8"))["setting"]
        setting["data"], setting["model"], setting["split_seed"], setting["rows"]["test"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is no results file of enstruct compare ({error}).") from error
    dataset = str(setting["data"]).removesuffix(".npz")
    if dataset not in table.datasets or setting.get("split", "auto") != table.split or setting["split_seed"] != 0:
        raise DataError(f"{path} has other data or another split than {table.name}: {dataset}, {setting.get('split', 'auto')}.")
    defaults = json.loads(json.dumps(EnergyMultiLabelClassifier().get_params()))
    expected = {**defaults, **settings(table, dataset, "fair", "cross-entropy")}
    differs = [k for k, v in setting["model"].items() if k not in ("method", "random_state", "device") and v != expected.get(k)]
    if differs:
        raise DataError(f"{path} was run with another {', '.join(differs)} than {table.name}'s fair protocol.")
    runs = []
    for (method, seed), cell in ResultsFile(path, setting, setting["model"]).cells.items():
        cell.record |= {"seconds": cell.record["fit_seconds"], "test_rows": len(cell.rows["chosen"]), "adopted_from": path.name}
        key, given = Key(dataset, "fair", method, seed), encoded(settings(table, dataset, "fair", method))
        runs.append(store.line(key, cell, given, setting["environment"], None))
    return store.add_all(runs)
