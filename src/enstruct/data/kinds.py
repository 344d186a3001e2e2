"""Which kind of output data hold, as far as their name tells, or what lies in a folder: no file is opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from enstruct.data.catalogue import CATALOGUE, INLINE, PICTURES, TAGGED
from enstruct.data.opening import OPENERS, is_file, is_folder

ENDINGS: dict[str, tuple[str, ...]] = {
    "labels": (".csv", ".parquet", ".arff", ".svm", ".svmlight", ".libsvm", ".npz", ".jsonl"),
    "tags": (".conll", ".conllu", *INLINE),
    "masks": (),
}
"""Task -> endings of the files that hold its data and no other's; ``.txt`` and ``.tsv`` may hold label sets as well as tags."""
TABLES = (".csv", ".tsv", ".parquet")
"""Endings of files whose columns have names."""
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
SETS: dict[str, Mapping[str, object]] = {"labels": CATALOGUE, "tags": TAGGED, "masks": PICTURES}
"""Task -> its named sets."""


def kind_of(source: str) -> str | None:
    """ "labels", "tags" or "masks", by a named set, an ending before the compression's, or a folder; None where none tells."""
    for task, sets in SETS.items():
        if source in sets:
            return task
    if is_folder(source):
        if is_table(source) or is_text_folder(source) or (Path(source) / "layout.json").is_file():
            return "labels"
        return "masks" if holds_pictures(source) else None
    endings = [ending.lower() for ending in Path(source).suffixes if ending.lower() not in OPENERS]
    telling = [*endings[-1:], *(ending for ending in endings if ending in INLINE)]  # as cora.tagged.txt
    return next((task for ending in reversed(telling) for task, own in ENDINGS.items() if ending in own), None)


def ending(path: Path | str) -> str:
    """Before the compression's, in lower case, with its dot; empty where there is none."""
    endings = [each.lower() for each in Path(path).suffixes if each.lower() not in OPENERS]
    return endings[-1] if endings else ""


def is_table(path: Path | str) -> bool:
    """Whether it is called as files are whose columns have names, or is a folder of Parquet files without pictures."""
    return bool(parquet_parts(path)) and not holds_pictures(path) if is_folder(path) else ending(path) in TABLES


def is_table_there(path: Path | str) -> bool:
    """Whether there is one."""
    return (is_file(path) or is_folder(path)) and is_table(path)


def parquet_parts(folder: Path | str) -> list[Path]:
    """The Parquet files in a folder, as Spark, Dask and others write tables, in the order of their names and the numbers in them;
    but hidden ones."""
    inside = Path(folder).glob("*")  # of a folder that may not be read nothing
    parts = [file for file in inside if file.suffix.lower() == ".parquet" and is_file(file)]
    return sorted((part for part in parts if part.name[0] not in "._"), key=_counted)


def _counted(part: Path) -> list[tuple[int, str]]:
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d+)", part.name)]


def is_text_folder(path: Path | str) -> bool:
    """Whether a folder holds .txt files, or folders of such, and neither pictures nor Parquet files."""
    return is_folder(path) and not (holds_pictures(path) or parquet_parts(path)) and any(map(is_text_file, _inside(path)))


def is_text_file(path: Path) -> bool:
    return path.suffix.lower() == ".txt"


def holds_pictures(path: Path | str) -> bool:
    """Whether a folder holds pictures, or folders that are named after them and hold no texts."""
    inside = _inside(path)
    if any(file.suffix.lower() in PICTURE_ENDINGS for file in inside):
        return True
    named = [file for file in inside if file.name in ("images", "masks")]
    return any(not any(map(is_text_file, _inside(folder))) for folder in named)


def _inside(path: Path | str) -> list[Path]:
    """What lies in a folder, and in those in it."""
    return [file for pattern in ("*", "*/*") for file in Path(path).glob(pattern)]
