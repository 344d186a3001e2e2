"""Sections of the results page for the papers' tables: published, published protocol here, fair protocol here, differences."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from enstruct.data.catalogue import CATALOGUE
from enstruct.methods import get_method
from enstruct_bench.comparison.command import Command
from enstruct_bench.comparison.label_comparison import FOLDED
from enstruct_bench.comparison.provenance import FORMER_PROCESSOR
from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.comparison.results_file import ResultsFile
from enstruct_bench.comparison.summary import paired
from enstruct_bench.comparison.whereabouts import SAME, parts_of, whereabouts
from enstruct_bench.reports.analyses import analysis_lines, description_lines
from enstruct_bench.reports.cells import DIVERGED, NOT_RUN, diverged_of, runs_of, score
from enstruct_bench.reports.changes import changes_lines
from enstruct_bench.reports.markdown import Text, markdown_table
from enstruct_bench.reports.published_figures import published_lines
from enstruct_bench.reports.summaries import FOLDER, read_summary
from enstruct_bench.reproduce.library import Describe, Measured
from enstruct_bench.reproduce.protocols import GENERATED_SHAPES, MOST_UPDATES, reduced
from enstruct_bench.reproduce.runner import has_settings, outdated
from enstruct_bench.reproduce.store import Key, Run, Store, stores_of
from enstruct_bench.reproduce.table import BASELINES, CommandTable, LabelTable, Protocol

FIRST_VERSION = "0.1.0"
RUNS = 3
"""That every row of a paper's tables should have."""
SPLITS = {
    "5-split": "60/20/20, drawn anew for each run",
    "auto": "60/20/20, or three published parts",
    "published": "as published",
}
HOW = f"""
Printed from `results/reproduce/*.jsonl`, which `enstruct-bench run TABLE` wrote, a line a run. Fair: one split, the library's
defaults for all rows, or what a table sets for all of them, and no search of settings (the defaults were found by looking at some
of these sets, docs/choices.md). To 0.2.0 that was one budget: the same batches, and at most the same number of epochs in each
stage, ended by the same patience; since 0.3.0 methods whose predictor learns throughout train in cycles of known length, and
energies that learn alone end by patience as before. Methods of several stages make more updates, which the lines hold. The same
decision rules for every row (and minimum Bayes risk for energies that estimate a density); differences under each side's best
rule, paired over the seeds that both have (their number where it is not the row's), with 95% intervals by hierarchical
bootstrap over runs and test rows, of one run (marked ¹), and of the folds of a cross-validation, over rows alone (`auto`, an
average of nets, against an average of cross-entropy nets, `auto:cross-entropy`; `{FOLDED}`, which learns from validation rows
too, against baselines given these, as `{FOLDED}:extra-trees`). Published protocol: the papers' settings and data handling,
updates a batch capped, but for the small sets, at {MOST_UPDATES[0]} of the energy and {MOST_UPDATES[1]} of the predictor (see
`enstruct_bench.reproduce.protocols`); ² of runs made with other settings than are declared by now (`--again` makes them anew).
Each version of the library has sections of its own, the newest first. Machines are told apart by what they call their
processor: hosts of one general name ("{FORMER_PROCESSOR}", which lines that name none are taken for too) may differ, and methods
that sample then do not come out alike to the digit.
"""
ALIKE = {"auto": ("cross-entropy",), FOLDED: BASELINES}
"""Baselines that there are averages of, or that were given the same rows, under an automatic row's own name."""
TITLES = (
    "method",
    "published",
    "published protocol here, 0.5",
    "its threshold tuned",
    "fair: 0.5",
    "tuned",
    "best rule",
    *("Δ {} [95%]" for _ in BASELINES),
    "runs",
)


def reproduced_head() -> str:
    """What stands before the papers' tables."""
    return Text(["## The papers' tables", "", " ".join(HOW.split()), ""])


def reproduced_table(table: LabelTable | CommandTable, folder: Path, version: str = "") -> str:
    """A declared table; ``folder`` holds the files of runs of such as are run cell by cell, of which those by ``version`` count,
    where one is named."""
    if isinstance(table, LabelTable):
        return Text(table_sections(table, folder, version))
    return command_section(table, folder.parent)


def versions_of(table: LabelTable | CommandTable, folder: Path) -> list[str]:
    """Those of the library that made runs of the table, the newest last; the first where there are none."""
    stores = stores_of(folder, table.name) if isinstance(table, LabelTable) else []
    return sorted({_version(store) for store in stores}, key=_numbers) or [FIRST_VERSION]


