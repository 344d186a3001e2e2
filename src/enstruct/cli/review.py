"""What ``enstruct review`` does; its options are declared in :mod:`enstruct.cli.parsers.review`."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.inputs import Examples, as_read, read_examples
from enstruct.cli.outputs import check_free
from enstruct.cli.pages import as_rows, check_page, serve
from enstruct.cli.progress import working_bar
from enstruct.cli.tables import say
from enstruct.data.kinds import ending, is_table_there
from enstruct.data.tables.read import column_names
from enstruct.errors import ConfigError
from enstruct.estimators import find_label_issues
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.estimators.left_out import check_each_left_out
from enstruct.files import replace_file
from enstruct.validation import check_whole
from enstruct.workbench.contents import Contents
from enstruct.workbench.header import content_of, header_of
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.review import Review
from enstruct.workbench.row_order import RowOrder
from enstruct.workbench.session import Session
from enstruct.workbench.written import Written

COLUMNS = ("row", "label", "value", "quality")
Suspect = tuple[int, str, int, str]


def run(options: Namespace) -> None:
    if options.top is not None:
        check_whole(1, top=options.top)
    if options.out is None:
        _on_page(options)
    else:
        _in_file(options)


# -- a page ---------------------------------------------------------------------------------------


def _on_page(options: Namespace) -> None:
    check_page(options)
    source = Path(options.data)
    beside = source.name if source.exists() else options.data
    log = options.log or Path(f"{beside}.review.jsonl")
    wanted = ".jsonl" if source.is_file() and ending(source) == ".jsonl" else ".csv"
    corrected = options.corrected or Path(f"{beside}.corrected{wanted}")
    if corrected.suffix != wanted:
        raise ConfigError(f"--corrected {corrected}: what is written of these data is {wanted}: name it FILE{wanted}.")
    if len({corrected.resolve(), log.resolve(), source.resolve()}) < 3:
        raise ConfigError("--corrected, --log and DATA must be three different files: name others.")
    if source.is_dir() and any(one.resolve().is_relative_to(source.resolve()) for one in (log, corrected)):
        raise ConfigError(
            f"--log and --corrected may not lie in the folder {source}, which would change by them: name another place."
        )
    if log.suffix != ".jsonl":
        raise ConfigError(f"--log {log}: answers are lines of JSON, so name it FILE.jsonl.")
    # what an earlier stop of the same review wrote is renewed
    check_free([corrected], options.overwrite or Review.writes(_suspects(log), corrected))
    session = session_of(options, log, corrected)
    try:
        serve(session, options)
    finally:
        if len(session.journal):
            session.write(corrected)
    if len(session.journal):
        counts = session.progress()
        say(f"{counts['answered']} of {counts['suspects']} suspects answered, {counts['changed']} labels changed: {corrected}")


def _suspects(log: Path) -> Path:
    return log.with_suffix(".suspects.json")


def session_of(options: Namespace, log: Path, corrected: Path) -> Session:
    """Ready to be served; suspects are found, or read where they were found before."""
    examples = _examples(options)
    data, names = examples.data, list(examples.data.label_names)
    content, kept = content_of(options.data), _suspects(log)
    read_by = ("encoder", "tuning", "pooling", "max_tokens", "encoder_layers")
    told = ("base", "minutes", "folds", "seed", "top", "text", "labels", *read_by)
    settings = {name: str(options[name]) for name in told}
    Y, X = data.told(), as_rows(examples.X)
    if kept.exists():
        review = Review.read(kept, names, Y, content, settings)
    else:
        with working_bar("reviewing"), shared.side_by_side(options):
            model = JointMultiLabelClassifier(**_settings(options)).fit(examples.X, examples.y)
            review = Review.of(model, names, Y, options.top)
        review.save(kept, content, settings, corrected)
    columns = _label_columns(options, names)
    how = {"given": True, "labels": _as_read(options, names), "columns": columns, "drop": options.drop}
    how["text"] = shared.text_argument(options.text)
    if examples.left_out:
        raise ConfigError(
            f"{examples.left_out} rows of {options.data} have no known label, and the page shows all: take them out first."
        )
    header = header_of("labels", options.data, len(data), names, how)
    labelling = LabelSets(names, X, Contents(data), Y, Written(options.data, lambda: data, tuple(columns)))
    return Session(labelling, Journal(log, header), RowOrder(len(data), "given"), Path(options.data).name, review=review)


def _as_read(options: Namespace, names: list[str]) -> Any:
    return as_read(shared.label_argument(options.labels), options.data, options.drop, names)


def _label_columns(options: Namespace, names: list[str]) -> list[str]:
    """What holds labels in the file: columns, or a field."""
    labels = shared.label_argument(options.labels)
    if ending(options.data) == ".jsonl":
        return [labels] if isinstance(labels, str) else []
    if is_table_there(options.data) and isinstance(labels, str):
        there = column_names(options.data)
        return [labels] if labels in there else [name.strip() for name in labels.split(",")]
    return names


# -- a file ---------------------------------------------------------------------------------------


def _in_file(options: Namespace) -> None:
    if options.out.resolve() == Path(options.data).resolve():
        raise ConfigError(f"--out {options.out} is the file to be reviewed: name another.")
    if options.out.suffix != ".csv":
        raise ConfigError(f"--out {options.out}: cells are listed as CSV, so name it FILE.csv.")
    if options.log is not None or options.corrected is not None:
        raise ConfigError("--log and --corrected are of the page: leave --out out, or them.")
    check_free([options.out], options.overwrite)
    examples = _examples(options)
    with working_bar("reviewing"), shared.side_by_side(options):
        issues = find_label_issues(examples.X, examples.y, **_settings(options))
    names, cells = examples.data.label_names, issues.cells()
    told = examples.data.Y.toarray()
    suspects = [
        (int(examples.numbers[row]), names[label], int(told[row, label]), f"{quality:.6g}")
        for row, label, quality in cells[: options.top]
    ]
    replace_file(options.out, partial(_write, suspects=suspects))
    row, label, value, quality = suspects[0]
    say(f"{len(cells)} given labels of {len(told)} rows, {len(suspects)} of them in {options.out}")
    say(f"least likely: row {row}, label {label}, given as {value}, quality {quality}")
    if issues.noise is not None:
        lost, added, moved = issues.noise.lost, issues.noise.added, issues.noise.moved
        say(f"of labels that are there about {lost:.1%} seem not to be noted, of absent ones about {added:.2%} to be")
        if moved:
            say(f"up to {moved:.1%} of labels that are there seem to be noted as other ones")


def _examples(options: Namespace) -> Examples:
    text = shared.text_argument(options.text)
    return read_examples(options.data, shared.label_argument(options.labels), options.drop, options.base, text)


def _settings(options: Namespace) -> dict[str, Any]:
    if options.folds is not None:
        check_each_left_out(options.folds != 1)
    return {**shared.joint_parameters(options), **shared.encoder_of(options), "random_state": options.seed}


def _write(path: Path, suspects: list[Suspect]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(suspects)
