"""The first line of a file of answers: which data it is about, and how they are read again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def header_of(task: str, source: str, n_rows: int, names: list[str], how: Mapping[str, Any]) -> dict[str, Any]:
    """Of a file, a folder or a named set; ``how`` it is read again."""
    kept = str(Path(source).resolve()) if Path(source).exists() else source
    return {"task": task, "data": kept, "rows": n_rows, "names": names, "content": content_of(source), "how": dict(how)}


def content_of(source: str) -> str:
    """A digest of a file's bytes, or of the names and sizes of a folder's files; of a named set its name."""
    path, digest = Path(source), hashlib.sha256()
    if path.is_file():
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    elif path.is_dir():
        for each in sorted(path.rglob("*")):
            if each.is_file():
                digest.update(f"{each.relative_to(path)} {each.stat().st_size}\n".encode())
    else:
        digest.update(source.encode())
    return digest.hexdigest()
