"""What ``enstruct label`` does; its options are declared in :mod:`enstruct.cli.parsers.label`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.inputs import check_joint, columns, has_no_labels, load_model, read_rows
from enstruct.cli.pages import as_rows, check_page, pictures_of, serve
from enstruct.cli.task_files import files_of
from enstruct.cli.which_task import task_of_model
from enstruct.data.dataset import Dataset
from enstruct.data.image_folders import read_pictures
from enstruct.data.impute import fill_missing, training_means
from enstruct.data.kinds import ending, is_table_there
from enstruct.data.label_names import check_label_name
from enstruct.data.load import load
from enstruct.data.mapped import MappedRows
from enstruct.data.opening import is_file
from enstruct.data.tables.read import column_names, told_columns
from enstruct.data.tagged import read_tagged
from enstruct.data.text_files import LABELS
from enstruct.errors import ConfigError, DataError
from enstruct.rules import RuleSystem, read_rules
from enstruct.rules.contradictions import check_possible
from enstruct.rules.labels import mapped
from enstruct.workbench.contents import Contents
from enstruct.workbench.header import header_of
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.labelling import Labelling
from enstruct.workbench.learning import Learner
from enstruct.workbench.masks import Masks
from enstruct.workbench.row_order import ORDERS, RowOrder
from enstruct.workbench.session import Session
from enstruct.workbench.tag_sequences import TagSequences
from enstruct.workbench.written import Written


def run(options: Namespace) -> None:
    check_page(options)
    if options.out.suffix != ".jsonl":
        raise ConfigError(f"--out {options.out}: answers are lines of JSON, so name it FILE.jsonl.")
    if any(source is not None and options.out.resolve() == Path(source).resolve() for source in (options.data, options.new)):
        raise ConfigError(f"--out {options.out} is the data to be labelled: name another.")
    for source in filter(None, (options.data, options.new)):
        if Path(source).is_dir() and options.out.resolve().is_relative_to(Path(source).resolve()):
            raise ConfigError(
                f"--out {options.out} lies in the folder to be labelled, which would change by it: name another place."
            )
    if options.order not in ORDERS:
        raise ConfigError(f"--order is one of {', '.join(ORDERS)}, not {options.order!r}.")
    serve(session_of(options), options)


def session_of(options: Namespace) -> Session:
    """What the options say, ready to be served."""
    if options.new is not None:
        if options.model is not None:
            raise ConfigError("--new DATA begins without a model: leave MODEL out, or --new.")
        return _from_nothing(options)
    if options.model is None or options.data is None:
        raise ConfigError("Give a MODEL and DATA, or --new DATA --labels a,b,c to begin without a model.")
    if options.rules is not None:
        raise ConfigError("--rules goes with --new: a model has its own.")
    task = task_of_model(options.model)
    labelling, how = {"labels": _label_sets, "tags": _tags, "masks": _masks}[task](options)
    header = header_of(task, options.data, labelling.n_rows, labelling.names, how)
    order = RowOrder(labelling.n_rows, options.order, options.seed)
    return Session(labelling, Journal(options.out, header), order, Path(options.data).name)


def _label_sets(options: Namespace) -> tuple[Labelling, dict[str, Any]]:
    model = load_model(options.model, **shared.moved_encoder(options))
    check_joint(model, "label")
    notes, labels, text = model.notes_, shared.label_argument(options.labels), shared.text_argument(options.text)
    names, source = notes["label_names"], options.data
    is_lines = Path(source).is_file() and ending(source) == ".jsonl"
    if is_lines and labels is None:
        remembered = notes.get("labels")
        labels = remembered if isinstance(remembered, str) and "," not in remembered else LABELS
    bare = labels is None and not is_lines and (has_no_labels(model, source) or not (is_file(source) or is_table_there(source)))
    X, data = read_rows(model, source, labels, options.drop, not bare, text)
    _check_in_memory(data, source)
    given = data.unknown is not None and bool(data.label_names)  # rows whose labels are all there are labelled anew
    told = data.told()[:, columns(names, data.label_names, data, "labels")] if given else None
    read = labels if labels is not None else notes.get("labels")
    held = list(data.label_names) if read is None or isinstance(read, int) else [read] if isinstance(read, str) else list(read)
    held = [name.strip() for one in held for name in ([one] if one in data.label_names else one.split(","))] if not bare else []
    how = {"given": given, "labels": read if not bare else [], "columns": held}
    drop = options.drop or notes.get("drop", [])
    if is_table_there(source):
        drop = [name for name in drop if name in column_names(source)]  # which need not be there
    how |= {"drop": drop, "text": notes.get("text") if text is None else text}
    contents = _contents(data, source, options.pictures)
    return LabelSets(names, as_rows(X), contents, told, Written(source, lambda: data, tuple(held)), model), how


def _check_in_memory(data: Dataset, source: str) -> None:
    if isinstance(data.X, MappedRows):
        raise ConfigError(f"{source}: rows that stay in their file cannot be labelled on the page: give the file it was made of.")


def _contents(data: Dataset, source: str, pictures: str | None) -> Contents:
    return Contents(data, None if pictures is None else (pictures_of(source, pictures), Path(source).resolve().parent))


def _tags(options: Namespace) -> tuple[Labelling, dict[str, Any]]:
    files = files_of("tags")
    tagger = files.load(options)
    if tagger.notes_["inline"]:
        raise ConfigError("label is for columns of words and tags: references tagged inline cannot be labelled on the page.")
    known = tagger.notes_["columns"]
    data = read_tagged(options.data, known, labelled=False)
    return TagSequences(tagger, data.sentences), {"columns": known}


def _masks(options: Namespace) -> tuple[Labelling, dict[str, Any]]:
    segmenter = files_of("masks").load(options)
    return Masks(segmenter, read_pictures(options.data, labelled=False)), {}


def _from_nothing(options: Namespace) -> Session:
    if options.labels is None:
        raise ConfigError("--new needs --labels a,b,c: the names of the labels.")
    names = [name.strip() for name in options.labels.split(",")]
    if len(set(names)) < len(names) or len(names) < 2:
        raise ConfigError(f"--labels names two different labels at least, joined by commas, not {options.labels!r}.")
    for name in names:
        check_label_name(name, options.new, None)
    source, text = options.new, shared.text_argument(options.text)
    has_names = is_table_there(source)
    there = [name for name in names if name in column_names(source)] if has_names else []
    drop = [*options.drop, *([options.pictures] if has_names and options.pictures and not text else [])]
    data = _unlabelled(source, [*drop, *there], text)
    _check_in_memory(data, source)
    told = None
    if there:
        told = np.full((len(data), len(names)), np.nan)
        told[:, [names.index(name) for name in there]] = told_columns(source, there)
    X = data.X if not data.has_missing else fill_missing(data.X, training_means(data.X))
    rows = as_rows(X)
    rules = [] if options.rules is None else read_rules(options.rules, names)
    system = RuleSystem.of(rules, names) if rules else None
    if system is not None:
        check_possible(system)
    contents, written = _contents(data, source, options.pictures), Written(source, lambda: data, tuple(there))
    labelling = LabelSets(names, rows, contents, told, written, rules=system)
    order = RowOrder(labelling.n_rows, options.order, options.seed)
    number = {name: k for k, name in enumerate(names)}
    settings = {"minutes": options.minutes, "random_state": options.seed}
    settings["rules"] = [mapped(rule, number.__getitem__) for rule in rules] or None
    how = {"given": bool(there), "labels": there, "columns": there, "drop": drop, "text": text}
    journal = Journal(options.out, header_of("labels", source, labelling.n_rows, names, how))
    with ExitStack() as failed:
        failed.callback(journal.close)
        # models lie beside it: of a journal that is open elsewhere they are another process's
        folder = options.out.with_name(f".{options.out.name}.models")
        learner = Learner(labelling, order.at_random, settings, drawn=order.order != "given", folder=folder)
        session = Session(labelling, journal, order, Path(source).name, learner)
        failed.pop_all()
    return session


def _unlabelled(source: str, drop: list[str], text: list[str] | None) -> Dataset:
    if Path(source).is_file() and ending(source) == ".arff":
        raise ConfigError(f"--new {source}: ARFF files have their labels: train a model on it, or give a table.")
    data = load(source, labels=(), drop=drop, text=text)
    if not len(data):
        raise DataError(f"{source} has no rows.")
    return data
