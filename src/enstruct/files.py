"""Writing files whole or not at all, and reading archives that may be damaged."""

from __future__ import annotations

import errno
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
from enstruct.workplaces import FORMER, exchange, workplace

SWAPS = 100
"""Attempts to put a folder in its place while others do."""


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


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """One safetensors file, put in place by a rename."""
    contiguous = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
    replace_file(path, lambda part: save_file(contiguous, part, metadata))


def replace_file(path: Path, write: Callable[[Path], Any]) -> None:
    """``write`` a file in a :func:`workplace`, then rename it to ``path``; SaveError and no trace if it fails."""
    with _saving(path), workplace(path) as folder:
        write(folder / path.name)
        os.replace(folder / path.name, path)


def write_text(path: Path, text: str) -> None:
    """In UTF-8, whole or not at all; SaveError."""
    replace_file(path, lambda part: part.write_text(text, encoding="utf-8"))


def write_json(path: Path, content: Any) -> None:
    """Indented, whole or not at all; SaveError."""
    write_text(path, json.dumps(content, indent=1))


def replace_folder(path: Path, fill: Callable[[Path], Any], check: Callable[[Path], Any] = lambda path: None) -> None:
    """``fill`` a folder in a :func:`workplace`, then put it at ``path`` in one step. What was there survives a failure.

    ``check`` is asked about ``path`` right before, and raises where what stands there must not be replaced. A link stays: what it
    leads to is replaced. SaveError.
    """
    path = path.resolve()
    with _saving(path), workplace(path) as folder:
        new = folder / "new"
        new.mkdir()  # with the permissions that new folders have here
        fill(new)
        check(path)
        _put(new, path, folder / FORMER)


def _put(new: Path, path: Path, former: Path) -> None:
    """``new`` at ``path``; what was there is in its place or at ``former`` afterwards, for the workplace to remove."""
    for _ in range(SWAPS):
        try:
            exchange(new, path)
            return
        except FileNotFoundError:  # nothing is there yet
            pass
        except NotImplementedError:
            shutil.rmtree(former, ignore_errors=True)  # of the attempt before; another process has replaced it since
            with suppress(FileNotFoundError):
                os.rename(path, former)
        try:
            os.rename(new, path)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else another process has put one there meanwhile
                raise
    raise SaveError(f"{path} is being replaced by others all the time: try again, or choose another place.")


@contextmanager
def _saving(path: Path) -> Iterator[None]:
    """The system's errors as SaveError."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        if isinstance(error, SaveError) and error.__cause__ is None:
            raise
        cause = error.__cause__ if isinstance(error, SaveError) else error  # of a file in the folder: its own path says nothing
        full = isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)
        mend = "free some space" if full else "choose another place"
        raise SaveError(f"Could not write {path}: {cause}. Nothing was changed; {mend}.") from error
