"""Runs the cells of a table that are not finished yet, one after another, within a budget."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from enstruct.data.splits import Splits
from enstruct.declarations import described
from enstruct.environment import environment
from enstruct.errors import ConfigError, DataError, DatasetNotFoundError, DivergenceError, unknown_name
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.saved_values import encode_parameter
from enstruct.methods import Method
from enstruct.records import read_record
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.fingerprint import fingerprint_of
from enstruct_bench.comparison.label_comparison import AUTO_MINUTES, AUTOMATIC, LABEL_COMPARISON
from enstruct_bench.comparison.locks import claimed, locked
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.comparison.results_file import ResultsFile
from enstruct_bench.comparison.run import run_cell
from enstruct_bench.comparison.whereabouts import Where, parts_of
from enstruct_bench.reproduce.defaults import SEEDS
from enstruct_bench.reproduce.protocols import check_present, load_rows, method_of, settings
from enstruct_bench.reproduce.store import Key, Run, Store
from enstruct_bench.reproduce.table import PROTOCOLS, LabelTable, Protocol
from enstruct_bench.reproduce.tables import TABLES

Bar = Callable[[str], list[Callback]]


def plan(
    table: LabelTable, datasets: Sequence[str], protocols: Sequence[Protocol], methods: Sequence[str], seeds: int | None
) -> Iterator[Key]:
    """The cells in the order in which they are run: all methods of a seed, then the next: an early end is a fair table.

    seeds : or folds or splits, at most as many as there are; None for SEEDS, or all of them.
    """
    if seeds is not None and seeds < 1:
        raise ConfigError(f"--seeds must be at least 1, not {seeds}.")
    most = None if table.tested == "same" else int(table.split.partition("-")[0])
    number = (seeds or SEEDS) if most is None else min(seeds or most, most)
    for method in methods:
        LABEL_COMPARISON.check(table.method(method))
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
    again: bool = False,
) -> int:
    """Make the runs that are missing; returns how many were made. What is finished stays, whatever happens to the next.

    Rows with runs made with other settings are passed over with a word, and a DataError where there are no others; ``again``:
    they are made anew, and each goes when the new one has ended, which is a ConfigError for those not among ``keys``. Two
    processes do not make the same run.

    A run that took longer last time than what is left of the budget is not begun. ConfigError if not even the first fits. A data
    set that is not there is an error before anything is run if it is ``needed``, else passed over with a word. Training that
    diverges is kept as such, and the next run begun.
    """
    with locked(store.path.with_suffix(".lock")):
        pass  # where nothing can be written, that is said before anything is run
    if again:
        check_all_asked(table, store, keys)
    else:
        keys = _as_declared(table, store, keys, say)
    if taken := borrow(table, store, keys):
        say(f"{taken} runs are those of other tables")
    if apart := {run.where for run in store.elsewhere if run.key in set(keys)}:
        say("; ".join(_apart(where, store.where) for where in sorted(apart)))
    missing = _reachable([key for key in keys if not _is_done(table, store, key)], say, needed)
    end = None if minutes is None else time.monotonic() + 60 * minutes
    made, loaded, commit = 0, ("", ""), present_commit(Path(__file__).parents[1])
    splits: Sequence[Splits] = []
    for number, key in enumerate(missing):
        if end is not None and not _fits(store, key, end - time.monotonic(), minutes, say, begun=number > 0):
            say(f"the budget is spent; {len(missing) - number} runs are left: run the command again to go on")
            break
        if loaded != (key.dataset, key.protocol):
            splits = load_rows(table, key.dataset, key.protocol)
            loaded = (key.dataset, key.protocol)
        with claimed(store.path.with_name(f".{table.name} {key}.lock".replace(":", " "))) as mine:
            store.refresh()
            if not mine:
                say(f"{key} is another process's work")
            elif not _is_done(table, store, key):  # by another process meanwhile
                made += _make(table, store, key, splits[key.seed if len(splits) > 1 else 0], bar, commit, say)
    return made


def _apart(there: Where, here: Where) -> str:
    other, mine = parts_of(there), parts_of(here)
    differing = ", ".join(f"{name} {other[name]} (here {mine[name]})" for name in mine if other[name] != mine[name])
    return f"runs made with {differing} are kept apart"


def _is_done(table: LabelTable, store: Store, key: Key) -> bool:
    """Finished, or known to diverge, as things are now."""
    run = store.runs.get(key) or store.diverged.get(key)
    return run is not None and not outdated(table, run)


def borrow(table: LabelTable, store: Store, keys: Sequence[Key]) -> int:
    """Take the runs that another table's file has of the same cells: same rows, settings and metric. Returns how many."""
    borrowed: dict[Key, Run] = {}  # a cell may stand in several tables
    for other in TABLES.values():
        if (
            isinstance(other, LabelTable)
            and (other.metric, other.split) == (table.metric, table.split)
            and other.name != table.name
        ):
            runs = Store(store.path.parent, other.name, store.where).runs
            for key in keys:
                old = store.runs.get(key)
                if key in runs and (old is None or outdated(table, old)) and not outdated(table, runs[key]):
                    borrowed[key] = Run({**runs[key].line, "table": table.name, "borrowed_from": other.name}, runs[key].rows)
    return store.add_all(borrowed.values(), replacing=True) if borrowed else 0