def summary_name(table: str, version: str = FIRST_VERSION) -> str:
    """Of a table's section: each version of the library has its own, since figures change with it; the first has no number."""
    return f"reproduce-{table}" + (f"@{version}" if version != FIRST_VERSION else "")


def kept_summaries(table: str, folder: Path) -> list[Path]:
    """The summaries of a table, the newest version first."""
    later = sorted(folder.glob(f"reproduce-{table}@*.json"), key=lambda path: _numbers(path.stem.partition("@")[2]), reverse=True)
    return [*later, *folder.glob(f"reproduce-{table}.json")]


def drop_empty(table: str, folder: Path) -> None:
    """The section of a table that had no runs goes once a version has some."""
    first = folder / f"{summary_name(table)}.json"
    if first.is_file() and len(kept_summaries(table, folder)) > 1 and read_summary(first)["from"]["runs"] == 0:
        first.unlink()


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _version(store: Store) -> str:
    return parts_of(store.where)["enstruct"]


def files_of(table: CommandTable, results: Path) -> list[Path]:
    """The figures of a table that other commands make, as far as they are there."""
    paths = [results / f"{part}.json" for part in table.parts]
    paths += [path for part in table.parts for path in sorted((results / part).glob("*.json"))]
    return [path for path in paths if path.is_file()]


def table_sections(table: LabelTable, folder: Path, version: str = "") -> list[str]:
    """One for each version, or the one named, and machine. A data set's whole table stands at the first that has runs of it, at
    others the rows that were run there. Sets without runs stand at the first of all; among a later version's own runs not at all.
    """
    every = stores_of(folder, table.name)
    stores = [store for store in every if version in ("", _version(store))] or [Store(folder, table.name)]
    first = {name: next((store for store in stores if _is_tried(store, name)), stores[0]) for name in table.datasets}
    if version not in ("", FIRST_VERSION):
        first = {name: store for name, store in first.items() if _is_tried(store, name)}
    sections = []
    for store in stores:
        partly = [name for name in table.datasets if first.get(name) not in (store, None) and _is_tried(store, name)]
        datasets = [name for name in table.datasets if first.get(name) is store or name in partly]
        if datasets:  # none where all of a place's runs are of sets that the table no longer has
            sections.append(reproduced_section(table, store, datasets, partly))
    return sections


def _is_tried(store: Store, dataset: str, row: str = "") -> bool:
    """Whether there are runs, or some that diverged, of the data set, or of a row on it."""
    return any(key.dataset == dataset and row in ("", key.method) for key in (*store.runs, *store.diverged))


def reproduced_section(table: LabelTable, store: Store, datasets: Sequence[str] | None = None, partly: Sequence[str] = ()) -> str:
    """The runs of one version and machine, on ``datasets``, or all of the table's; ``partly``: those of which rows without runs
    are left out."""
    datasets = table.datasets if datasets is None else datasets
    place = f" ({', '.join(store.where[len(SAME) :])})" if store.where[len(SAME) :] else ""
    lines = [f"### {table.name}: {table.title}{place}", "", f"{table.published_as}. " + _where(store), ""]
    lines += [table.why_fair_only, ""] if table.why_fair_only else []
    lines += [f"Settings: {_set(table)}.", ""] if table.settings else []
    lines += changes_lines(table, store, datasets)
    for dataset in datasets:
        methods = [row for row in table.methods() if dataset not in partly or _is_tried(store, dataset, row)]
        lines += _dataset(table, store, dataset, methods, dataset not in partly)
    return Text(lines)


def _where(store: Store) -> str:
    if not store.runs:
        return ""
    lines = [run.line for run in store.runs.values()]
    versions = ", ".join(f"{name} {lines[0]['environment'][name]}" for name in ("enstruct", "torch", "machine"))
    threads = sorted({str(line["environment"].get("threads")) for line in lines})
    commits = {line.get("commit") for line in lines} - {None}
    lacking = {
        "processor": sum("processor" not in line["environment"] for line in lines),
        "commit": sum(line.get("commit") is None for line in lines),
        "all metrics": sum("metrics" not in line for line in lines),
    }
    former = ", ".join(f"{n} without {what}" for what, n in lacking.items() if n)
    return (
        f"{len(lines)} runs of {versions}, {' or '.join(threads)} threads, {len(commits)} commits"
        + (f"; from before these were written down: {former}" if former else "")
        + "."
    )


def _set(table: LabelTable) -> str:
    return "; ".join(
        (f"{dataset}: " if dataset else "") + ", ".join(f"{name} {value}" for name, value in settings.items())
        for dataset, settings in table.settings.items()
    )


