"""AAPD (Yang et al. 2018), abstracts of papers with their subjects: text_PART and label_PART, one document a line.

Labels of a line are parted by blanks. PART is train, val (or valid) or test.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.data.opening import read_lines
from enstruct.errors import DatasetNotFoundError, ParseError
from enstruct_bench.texts.collections.documents import Collection, Labelled, as_collection

NAMES_OF_VALIDATION = ("val", "valid")


def read_aapd(folder: Path) -> Collection:
    """Published training and validation documents together, published test documents."""
    named = [part for part in NAMES_OF_VALIDATION if (folder / f"text_{part}").is_file()]
    if not named:
        raise DatasetNotFoundError(f"There is no file {folder / 'text_val'} (or text_valid).")
    return as_collection(_read(folder, "train") + _read(folder, named[0]), _read(folder, "test"))


def _read(folder: Path, part: str) -> list[Labelled]:
    texts, labels = (read_lines(folder / f"{kind}_{part}") for kind in ("text", "label"))
    if len(texts) != len(labels):
        raise ParseError(f"it has {len(labels)} lines, and text_{part} has {len(texts)}", folder / f"label_{part}")
    return [Labelled(text, line.split()) for text, line in zip(texts, labels, strict=True)]
