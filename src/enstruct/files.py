"""Writing files whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from enstruct.errors import SaveError


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
        part.unlink(missing_ok=True)
        raise SaveError(
            f"Could not write {path}: {error}. Nothing was changed; free some space or choose another place."
        ) from error


def replace_folder(path: Path, fill: Callable[[Path], Any]) -> None:
    """``fill`` a temporary folder beside ``path``, then swap it in; an existing folder survives a failure."""
    old: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    except OSError as error:
        raise SaveError(f"Could not write beside {path}: {error}.") from error
    try:
        fill(new)
        if path.exists():
            old = path.with_name(f".{path.name}.{os.getpid()}.old")
            os.replace(path, old)
        os.replace(new, path)
    except (OSError, SafetensorError, SaveError) as error:
        if old is not None and not path.exists():
            os.replace(old, path)
        raise SaveError(
            f"Could not save to {path}: {error}. Nothing was changed; free some space or choose another place."
        ) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
