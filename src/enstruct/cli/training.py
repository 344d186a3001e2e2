"""A training that can be interrupted and gone on with, whatever it trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import say
from enstruct.errors import ModelFileError
from enstruct.estimators.base import EnergyEstimator
from enstruct.estimators.persistence import check_place
from enstruct.methods.columns import idle_settings
from enstruct.training.callbacks import Callback
from enstruct.training.checkpoint import Checkpoint


@contextmanager
def resumable(out: Path, resume: bool, estimator: type) -> Iterator[list[Callback]]:
    """Callbacks of a fit: a bar, and OUT.checkpoint, which is deleted once the block (fit and save) has ended well.

    ModelFileError if one is there and it is not to be gone on with; also, and SaveError, if the model could not be written in
    the end. ``estimator``: whose model may be replaced there.
    """
    check_place(out, estimator.__name__)
    checkpoint = out.with_name(out.name + ".checkpoint")
    if checkpoint.exists() and not resume:
        raise ModelFileError(f"{checkpoint} is left from an interrupted run: add --resume to go on, or delete it.")
    bar = EpochBar("training")
    try:
        yield [Checkpoint(checkpoint, resume=resume), bar]
    except KeyboardInterrupt as end:
        if checkpoint.exists():
            end.add_note(f"{checkpoint} is kept: the same command with --resume goes on")
        raise
    finally:
        bar.close()
    checkpoint.unlink(missing_ok=True)


def say_what_is_idle(estimator: EnergyEstimator) -> None:
    """Name the settings that were given and do nothing for the method."""
    defaults = type(estimator)().get_params()
    given = {name for name, value in estimator.get_params().items() if name != "callbacks" and value != defaults[name]}
    if idle := sorted(given & idle_settings(estimator._method())):
        say(f"no effect on {estimator._method().name}: {', '.join(idle)}")
