"""From a catalogue name or a file to a data set, and from there to train, validation and test rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from enstruct.data.arff import read_arff
from enstruct.data.catalogue import CATALOGUE, Entry, locate
from enstruct.data.dataset import Dataset, drop_empty_rows, same_columns
from enstruct.data.kinds import ending, is_table, is_table_there, is_text_folder
from enstruct.data.npz import read_npz
from enstruct.data.on_disk import is_on_disk, read_on_disk
from enstruct.data.opening import is_file
from enstruct.data.splits import Splits, split_60_20_20
from enstruct.data.svmlight import read_svmlight
from enstruct.data.tables.read import read_table
from enstruct.data.text_files import TEXT, read_jsonl, read_text_folder
from enstruct.errors import DataError, DatasetNotFoundError, shown, unknown_name

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")


def read_file(
    path: Path | str,
    labels: Any = None,
    drop: Sequence[str] = (),
    n_features: int | None = None,
    n_labels: int | None = None,
    first_feature: int | None = None,
    label_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    text: Sequence[str] | None = None,
) -> Dataset:
    """Any supported file, by its suffix (before the compression's).

    ``labels=()`` reads a file without labels. ``n_features`` and ``n_labels`` set the widths of an svmlight file, and are
    those expected of an .npz; ``first_feature`` is what an svmlight file's features count from; ``label_names`` what a table's
    column of names may hold. ``feature_names`` is what a model has learnt from: these nominal attributes of an ARFF file
    are no identifiers, and columns to ``drop`` need not be there. ``text``: columns of a table, or the field of JSON lines,
    that hold texts; a folder of .txt files, and JSON lines, hold them whether that is told or not.
    """
    path, kind = Path(path), ending(path)
    if is_on_disk(path):
        if drop or (labels is not None and labels != ()):
            raise DataError(f"{path} says itself which its columns and labels are: leave labels and drop out.")
        return read_on_disk(path)
    if kind == ".jsonl" or is_text_folder(path):
        if drop:
            raise DataError(f"{path} has no columns to leave out; drop={shown([*drop])} is not for this kind.")
        return _read_documents(path, labels, text, label_names)
    if text and not is_table(path):
        raise DataError(
            f"{path}: texts are read from CSV, Parquet, JSON lines (.jsonl) and folders of .txt files: leave --text out."
        )
    if kind == ".arff":
        return read_arff(path, labels, drop, feature_names)
    if is_table(path):
        return read_table(path, labels, drop, label_names, must_be_there=feature_names is None, text=text)
    if kind not in (*SVMLIGHT, ".npz"):
        known = "use .csv, .arff, .svm, .npz or .jsonl, optionally with .xz, .gz or .bz2, or .parquet"
        raise DataError(f"{path}: unknown kind of file {shown(kind)}; {known}.")
    if labels is not None and labels != ():
        what = f"labels={shown(labels)} is for ARFF files and tables"
        raise DataError(f"{path} says itself which its labels are; {what}: leave it out.")
    if drop:
        raise DataError(
            f"{path}: only CSV, Parquet and ARFF have columns to leave out; drop={shown([*drop])} is not for this kind."
        )
    if kind == ".npz":
        return read_npz(path, labels is None, n_features, n_labels)
    return read_svmlight(path, n_labels, n_features, first_feature)


def _read_documents(path: Path, labels: Any, text: Sequence[str] | None, label_names: Sequence[str] | None) -> Dataset:
    if is_text_folder(path):
        if labels is not None and labels != ():
            raise DataError(f"{path}: the folders in it are the labels of its files; labels={shown(labels)}: leave it out.")
        return read_text_folder(path, labels is None, label_names)
    if text is not None and len(text) > 1:
        raise DataError(f"{path}: a line has its text in one field, not {len(text)}: name one, as --text {shown(text[0], 30)}.")
    return read_jsonl(path, TEXT if text is None else text[0], labels, label_names)


def has_columns(path: Path | str) -> bool:
    """Whether a file is one of columns, some of which are labels and some may be left out, by its name."""
    return is_table(path) or ending(path) == ".arff"


def load(
    source: Path | str, part: str = "full", labels: Any = None, drop: Sequence[str] = (), text: Sequence[str] | None = None
) -> Dataset:
    """A catalogue entry's ``part``, a file, or a folder of texts, of Parquet files or of arrays."""
    entry = CATALOGUE.get(str(source))
    if entry is None:
        if not (is_file(source) or is_table_there(source) or is_text_folder(source) or is_on_disk(source)):
            hint = unknown_name("data set", source, CATALOGUE)
            raise DatasetNotFoundError(f"There is no file {shown(str(source), 150)}, and: {hint}")
        return read_file(source, labels, drop, text=text)
    if text:
        raise DataError(f"{source} is a set of the catalogue, which has no texts: leave --text out.")
    check_named(source, labels, drop)
    return read_part(entry, part)


def load_splits(
    source: Path | str, seed: int = 0, labels: Any = None, drop: Sequence[str] = (), unknown_labels: bool = False
) -> Splits:
    """Train, validation and test rows without empty label sets.

    Sets published with three parts keep them; everything else is split 60/20/20, stratified, by ``seed``.
    ``unknown_labels`` : whether labels may have holes, ``Dataset.unknown``; else they are a DataError, as who does not look there
    would take each for a label that is absent.
    """
    entry = CATALOGUE.get(str(source))
    if entry is not None:
        check_named(source, labels, drop)
    if entry is not None and entry.published_parts:
        train, valid, test = (read_part(entry, part) for part in ("train", "valid", "test"))
        return Splits(*(drop_empty_rows(same_columns(train, d)) for d in (train, valid, test)))
    data = load(source, "full", labels, drop)
    if not unknown_labels:
        data.check_known("Leave such rows out, or train on the file with `enstruct train --base auto`.")
    if data.holds_texts:
        raise DataError(f"{source} holds texts, which this command does not take: `enstruct train` and `enstruct review` do.")
    return split_60_20_20(drop_empty_rows(data), seed)


def check_named(source: Path | str, labels: Any, drop: Sequence[str]) -> None:
    """DataError where labels or columns of a named set are told."""
    if drop or labels not in (None, ()):
        mend = "leave out labels and drop, or give its file"
        raise DataError(f"{source} is a set of the catalogue, which knows its labels: {mend}.")


def read_part(entry: Entry, part: str) -> Dataset:
    """As published; of a set that is not whole its training rows are "full". DataError, ConfigError."""
    if part not in entry.parts:
        if part == "full" and "train" in entry.parts:
            part = "train"
        else:
            raise unknown_name(f"part of {entry.name}", part, entry.parts)
    return read_file(locate(entry, part), entry.labels, entry.drop)