def _reachable(keys: Sequence[Key], say: Callable[[str], None], needed: bool) -> list[Key]:
    """Without the runs on sets that are not there."""
    absent: set[str] = set()
    for dataset in dict.fromkeys(key.dataset for key in keys):
        try:
            check_present(dataset)
        except DatasetNotFoundError as error:
            if needed:
                raise
            say(f"{dataset} is passed over: {error}")
            absent.add(dataset)
    return [key for key in keys if key.dataset not in absent]


def _fits(store: Store, key: Key, left: float, minutes: float | None, say: Callable[[str], None], begun: bool) -> bool:
    """Whether a run is likely to end in time. ConfigError if it does not and is the first."""
    expected = _expected(store, key)
    if left > 0 and expected <= left:
        if not expected:
            say(f"how long {key} takes is not known{_of_its_like(store, key)}: it is begun, and ends when it ends")
        return True
    if not begun:
        elsewhere = "" if _took(store.runs.values(), key) or _is_automatic(key) else ", as on another machine or version"
        took = f"{key} is expected to take {_seconds(expected)} s{elsewhere}" if expected else f"{key} cannot even begin"
        raise ConfigError(f"The budget of {minutes:g} minutes is too small for one run: {took}. Raise --budget; nothing is lost.")
    return False


def _make(
    table: LabelTable,
    store: Store,
    key: Key,
    rows: Splits,
    bar: Bar,
    commit: str | None,
    say: Callable[[str], None],
) -> bool:
    """Whether a run ended with figures; they, or why there are none, are on disk then, in the place of other settings'."""
    parameters = settings(table, key.dataset, key.protocol, key.method)
    method = method_of(table, key.protocol, key.method)
    made_with = {"of": declaration(method)}
    begin = time.perf_counter()
    try:
        cell = run_cell(LABEL_COMPARISON, method, rows, key.seed, parameters, bar(str(key)))
    except KeyboardInterrupt as end:
        end.add_note(f"finished runs are kept in {store.path}: the same command goes on")
        raise
    except DivergenceError as error:
        say(f"{key} diverged: {error}")
        store.add_diverged(key, {"diverged": str(error), **made_with}, encoded(parameters), environment(), commit)
        return False
    cell.record |= {"seconds": time.perf_counter() - begin, "test_rows": len(rows.test), **made_with}
    store.add(key, cell, encoded(parameters), environment(), commit, replacing=True)
    return True


def encoded(parameters: dict[str, Any]) -> dict[str, Any]:
    """Settings as a line keeps them; values of the laboratory's own classes, which no model file may hold, by their fields."""
    own = {name: repr(value) for name, value in parameters.items() if type(value).__module__.startswith("enstruct_bench.")}
    written = own | {name: encode_parameter(name, value) for name, value in parameters.items() if name not in own}
    return cast(dict[str, Any], json.loads(json.dumps(written)))


def outdated(table: LabelTable, run: Run) -> list[str]:
    """What of a run's row, its method and its settings, the table declares otherwise by now; mostly nothing.

    Settings that are the library's defaults are none: what these are belongs to its version (:class:`Store`).
    """
    key = run.key
    if key.dataset not in table.datasets or not has_settings(table, key.dataset, key.protocol, key.method):
        return []
    defaults = _defaults()
    now, then = encoded(settings(table, key.dataset, key.protocol, key.method)), run.line["settings"]
    differing = [name for name in {*now, *then} if now.get(name, defaults.get(name)) != then.get(name, defaults.get(name))]
    method = method_of(table, key.protocol, key.method)
    declared, kept = declaration(method), run.line.get("of", {})
    differing += [
        "method" if entry == "name" else f"{key.method}: {entry}" for entry in kept if declared.get(entry) != kept[entry]
    ]
    return sorted(differing)


@cache
def _defaults() -> dict[str, Any]:
    return encoded(NetworkClassifier().get_params(deep=False))


def declaration(method: str | Method) -> dict[str, Any]:
    """Of a row of the library its name; of a table's own what it declares, too."""
    return {"name": method} if isinstance(method, str) else {**described(method), "name": method.name}


def made_otherwise(table: LabelTable, store: Store, keys: Iterable[Key]) -> dict[Key, list[str]]:
    """Runs, of any seed, that these would be averaged with and that were made with something else (``outdated``)."""
    rows = {key[:3] for key in keys}
    return {key: differs for key, run in store.runs.items() if key[:3] in rows and (differs := outdated(table, run))}


