"""Features of texts by a frozen encoder, kept in a folder by the content of both: what was computed once is read the next time.

A file a list of texts, named by the digest of the encoder and of every text. Those that were used longest ago go once there are
more than ``MOST_BYTES``. A file that cannot be read, or is of another size, is computed again; a folder that cannot be written
keeps nothing, which costs time alone.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import SaveError
from enstruct.files import replace_file

log = logging.getLogger("enstruct")
LEAST = 64
"""Texts that are worth a file."""
MOST_BYTES = 2**32
Compute = Callable[[], NDArray[np.float32]]


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


def kept(key: Any, texts: list[str], cache: bool | str | Path, compute: Compute) -> NDArray[np.float32]:
    """(texts, width). ``key``: a hash of ``hashlib`` that has taken in how they are computed."""
    folder = folder_of_cache(cache)
    if folder is None or len(texts) < LEAST:
        return compute()
    for text in texts:
        content = text.encode()
        key.update(len(content).to_bytes(8, "little") + content)
    path = folder / f"{key.hexdigest()}.npy"
    with suppress(OSError, ValueError, EOFError):
        features = np.load(path, allow_pickle=False)
        if features.dtype == np.float32 and features.ndim == 2 and len(features) == len(texts) and np.isfinite(features).all():
            os.utime(path)
            return features
    features = compute()
    try:
        replace_file(path, lambda part: _write(part, features))
        _sweep(folder)
    except (SaveError, OSError) as error:
        log.info("features of texts are not kept: %s", error)
    return features


def _write(path: Path, features: NDArray[np.float32]) -> None:
    with path.open("wb") as file:
        np.save(file, features, allow_pickle=False)


def _sweep(folder: Path) -> None:
    files = sorted(folder.glob("*.npy"), key=lambda file: file.stat().st_mtime, reverse=True)
    sizes = np.cumsum([file.stat().st_size for file in files])
    for file, total in zip(files[1:], sizes[1:], strict=True):
        if total > MOST_BYTES:
            file.unlink(missing_ok=True)
