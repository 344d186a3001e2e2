"""Documents with label sets: JSON lines, and folders of text files.

.jsonl     an object a line; the text in one of its fields ("text"), the labels in another ("labels"): a list of names, names
           joined by ; or |, or an object {name: true, false or null}. Without that field, or null: nothing is known of them
folder     .txt files, a document each; those in a folder within it have its name for a label. A document that lies in
           several folders, under one name and with one content, has all their labels. In the order of their names, which are
           the rows' ``files``; read without labels every file is a row
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.data.dataset import Dataset, any_of
from enstruct.data.kinds import is_text_file
from enstruct.data.label_names import check_label_name, joined_otherwise
from enstruct.data.opening import read_lines, stream_lines
from enstruct.data.rows import as_indicator, indicator_of
from enstruct.data.texts import as_array, is_writable
from enstruct.errors import ParseError, shown

TEXT, LABELS = "text", "labels"
"""Fields, where others are not named."""
Told = dict[str, bool] | tuple[str, ...] | None
"""Of one document: some labels that it has or lacks, others are not known; those that it has, all others it lacks; nothing."""


def read_jsonl(path: Path | str, text: str = TEXT, labels: Any = LABELS, known: Sequence[str] | None = None) -> Dataset:
    """One file. ``labels``: the field's name; (): no labels. ``known``: the names that there are, in their order; None for those
    in the file. ParseError (file, line)."""
    path, texts, told, lines = Path(path), list[str](), list[Told](), array("q")
    joined: dict[str, int] = {}  # labels in one text -> where first
    same: dict[tuple[str, ...], tuple[str, ...]] = {}  # a set that occurs often is one object
    field = labels if isinstance(labels, str) else LABELS if labels is None else ""
    if labels not in (None, ()) and not field:
        raise ParseError(f"labels={shown(labels)}: name the field that holds them, as labels='{LABELS}'", path)
    for number, row in _objects(path):
        if not isinstance(row.get(text), str):
            there = ", ".join(shown(name, 20) for name in [*row][:5])
            what = "is no text" if row.get(text) is not None else "is null" if text in row else "is missing"
            raise ParseError(f'the field {shown(text, 30)} {what} (there are {there}): give "" for an empty text', path, number)
        if not is_writable(row[text]):
            raise ParseError(f"the field {shown(text, 30)} holds half a character (a lone surrogate): take it out", path, number)
        texts.append(row[text])
        value = row.get(field)
        if isinstance(value, str):
            joined.setdefault(value, number)
        one = _labels(value, path, number) if field else ()
        told.append(same.setdefault(one, one) if isinstance(one, tuple) else one)
        lines.append(number)
    if not texts:
        raise ParseError("there is no document in it", path)
    if field and known is None and (odd := joined_otherwise(joined)) is not None:
        raise ParseError(f"{shown(odd)} looks like several labels: give a list, or join names by ; or |", path, joined[odd])
    return _dataset(path, texts, told, lines, text, known if field else ())


def read_text_folder(path: Path | str, labelled: bool = True, known: Sequence[str] | None = None) -> Dataset:
    """One folder; ``labelled=False``: whatever the folders within it are called. ParseError."""
    root = Path(path)
    files = [file for pattern in ("*", "*/*") for file in root.glob(pattern) if is_text_file(file)]
    found: dict[tuple[str, ...], list[Path]] = {}
    for file in sorted(files, key=lambda file: (file.name, file.parent.name)):
        content = "\n".join(read_lines(file))
        found.setdefault((content, file.name) if labelled else (content, file.name, file.parent.name), []).append(file)
    if not found:
        raise ParseError("there is no .txt file in it, nor in its folders", root)
    folders = [[file.parent.name for file in same if file.parent != root] for same in found.values()]
    if labelled and not any(folders):
        raise ParseError("its files lie in no folder within it, whose name would be their label", root)
    told: list[Told] = [tuple(names) if labelled else () for names in folders]
    data = _dataset(root, [content for content, *_ in found], told, None, TEXT, known if labelled else ())
    return replace(data, files=tuple(same[0].relative_to(root).as_posix() for same in found.values()))


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(stream_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"the line is no JSON ({error})", path, number) from error
        if not isinstance(row, dict):
            raise ParseError(f"the line holds {shown(row, 40)}, and must be an object, as {{...}}", path, number)
        yield number, row


def _labels(value: Any, path: Path, line: int) -> Told:
    if value is None:
        return None
    if isinstance(value, str):
        return tuple(name for part in value.replace("|", ";").split(";") if (name := part.strip()))
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return tuple(value)
    if isinstance(value, dict):
        if all(one is None or (isinstance(one, (bool, int)) and one in (0, 1)) for one in value.values()):
            return {name: bool(one) for name, one in value.items() if one is not None}
        raise ParseError(f"labels {shown(value, 60)}: each is true, false or null", path, line)
    raise ParseError(f"labels {shown(value, 60)} are no list of names, as ['a', 'b']", path, line)


def _dataset(
    path: Path, texts: list[str], told: list[Told], lines: Sequence[int] | None, text: str, known: Sequence[str] | None
) -> Dataset:
    seen = sorted({name for one in told for name in (one or ())})
    names = tuple(seen if known is None else known)
    number = {name: k for k, name in enumerate(names)}
    for row, one in enumerate(told):
        line = None if lines is None else lines[row]
        for name in one or ():
            if known is None:
                check_label_name(name, path, line)
            elif name not in number:
                raise ParseError(f"the model has no label {shown(name)}: take it out", path, line)
    numbered: dict[tuple[str, ...], list[int]] = {}  # of those that are known whole
    for one in told:
        if isinstance(one, tuple) and one not in numbered:
            numbered[one] = [number[name] for name in one]
    Y = indicator_of(
        [numbered[one] if isinstance(one, tuple) else [number[name] for name, has in (one or {}).items() if has] for one in told],
        len(names),
    )
    unknown = np.zeros((len(texts), len(names)), dtype=bool)
    for row, one in enumerate(told):
        if not isinstance(one, tuple):
            unknown[row] = True
            unknown[row, [number[name] for name in one or ()]] = False
    return Dataset(as_array(texts), as_indicator(Y), (text,), names, name=path.name, unknown=any_of(unknown))
