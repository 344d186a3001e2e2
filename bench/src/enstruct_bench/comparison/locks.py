"""Files that one process at a time works with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from enstruct.errors import SaveError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time, by a lock on the file ``path``; where the system has no such locks, the file alone is made.

    SaveError if that is not possible.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "w")  # noqa: SIM115
    except OSError as error:
        raise SaveError(f"Could not write in {path.parent}: {error}.") from error
    with file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Whether nobody else has the claim on the file ``path``, for as long as the block lasts; it ends with its process at last.

    Where the system has no locks everybody has it.
    """
    with open(path, "w") as file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        if fcntl is not None and not _is_still(path, file):  # opened before another holder, now gone, took its file away
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)


def _is_still(path: Path, file: IO[str]) -> bool:
    """Whether the open file is the one that is there."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
