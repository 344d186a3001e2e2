"""Parameters by the names that they had in enstruct 0.1: refused, with what they are called now."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from enstruct.errors import ConfigError

Init = TypeVar("Init", bound=Callable[..., Any])
RENAMED: Mapping[str, str] = {
    "max_iter": "max_epochs",
    "hypergradient": "method__coupling",
    "first": "method__update_first",
    "repeats": "method__rounds_per_batch",
    "energy_learning_rate": "method__energy_rate",
    **{
        name: f"method__{name}"
        for name in (
            *("energy_weight", "supervised_weight", "supervised", "warmup", "entropy_weight", "anchor_weight"),
            *("negatives", "n_samples", "cost", "inference", "sample_gradient", "energy_steps", "predictor_steps"),
            *("energy_clip", "validation_epochs"),
        )
    },
}


def check_not_renamed(estimator: type, names: Iterable[str]) -> None:
    """ConfigError for the first name that is one of enstruct 0.1's, unless the estimator has it still."""
    known = inspect.signature(cast(Any, estimator).__init__).parameters
    for name in names:
        now = RENAMED.get(name)
        if now is None or name in known:
            continue
        column = now.removeprefix("method__")
        if column == now:
            raise ConfigError(f"{name}= is called {now}= since enstruct 0.2.")
        more = ", which counts in the predictor's" if column == "energy_rate" else ""
        raise ConfigError(
            f"{name}= is the column {column} of the method since enstruct 0.2{more}: method=METHODS[...].with_({column}=...), "
            f"or set_params({now}=...)."
        )


def refuse_renamed(init: Init) -> Init:
    """A constructor that says of parameters by their former names what they are called now."""

    @wraps(init)
    def checked(self: Any, *args: Any, **named: Any) -> None:
        check_not_renamed(type(self), named)
        init(self, *args, **named)

    return cast(Init, checked)