def check_all_asked(table: LabelTable, store: Store, keys: Iterable[Key]) -> None:
    """ConfigError if there are such runs that are not among ``keys``: they would go, and no new ones come in their place."""
    keys = set(keys)
    beyond = [key for key in made_otherwise(table, store, keys) if key not in keys]
    if beyond:
        raise ConfigError(
            f"--again makes {len(beyond)} runs of other settings that are there not anew ({beyond[0]}, ...), and they cannot be "
            f"averaged with new ones: give --seeds {1 + max(key.seed for key in beyond)}."
        )


def _as_declared(table: LabelTable, store: Store, keys: Sequence[Key], say: Callable[[str], None]) -> list[Key]:
    """Those whose rows have no runs of other settings. DataError if none is left."""
    rows = {key[:3] for key in made_otherwise(table, store, keys)}
    left = [key for key in keys if key[:3] not in rows]
    if not left:
        check_settings(table, store, keys)
    for row in sorted(rows):
        say(f"{' '.join(row)} is passed over: its runs have other settings than {table.name} declares by now (--again)")
    return left


def check_settings(table: LabelTable, store: Store, keys: Iterable[Key]) -> None:
    """DataError if there are such runs."""
    for key, differs in made_otherwise(table, store, keys).items():
        raise DataError(
            f"{store.path}: the run {key} has other settings than {table.name} declares by now ({', '.join(differs)}). Undo the "
            "change, or make such runs anew with --again."
        )


def _expected(store: Store, key: Key) -> float:
    """Seconds that the same cell took with another seed, here or elsewhere; of an automatic row its budget; 0 if not known."""
    return _took(store.runs.values(), key) or _took(store.elsewhere, key) or (60 * AUTO_MINUTES if _is_automatic(key) else 0.0)


def _took(runs: Iterable[Run], key: Key) -> float:
    return max((run.line.get("seconds", 0.0) for run in runs if run.key[:3] == key[:3]), default=0.0)


def _is_automatic(key: Key) -> bool:
    return key.method.partition(":")[0] in AUTOMATIC


def _seconds(number: float) -> str:
    """Whole ones, but for a few."""
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def _row(key: Key) -> tuple[str, str]:
    return key.dataset, key.method


def _of_its_like(store: Store, key: Key) -> str:
    """What is known of the same row under the other protocol, which may take ten times as long, or a tenth."""
    alike = [run.line.get("seconds", 0.0) for other, run in store.runs.items() if _row(other) == _row(key)]
    return f" (under the other protocol at most {max(alike):.0f} s)" if alike else ""


def adopt(table: LabelTable, store: Store, path: Path) -> int:
    """Take finished cells of a file of ``enstruct-bench compare`` into the fair protocol; returns how many were new.

    DataError unless the file has the data set, the split and the settings of the table.
    """
    shape = {"data": str, "model": dict, "split_seed": int, "rows": {"test": int}, "split?": str, "environment": dict}
    setting = read_record(path, {"setting": shape}, "no results file of enstruct-bench compare")["setting"]
    if setting.get("tuned"):
        raise DataError(f"{path} was run with tuned settings; {table.name}'s fair protocol has the library's defaults.")
    dataset = str(setting["data"])
    dataset = dataset.removesuffix(".npz") if dataset.startswith("synthetic-") else dataset  # `enstruct data synthetic` wrote it
    if dataset not in table.datasets or setting.get("split", "auto") != table.split or setting["split_seed"] != 0:
        raise DataError(f"{path} has other data or another split than {table.name}: {dataset}, {setting.get('split', 'auto')}.")
    model = {**_defaults(), **setting["model"]}
    expected = {**_defaults(), **settings(table, dataset, "fair", "cross-entropy")}
    differs = [k for k, v in model.items() if k not in ("method", "random_state", "device") and v != expected.get(k)]
    if differs:
        raise DataError(f"{path} was run with another {', '.join(differs)} than {table.name}'s fair protocol.")
    content = setting.get("content")  # older files have none, and their name has to do
    if content is not None and content != fingerprint_of(load_rows(table, dataset, "fair")[0]):
        raise DataError(f"{path} was run on other rows than {table.name}'s {dataset}.")
    runs = []
    for (method, seed), cell in ResultsFile(path, setting, setting["model"], LABEL_COMPARISON.kind()).cells.items():
        cell.record |= {
            "seconds": cell.record["fit_seconds"],
            "test_rows": len(cell.rows["chosen"].above),
            "adopted_from": path.name,
        }
        key, parameters = Key(dataset, "fair", method, seed), settings(table, dataset, "fair", method)
        runs.append(store.line(key, cell, encoded(parameters), setting["environment"], None))
    check_settings(table, store, [run.key for run in runs])
    return store.add_all(runs)