def _dataset(table: LabelTable, store: Store, dataset: str, methods: Sequence[str], whole: bool) -> list[str]:
    runs = [run for key, run in store.runs.items() if key.dataset == dataset]
    lines = [f"#### {dataset}", ""]
    if _is_tried(store, dataset) or any(figures.get(dataset) is not None for figures in table.rows.values()):
        extra = {run.key.method for run in runs} - set(table.methods())
        rows = [_row(table, store, dataset, method) for method in (*methods, *sorted(extra))]
        lines += markdown_table([title.format(b) for title, b in _titles()], rows)
    tested = sorted({int(run.line["test_rows"]) for run in runs if run.line["protocol"] == "fair" and "test_rows" in run.line})
    if tested:
        rows_tested = " to ".join(map(str, tested[:1] + tested[1:][-1:]))
        lines += [f"Fair split: {SPLITS.get(table.split, table.split)}; {rows_tested} rows tested.", ""]
    for protocol in table.protocols:
        if whole or any(_made(store, dataset, protocol, row) for row in methods):
            lines += _lacking(table, store, dataset, protocol, methods)
    lines += [line for method in methods for line in _through_samples(table, store, dataset, method)]
    less = [f"{method} {what}" for method in methods if (what := reduced(dataset, method))]
    if less and "published" in table.protocols:
        lines += [f"Published protocol, energy x predictor updates a batch reduced: {', '.join(less)}.", ""]
    return lines + published_lines(table, store, dataset, methods)


def _lacking(table: LabelTable, store: Store, dataset: str, protocol: Protocol, methods: Sequence[str]) -> list[str]:
    """The command for rows with fewer runs than the others have, or than ``RUNS``."""
    asked = [row for row in methods if has_settings(table, dataset, protocol, row)]
    made = {row: _made(store, dataset, protocol, row) for row in asked}
    most = max((len(each) for each in made.values()), default=0)
    command = f"enstruct-bench run {table.name} --protocol {protocol} --datasets {dataset}"
    if most == 0:
        return [f"Not run ({protocol}): `{command}`{_rows_from(store, dataset)}.", ""] if asked else []
    most = max(most, RUNS)
    fewer = [row for row in asked if len(made[row]) < most]
    formerly = [row for row in asked if any(map(partial(outdated, table), made[row]))]
    lines = []
    if fewer := [row for row in fewer if row not in formerly]:
        lines += [f"Too few runs ({protocol}): `{command} --methods {','.join(fewer)} --seeds {most}`.", ""]
    if formerly:
        also = f"{command} --methods {','.join(formerly)} --seeds {most} --again"
        lines += [f"Runs made with other settings than are declared by now ({protocol}): `{also}`.", ""]
    return lines


def _made(store: Store, dataset: str, protocol: Protocol, row: str) -> list[Run]:
    """Those that diverged too."""
    return [*runs_of(store, dataset, protocol, row), *diverged_of(store, dataset, protocol, row)]


def _through_samples(table: LabelTable, store: Store, dataset: str, row: str) -> list[str]:
    """Where an energy's own row is best by weighing samples of the predictor, and so tells nothing about inference on it."""
    runs = runs_of(store, dataset, "fair", row)
    weighed = sum(run.line.get("decision") == "bayes-risk" for run in runs)  # of automatic rows none
    if not weighed or get_method(table.method(row)).inference is None:
        return []
    return [
        f"The best rule of {row} in {weighed} of {len(runs)} runs is minimum Bayes risk: its energy weighs samples of the "
        "predictor it was trained beside. What inference on the energy gives stands at 0.5 and under the tuned threshold.",
        "",
    ]


def _rows_from(store: Store, dataset: str) -> str:
    """Of a set without any run: who provides its rows."""
    entry = CATALOGUE.get(dataset)
    if entry is None or any(key.dataset == dataset for key in store.runs):
        return ""
    part = next(iter(entry.parts.values()))
    fetched = f", or fetched from {entry.url}" if entry.url else ""
    shape = "; in its shape: `enstruct-bench run shapes`" if dataset in GENERATED_SHAPES else ""
    return f" (its rows: `{part}` below ENSTRUCT_DATA{fetched}{shape})"


def _titles() -> list[tuple[str, str]]:
    baselines = iter(BASELINES)
    return [(title, next(baselines) if "{}" in title else "") for title in TITLES]


