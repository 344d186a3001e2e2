"""Arguments by the names that they had in enstruct 0.1: refused, with what they are called now."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from enstruct.errors import ConfigError

Function = TypeVar("Function", bound=Callable[..., Any])
COLUMNS: Mapping[str, str] = {
    **{"hypergradient": "coupling", "first": "update_first", "repeats": "rounds_per_batch"},
    "energy_learning_rate": "energy_rate",
    **{
        name: name
        for name in (  # spelt out here: the command line asks before torch is imported
            *("energy_weight", "supervised_weight", "supervised", "warmup", "entropy_weight", "anchor_weight"),
            *("negatives", "n_samples", "cost", "inference", "sample_gradient", "energy_steps", "predictor_steps"),
            *("energy_clip", "validation_epochs"),
        )
    },
}
"""Arguments of constructors that are columns of the method's row now."""
RENAMED: Mapping[str, str] = {
    "hierarchy": "rules",
    **{"max_iter": "max_epochs", "callbacks": "member_callbacks", "Y_val": "y_val"},
    **{"sentences": "X", "tags": "y", "sentences_val": "X_val", "tags_val": "y_val"},
    **{"images": "X", "masks": "y", "images_val": "X_val", "masks_val": "y_val"},
}


def check_not_renamed(function: Callable[..., Any], names: Iterable[str]) -> None:
    """ConfigError for the first name that is one of enstruct 0.1's, unless the function has it still."""
    known = inspect.signature(function).parameters
    for name in names:
        if name in known:
            continue
        if name in RENAMED:
            raise ConfigError(f"{name}= is called {RENAMED[name]}= since enstruct 0.2.")
        if name in COLUMNS:
            column = COLUMNS[name]
            unit = ", which counts in the predictor's rate" if column == "energy_rate" else ""
            raise ConfigError(
                f"{name}= is the column {column} of the method since enstruct 0.2{unit}: "
                f"method=METHODS[...].with_({column}=...), or set_params(method__{column}=...)."
            )


def refuse_renamed(function: Function) -> Function:
    """A constructor or method that says of arguments by their former names what they are called now."""

    @wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        check_not_renamed(function, named)
        return function(*args, **named)

    return cast(Function, checked)
