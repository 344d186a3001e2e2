"""A saved model and the rows it is asked about: columns matched by name, missing cells filled as in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.cli.rules import check_told
from enstruct.data.dataset import Dataset
from enstruct.data.impute import fill_missing, training_means
from enstruct.data.kinds import ending, is_table, is_table_there
from enstruct.data.load import has_columns, load, read_file
from enstruct.data.mapped import MappedRows, SparseStore
from enstruct.data.on_disk import is_on_disk
from enstruct.data.opening import is_file
from enstruct.data.tables.read import column_names, read_told
from enstruct.errors import ConfigError, DataError, ModelFileError, ParseError, shown
from enstruct.estimators import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.records import Shape, fits

NOTES: Shape = {
    "label_names": [str],
    "feature_names": [str],
    "means": ([float], None),
    "first_feature?": (int, None),
    "labels?": (int, str, [str], None),
    "drop?": [str],
    "text?": ([str], None),
}
"""What `enstruct train` leaves in a model beside it (:mod:`enstruct.records`): what was read, and how, for the next file."""
Model = EnergyMultiLabelClassifier | AutoMultiLabelClassifier | JointMultiLabelClassifier
SAME = "same"
"""What --known names DATA itself by."""


def load_model(path: Path, **encoder: str) -> Model:
    """``encoder``: where it lies now. ModelFileError, ConfigError."""
    model: Model
    if (path / "auto.json").is_file():
        if encoder:
            raise ConfigError("--encoder says where a model's encoder lies, and this one has none: leave it out.")
        model = AutoMultiLabelClassifier.load(path)
    elif (path / "joint.json").is_file():
        model = JointMultiLabelClassifier.load(path, **encoder)
    else:
        model = EnergyMultiLabelClassifier.load(path, **encoder)
    if not fits(model.notes_, NOTES):
        raise ModelFileError(f"{path} was not written by `enstruct train`; use it from Python, or train it with the command.")
    notes = model.notes_
    on_texts = hasattr(model, "text_")
    widths = len(notes["label_names"]), model.n_features_in_ if on_texts else len(notes["feature_names"])
    means = on_texts or len(notes["means"] or notes["feature_names"]) == widths[1]
    if widths != (len(model.classes_), model.n_features_in_) or (notes.get("text") is not None) != on_texts or not means:
        raise ModelFileError(
            f"{path} names other labels or features than it has: put a copy of the folder back, or train it again."
        )
    return model


@dataclass(frozen=True)
class Examples:
    """``data``: the rows to learn from, ``numbers`` (rows,) their places in the file, of which ``left_out`` others were no use;
    ``X`` without missing cells, by the ``means`` (features,), None where there were none; ``y``: labels, with NaN where they have
    holes."""

    data: Dataset
    numbers: NDArray[np.intp]
    left_out: int
    X: Any
    y: Any
    means: NDArray[np.float64] | None


def read_examples(source: str, labels: Any, drop: list[str], base: str | None, text: Sequence[str] | None = None) -> Examples:
    """Rows to learn from, without those of which no label is known. ``base``: what is to learn from them, None for one network.

    DataError for labels with holes, unless ``base`` is "auto", and for labels of which nothing is known.
    """
    whole = load(source, labels=labels, drop=drop, text=text)
    if not whole.label_names:
        mend = "name the columns, or the field of JSON lines, that hold them, by --labels"
        if is_on_disk(source):
            mend = "convert the file that they are in without --unlabelled"
        raise DataError(f"{source}: no row has a label: {mend}.")
    if base != "auto":
        whole.check_known("The method joint learns from those that are known, with --base auto.")
    numbers = whole.known_rows
    data = whole if whole.unknown is None else whole.take(numbers)
    if not len(data):
        raise DataError(f"{source}: nothing is known of the labels of any row.")
    if data.unknown is not None and (never := np.flatnonzero(data.unknown.all(0))).size:
        name = shown(data.label_names[never[0]])
        raise DataError(f"{source}: nothing is known of the label {name} in any row ({never.size} such): leave its column out.")
    means = training_means(data.X) if data.has_missing else None
    X = data.X if means is None else fill_missing(data.X, means)
    return Examples(data, numbers, len(whole) - len(data), X, data.Y if data.unknown is None else data.told(), means)


def as_read(labels: Any, source: str, drop: Sequence[str], names: Sequence[str]) -> Any:
    """``--labels`` for another file of the kind: the labels' names in place of the XML file that holds an ARFF file's, and of a
    table's single column, which may stand elsewhere there, its name in place of its number."""
    if ending(source) == ".arff" and isinstance(labels, str) and Path(labels).is_file():
        return list(names)
    if isinstance(labels, int) and abs(labels) == 1 and is_table_there(source):
        return [name for name in column_names(source) if name not in drop][min(labels, 0)]
    return labels