def _row(table: LabelTable, store: Store, dataset: str, method: str) -> list[Value]:
    published = table.rows.get(method, {}).get(dataset)
    theirs, ours = (runs_of(store, dataset, protocol, method) for protocol in ("published", "fair"))
    asked = "published" in table.protocols and has_settings(table, dataset, "published", method)
    cells: list[Value] = [method, "–" if published is None else Quantity(published)]
    cells += [score(table, store, dataset, "published", method, rule) if asked else "–" for rule in ("fixed", "threshold")]
    if "fair" not in table.protocols:
        return [*cells, *["–"] * (len(TITLES) - len(cells) - 1), len(theirs)]
    cells += [score(table, store, dataset, "fair", method, rule) for rule in ("fixed", "threshold", "chosen")]
    head = method.partition(":")[0]
    for baseline in BASELINES:
        reference = f"{head}:{baseline}" if baseline in ALIKE.get(head, ()) else baseline
        cells.append(_difference(table, store, dataset, reference, method))
    return [*cells, f"{len(theirs)} / {len(ours)}" if asked else len(ours)]


def _difference(table: LabelTable, store: Store, dataset: str, reference: str, method: str) -> Value:
    """Paired over the seeds that both have, each under its best rule."""
    if method == reference:
        return "–"
    seeds = [run.line["seed"] for run in runs_of(store, dataset, "fair", method)]
    pairs = [
        (store.runs[Key(dataset, "fair", reference, seed)], store.runs[Key(dataset, "fair", method, seed)])
        for seed in seeds
        if Key(dataset, "fair", reference, seed) in store.runs
    ]
    if not pairs:
        return DIVERGED if any(diverged_of(store, dataset, "fair", each) for each in (method, reference)) else NOT_RUN
    a, b = ([pair[side].rows["chosen"] for pair in pairs] for side in (0, 1))
    return paired(a, b, len(seeds), table.tested).quantity()


def command_section(table: CommandTable, results: Path) -> str:
    """What makes the table, and where its figures stand."""
    lines = [
        f"### {table.name}: {table.title}",
        "",
        f"{table.published_as}." + (f" Published: {table.published}." if table.published else ""),
    ]
    for part, command in table.parts.items():
        runs = f"`enstruct-bench run {table.name} --datasets {part}`, which runs `{command.spelled()}`"
        where = _whereabouts_of_part(results, part, command)
        lines.append(f"- {part}: {where}; {f'`{command.spelled()}`' if isinstance(command, Measured) else runs}")
    lines += [f"- {word}: made first, by `{command.spelled()}`" for word, command in table.made.items()]
    lines += [f"- {name}: {why}" for name, why in table.absent.items()]
    figures_of = {part: results / f"{part}.json" for part, command in table.parts.items() if isinstance(command, Describe)}
    described = [path for path in figures_of.values() if path.is_file()]
    lines += [line for part in table.against for line in _held_against(table, part, results)]
    figures = [line for part in table.parts for line in analysis_lines(results / part)]
    return Text([*lines, "", *description_lines(described), *figures])


def _held_against(table: CommandTable, part: str, results: Path) -> list[str]:
    """Paired differences of a comparison's rows to the same seeds of a fair run of SEAL's Table 2, each under its best rule."""
    path = results / f"{part}.json"
    stores = {store.where: store for store in stores_of(results / "reproduce", "seal-2")}
    if not path.is_file():
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    store = stores.get(whereabouts(content["setting"].get("environment", {})))
    cells = ResultsFile(path, content["setting"], content["setting"]["model"]).cells
    dataset, reference = table.against[part]
    lines = []
    for method in dict.fromkeys(name for name, _ in cells):
        keys = {seed: Key(dataset, "fair", reference, seed) for name, seed in cells if name == method}
        seeds = [seed for seed, key in keys.items() if store is not None and key in store.runs]
        if store is not None and seeds:
            differences = {}
            for rule in ("chosen", "fixed"):
                a = [store.runs[keys[seed]].rows[rule] for seed in seeds]
                b = [cells[method, seed].rows[rule] for seed in seeds]
                differences[rule] = str(paired(a, b, len(seeds)))
            lines.append(
                f"- {part}: {method} so changed against {reference} as it is, {len(seeds)} seeds, best rules: "
                f"{differences['chosen']}; at 0.5: {differences['fixed']}"
            )
    return lines


def _whereabouts_of_part(results: Path, part: str, command: Command) -> str:
    if (results / part).is_dir():
        return f"in `results/{part}/`, see below"
    if (results / FOLDER / f"{part}.json").is_file():
        return f"in `results/{FOLDER}/{part}.json`"
    if not (results / f"{part}.json").is_file():
        return NOT_RUN
    return f"in `results/{part}.json`" + (", under Costs" if isinstance(command, Measured) else "")
