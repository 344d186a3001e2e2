"""Features of texts by a frozen encoder, kept on disk by the content of both: what was computed once is read the next time.

A file of SQLite for each way to compute them, named by its digest; in it a row a text: the digest of the text, its features and a
checksum. The files that were used longest ago go once all take more than ``MOST_BYTES``. A file that is damaged is thrown away;
one that cannot be written, or that another process holds, keeps nothing, which costs time alone.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger("enstruct")
LEAST = 64
"""Texts at a time from which on a look is worth its while."""
MOST_BYTES = 2**32
AT_ONCE = 500
WAIT = 10.0
"""Seconds for a file that another process writes."""
Features = NDArray[np.float32]
Compute = Callable[[list[str]], Features]


def folder_of_cache(cache: bool | str | Path) -> Path | None:
    """None where nothing is kept."""
    if cache is False or cache is None:
        return None
    if cache is not True:
        return Path(cache)
    if (own := os.environ.get("ENSTRUCT_CACHE")) is not None:
        return Path(own) / "texts" if own else None
    import pooch  # only here: nobody who brings features needs it

    return Path(pooch.os_cache("enstruct")) / "texts"


def kept(how: str, texts: Sequence[str], width: int, cache: bool | str | Path, compute: Compute) -> Features:
    """(texts, width) of distinct texts. ``how``: names the encoder's weights and settings."""
    folder = folder_of_cache(cache)
    if folder is None or len(texts) < LEAST:
        return compute([*texts])
    path = folder / f"{hashlib.sha256(how.encode()).hexdigest()}.sqlite"
    names = [hashlib.sha256(text.encode()).digest() for text in texts]
    out = np.empty((len(texts), width), dtype=np.float32)
    there = np.zeros(len(texts), dtype=bool)
    for row, features in _read(path, names, width):
        out[row], there[row] = features, True
    missing = np.flatnonzero(~there)
    if len(missing):
        out[missing] = compute([texts[row] for row in missing.tolist()])
        _write(path, [(names[row], (features := out[row].tobytes()) + _sum(names[row], features)) for row in missing])
    return out


def _read(path: Path, names: list[bytes], width: int) -> Iterator[tuple[int, Features]]:
    if not path.is_file():
        return
    place = {name: row for row, name in enumerate(names)}
    found: list[tuple[bytes, bytes]] = []
    try:
        with closing(sqlite3.connect(path, timeout=WAIT)) as file:
            for few in _in_parts(names):
                asked = ",".join("?" * len(few))
                found += file.execute(f"SELECT text, features FROM kept WHERE text IN ({asked})", few).fetchall()
        with suppress(OSError):  # another process has swept it since
            os.utime(path)
    except sqlite3.OperationalError as error:
        log.info("features of texts are not read: %s", error)
    except sqlite3.DatabaseError:
        with suppress(OSError):
            path.unlink()
        return
    for name, content in found:
        if isinstance(content, bytes) and len(content) == 4 * width + len(_sum(b"", b"")):
            features, summed = content[: 4 * width], content[4 * width :]
            if name in place and _sum(name, features) == summed:  # a bit may have turned on the disk
                yield place[name], np.frombuffer(features, dtype=np.float32)


def _sum(name: bytes, features: bytes) -> bytes:
    """What a row ends with, so that a damaged one is known."""
    return zlib.crc32(name + features).to_bytes(4, "little")


def _write(path: Path, rows: list[tuple[bytes, bytes]]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=WAIT)) as file, file:
            file.execute("CREATE TABLE IF NOT EXISTS kept (text BLOB PRIMARY KEY, features BLOB) WITHOUT ROWID")
            file.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)
        _sweep(path.parent, path)
    except (sqlite3.Error, OSError) as error:
        log.info("features of texts are not kept: %s", error)


def _sweep(folder: Path, present: Path) -> None:
    ours = (file for file in folder.glob("*.sqlite") if re.fullmatch(r"[0-9a-f]{64}", file.stem))
    files = sorted(ours, key=lambda file: file.stat().st_mtime, reverse=True)
    total = 0
    for file in files:
        total += file.stat().st_size
        if total > MOST_BYTES and file != present:
            file.unlink(missing_ok=True)


def _in_parts(names: list[bytes]) -> Iterator[Any]:
    return (names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE))