def read_known(model: Model, known: str, source: str, data: Dataset) -> NDArray[np.float64]:
    """(rows, labels of the model) 0, 1 and NaN: what a file tells of the rows in ``data``, or, by ``same``, their own labels.

    ConfigError for a model that cannot use it; DataError for another number of rows, and where nothing is left to be asked.
    """
    check_joint(model, "--known")
    names = model.notes_["label_names"]
    if known != SAME:
        told = read_told(known, names)
        if len(told) != len(data):
            raise DataError(f"{known} has {len(told)} rows and {source} {len(data)}: one for each, empty where nothing is known.")
        check_told(model.rules, names, told)
        return told
    if data.unknown is None:
        raise DataError(f"--known same: {source} has no empty cells in columns of labels, so that nothing is left to be asked.")
    return data.told()[:, columns(names, data.label_names, data, "labels")]


def check_joint(model: Model, option: str) -> None:
    """ConfigError for a model that is no joint distribution."""
    if not isinstance(model, JointMultiLabelClassifier):
        raise ConfigError(f"{option}: this model cannot use what is told of labels; train one by the method joint, the default.")


def read_rows(
    model: Model, source: str, labels: Any, drop: list[str], labelled: bool, text: Sequence[str] | None = None
) -> tuple[Any, Dataset]:
    """(X for the model, the data set); DataError if a feature of the model is not there.

    labels, drop, text : as :func:`enstruct.data.load.read_file` takes them; None and nothing are what they were in training,
        where a file has columns.
    """
    known = model.notes_
    if known.get("text") is not None:
        return _read_texts(known, source, labels, drop, labelled, text)
    if text is not None:
        raise DataError(f"--text {','.join(text)}: this model was trained on numbers; leave it out.")
    if is_file(source) or is_table_there(source):
        if has_columns(source):
            labels = _labels_of_training(known, source, labelled) if labels is None else labels
            drop = drop or known.get("drop", [])
            if is_table(source) and not (labelled and isinstance(labels, int)):  # counted off, of all that are there
                drop = [*drop, *_of_no_use(known, source, labels if labelled else ())]
        data = read_file(
            source,
            labels if labelled else (),
            drop,
            n_features=len(known["feature_names"]),
            n_labels=len(known["label_names"]),
            **{name: known.get(name) for name in ("feature_names", "label_names", "first_feature")},
        )
    else:
        data = load(source, labels=labels, drop=drop)
        if isinstance(data.X, MappedRows):
            data = _as_in_training(data, data.X, known)
    check_width(known["feature_names"], data)
    X = data.X
    if (where := columns(known["feature_names"], data.feature_names, data, "features")).tolist() != [*range(X.shape[1])]:
        X = X.passing(lambda rows: rows[:, where], len(where)) if isinstance(X, MappedRows) else X[:, where]
    if known["means"] is not None and not isinstance(X, MappedRows):  # a folder of arrays holds no gaps
        X = fill_missing(X, np.array(known["means"]))
    elif replace(data, X=X).has_missing:
        raise DataError(
            f"{source} has missing cells, and the model's training file had none, so it knows no means: fill them in."
        )
    return X, data


def _of_no_use(known: dict[str, Any], source: str, labels: Any) -> list[str]:
    """The columns of a table that are neither features of the model nor labels, if all its features are there."""
    there = column_names(source)
    if not set(known["feature_names"]) <= set(there):
        return []  # what is lacking is said where features are put in order
    named = {labels, *labels.split(",")} if isinstance(labels, str) else {*(labels or ())}
    used = {*known["feature_names"], *(name.strip() for name in named)}
    return [name for name in there if name not in used]


