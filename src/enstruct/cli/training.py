"""A training that can be interrupted and gone on with, whatever it trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from enstruct.cli.options import given_columns
from enstruct.cli.progress import successive_bars, working_bar
from enstruct.cli.tables import say
from enstruct.errors import ConfigError, ModelFileError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.estimators.base import EnergyEstimator
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.estimators.persistence import check_place
from enstruct.methods import Method
from enstruct.training.checkpoint import Checkpoint

OF_TRAINING = {
    *("hidden", "layers", "dropout", "nonlinearity", "learning_rate", "weight_decay", "clip", "batch_size", "optimizer"),
    *("max_epochs", "n_iter_no_change", "tol", "monitor", "learn_constant"),
}
"""Parameters of networks that learn batch by batch, which no solver has."""
OF_JOINT = {"method", "metric", "decision", "n_iter_no_change"}
"""Parameters of ``--model`` that a joint distribution has too."""
OF_PERCEPTRON = {"hidden", "dropout", "nonlinearity"}


@contextmanager
def resumable(out: Path, resume: bool, model: Any, first: bool = True) -> Iterator[None]:
    """Give the model a bar, and OUT.checkpoint, which is deleted once the block (fit and save) has ended well.

    ``first``: whether this process is the one that shows and deletes, of several that train together.

    ModelFileError if one is there and it is not to be gone on with; also, and SaveError, if the model could not be written in
    the end.
    """
    check_place(out, type(model).__name__)
    checkpoint = out.with_name(out.name + ".checkpoint")
    if checkpoint.exists() and not resume:
        raise ModelFileError(f"{checkpoint} is left from an interrupted run: add --resume to go on, or delete it.")
    joint = isinstance(model, JointMultiLabelClassifier)
    with successive_bars() as bar, working_bar("training") if joint else nullcontext():
        if hasattr(model, "member_callbacks"):
            model.member_callbacks = bar
        elif not joint:
            model.callbacks = [Checkpoint(checkpoint, resume=resume), *(bar("training") if first else [])]
        try:
            yield
        except KeyboardInterrupt as end:
            if checkpoint.exists():
                end.add_note(f"{checkpoint} is kept: the same command with --resume goes on")
            raise
    if first:
        checkpoint.unlink(missing_ok=True)


def say_what_is_idle(model: Any, options: Namespace) -> None:
    """Name the settings that were given and do nothing for the method."""
    if not isinstance(model, EnergyEstimator):
        return  # it has several methods, or none
    method = model._method()
    idle = (_changed(options, type(model)()) & idle_parameters(method)) | (given_columns(options).keys() & method.idle_columns())
    if idle:
        say(f"no effect on {method.name}: {', '.join(sorted(idle))}")


def refuse_of_networks(options: Namespace) -> None:
    """ConfigError for settings of networks, which a joint distribution would not heed."""
    columns = {f"method.{name}" for name in given_columns(options)}
    if given := {f"model.{name}" for name in _changed(options, EnergyMultiLabelClassifier()) - OF_JOINT} | columns:
        raise ConfigError(
            f"--{min(given)} is of a method's networks, and the method joint has none of its own: name one with it, as "
            "--model.method seal-nce, or leave it out."
        )


def _changed(options: Namespace, default: EnergyEstimator) -> set[str]:
    """Parameters that are not as in an estimator by default."""
    defaults = default.get_params(deep=False)
    return {name for name, value in vars(options.model).items() if name in defaults and value != defaults[name]}


def idle_parameters(method: Method) -> set[str]:
    """Parameters of an estimator that do nothing for the method, of those that the command line has."""
    idle = set(method.encoder)  # the row's own values count
    if method.encoder.get("layers") == 0:
        idle |= OF_PERCEPTRON
    if method.solver is not None:
        idle |= OF_TRAINING
    return idle


def how_trained(model: Any) -> str:
    """Of a fitted model, in a few words."""
    if isinstance(model, JointMultiLabelClassifier):
        base = "+".join(one.base.name for one in model.base_)
        gain = ", ".join(f"{name} {nats:.3f}" for name, nats in model.likelihoods_.items())
        compared = f"held-out -log p in nats: {gain}" if gain else "its rules left no time to compare others"
        return f"base {base}; energy {model.terms_} ({compared})"
    chosen = f"{len(model.members_)} members, answer: {model.chosen_}; " if hasattr(model, "members_") else ""
    return f"{chosen}{model.n_iter_} epochs"
