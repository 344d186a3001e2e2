"""A training that can be interrupted and gone on with, whatever it trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enstruct.cli.progress import EpochBar
from enstruct.errors import ModelFileError
from enstruct.training.callbacks import Callback
from enstruct.training.checkpoint import Checkpoint


@contextmanager
def resumable(out: Path, resume: bool) -> Iterator[list[Callback]]:
    """Callbacks of a fit: a bar, and OUT.checkpoint, which is deleted once the block (fit and save) has ended well.

    ModelFileError if one is there and it is not to be gone on with.
    """
    checkpoint = out.with_name(out.name + ".checkpoint")
    if checkpoint.exists() and not resume:
        raise ModelFileError(f"{checkpoint} is left from an interrupted run: add --resume to go on, or delete it.")
    bar = EpochBar("training")
    try:
        yield [Checkpoint(checkpoint, resume=resume), bar]
    finally:
        bar.close()
    checkpoint.unlink(missing_ok=True)