def _labels_of_training(known: dict[str, Any], source: str, labelled: bool) -> Any:
    """``labels`` for a file with columns: by name where training counted them off, since others may stand there now.

    ParseError for a table that lacks one. (A single one counted off may have held names: it is counted off again.)
    """
    labels = known.get("labels")
    if not labelled or not isinstance(labels, int) or abs(labels) < 2 or not is_table(source):
        return labels
    there = set(column_names(source))
    if lacking := [name for name in known["label_names"] if name not in there]:
        raise ParseError(f"there is no column of the model's label {shown(lacking[0])} ({len(lacking)} lacking)", source)
    return known["label_names"]


def _as_in_training(data: Dataset, X: MappedRows, known: dict[str, Any]) -> Dataset:
    """A folder made of an svmlight file, as wide as the model's. DataError where features count from another number."""
    first, wanted = known.get("first_feature"), known["feature_names"]
    if None in (first, data.first_feature) or not isinstance(X.store, SparseStore):
        return data
    if first != data.first_feature:
        raise DataError(
            f"{data.name}: features count from {data.first_feature} there, and from {first} in the model's training file: "
            f"convert it with --first_feature {first}."
        )
    if X.store.width >= len(wanted):
        return data
    wider = MappedRows(replace(X.store, width=len(wanted)), X.numbers)
    return replace(data, X=wider, feature_names=tuple(f"f{i}" for i in range(len(wanted))))


def _read_texts(
    known: dict[str, Any], source: str, labels: Any, drop: list[str], labelled: bool, text: Sequence[str] | None
) -> tuple[Any, Dataset]:
    """(texts, the data set), from the columns or the field that texts came from in training, unless others are named."""
    if not Path(source).exists():
        raise DataError(f"There is no file {shown(source)}, nor a folder.")
    if is_file(source) or is_table_there(source):
        labels = _labels_of_training(known, source, labelled) if labels is None else labels
        text = known["text"] if text is None else text
    data = read_file(
        source, labels if labelled else (), drop, label_names=known["label_names"], feature_names=known["text"], text=text
    )
    return data.X, data


def needs_no_labels(model: Model, source: str) -> bool:
    """Whether a table has all of the model's features as columns, so that nothing needs to be known of the others."""
    return is_table_there(source) and {*model.notes_["feature_names"]} <= {*column_names(source)}


def has_no_labels(model: Model, source: str) -> bool:
    """Whether a table to be answered has none of the columns that held the model's labels in training."""
    if not is_table_there(source):
        return False
    labels, names = model.notes_.get("labels"), set(model.notes_["label_names"])
    if isinstance(labels, str):
        names |= {labels, *labels.split(",")}
    elif isinstance(labels, list):
        names |= set(labels)
    return names.isdisjoint(column_names(source))


def check_width(wanted: Sequence[str], data: Dataset) -> None:
    """DataError for more features than the model has, where both are called f0, f1, ... as readers do without names."""
    unnamed = [f"f{i}" for i in range(len(data.feature_names))]
    if len(wanted) < len(unnamed) and list(data.feature_names) == unnamed and list(wanted) == unnamed[: len(wanted)]:
        raise DataError(
            f"{data.name or 'the data'} has {len(unnamed)} features, the model {len(wanted)}, and no names tell which those are: "
            "take the others out, or give names to both files."
        )


def columns(wanted: Sequence[str], names: Sequence[str], data: Dataset, what: str) -> NDArray[np.int64]:
    """Where the model's ``wanted`` stand among the data's names; names that occur twice only where all are as they were.

    ``what`` : features or labels. DataError for what is not there.
    """
    if [*wanted] == [*names]:
        return np.arange(len(wanted))
    place, source = {name: i for i, name in enumerate(names)}, data.name or "the data"
    if missing := [name for name in wanted if name not in place]:
        raise DataError(f"{source} lacks {len(missing)} {what} of the model, first {missing[0]!r}.")
    if twice := [name for i, name in enumerate(names) if place[name] != i and name in set(wanted)]:
        raise DataError(f"{source} has {twice[0]!r} twice, and other columns than the model's training file.")
    return np.array([place[name] for name in wanted])


def same_source(notes: dict[str, Any], data: str) -> bool:
    """Whether a model was trained on this file, folder or named set, however its path is written."""
    source = notes.get("source")
    return source is not None and (source == data or Path(source).resolve() == Path(data).resolve())
