"""Writing files whole or not at all, and reading archives that may be damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from enstruct.errors import SaveError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def load_arrays(file: Path | IO[bytes]) -> dict[str, Any]:
    """Of an .npz archive, without pickled objects. ValueError whatever is wrong with its bytes: zipfile and NumPy raise many
    kinds of errors. OSError if it cannot be read."""
    if isinstance(file, Path):
        with open(file, "rb") as opened:  # NumPy would leave a damaged one open
            return load_arrays(opened)
    try:
        with np.load(file, allow_pickle=False) as archive:
            return dict(archive)
    except Exception as error:
        raise ValueError(str(error) or type(error).__name__) from error


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


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """One safetensors file, put in place by a rename."""
    contiguous = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
    replace_file(path, lambda part: save_file(contiguous, part, metadata))


def replace_file(path: Path, write: Callable[[Path], Any]) -> None:
    """``write`` a neighbouring temporary file, then rename it to ``path``; SaveError and no trace if it fails."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        os.replace(part, path)
    except (OSError, SafetensorError) as error:
        raise SaveError(
            f"Could not write {path}: {error}. Nothing was changed; free some space or choose another place."
        ) from error
    finally:
        with suppress(OSError):  # a parent that is a file, say
            part.unlink(missing_ok=True)  # whatever ended the writing, Ctrl-C too


def write_text(path: Path, text: str) -> None:
    """In UTF-8, whole or not at all; SaveError."""
    replace_file(path, lambda part: part.write_text(text, encoding="utf-8"))


def write_json(path: Path, content: Any) -> None:
    """Indented, whole or not at all; SaveError."""
    write_text(path, json.dumps(content, indent=1))


def replace_folder(path: Path, fill: Callable[[Path], Any]) -> None:
    """``fill`` a temporary folder beside ``path``, then swap it in; an existing folder survives a failure, Ctrl-C too.

    A link stays: what it leads to is replaced.
    """
    path = path.resolve()
    new, old = (path.with_name(f".{path.name}.{os.getpid()}.{word}") for word in ("part", "old"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()  # with the permissions that new folders have here
    except OSError as error:
        raise SaveError(f"Could not write beside {path}: {error}.") from error
    try:
        fill(new)
        if path.exists():
            os.replace(path, old)
        os.replace(new, path)
    except (OSError, SafetensorError, SaveError) as error:
        reason = error.__cause__ or error  # a SaveError's own advice and path would stand there twice
        raise SaveError(
            f"Could not save to {path}: {reason}. Nothing was changed; free some space or choose another place."
        ) from error
    finally:
        if old.exists() and not path.exists():
            os.replace(old, path)
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
