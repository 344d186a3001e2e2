"""A training that can be interrupted and gone on with, whatever it trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from enstruct.cli.options import given_columns
from enstruct.cli.progress import successive_bars
from enstruct.cli.tables import say
from enstruct.errors import ModelFileError
from enstruct.estimators.base import EnergyEstimator
from enstruct.estimators.persistence import check_place
from enstruct.methods import Method
from enstruct.training.checkpoint import Checkpoint

OF_TRAINING = {
    *("hidden", "layers", "dropout", "nonlinearity", "learning_rate", "weight_decay", "clip", "batch_size", "optimizer"),
    *("max_epochs", "n_iter_no_change", "tol", "monitor", "learn_constant"),
}
"""Parameters of networks that learn batch by batch, which no solver has."""
OF_PERCEPTRON = {"hidden", "dropout", "nonlinearity"}


@contextmanager
def resumable(out: Path, resume: bool, model: Any) -> Iterator[None]:
    """Give the model a bar, and OUT.checkpoint, which is deleted once the block (fit and save) has ended well.

    ModelFileError if one is there and it is not to be gone on with; also, and SaveError, if the model could not be written in
    the end.
    """
    check_place(out, type(model).__name__)
    checkpoint = out.with_name(out.name + ".checkpoint")
    if checkpoint.exists() and not resume:
        raise ModelFileError(f"{checkpoint} is left from an interrupted run: add --resume to go on, or delete it.")
    with successive_bars() as bar:
        if hasattr(model, "member_callbacks"):
            model.member_callbacks = bar
        else:
            model.callbacks = [Checkpoint(checkpoint, resume=resume), *bar("training")]
        try:
            yield
        except KeyboardInterrupt as end:
            if checkpoint.exists():
                end.add_note(f"{checkpoint} is kept: the same command with --resume goes on")
            raise
    checkpoint.unlink(missing_ok=True)


def say_what_is_idle(model: Any, options: Namespace) -> None:
    """Name the settings that were given and do nothing for the method."""
    if not isinstance(model, EnergyEstimator):
        return  # it has several methods
    method, defaults = model._method(), type(model)().get_params(deep=False)
    changed = {name for name, value in vars(options.model).items() if name in defaults and value != defaults[name]}
    idle = (changed & idle_parameters(method)) | (given_columns(options).keys() & method.idle_columns())
    if idle:
        say(f"no effect on {method.name}: {', '.join(sorted(idle))}")


def idle_parameters(method: Method) -> set[str]:
    """Parameters of an estimator that do nothing for the method, of those that the command line has."""
    idle = set(method.encoder)  # the row's own values count
    if method.encoder.get("layers") == 0:
        idle |= OF_PERCEPTRON
    if method.solver is not None:
        idle |= OF_TRAINING
    if not method.is_density:
        idle.add("bayes_risk_samples")
    return idle
