"""What numbers that a caller gives may be, said in one way wherever they are taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from enstruct.errors import ConfigError


def check_numbers(**given: Any) -> None:
    """ConfigError for one that is there and no number."""
    for name, value in given.items():
        if not (value is None or isinstance(value, (int, float, np.number))):
            raise ConfigError(f"{name} must be a number, not {value!r}.")


def check_share(**given: Any) -> None:
    """ConfigError for one that is no part of a whole."""
    check_numbers(**given)
    for name, value in given.items():
        if not (value is not None and 0 < value < 1):
            raise ConfigError(f"{name} must lie between 0 and 1, not {value}.")


def check_given(**given: Any) -> None:
    """ConfigError for one that is None or no number."""
    check_numbers(**given)
    for name, value in given.items():
        if value is None:
            raise ConfigError(f"{name} must be a number, not None.")


def check_rates(**given: float | None) -> None:
    """ConfigError for one that is there and not positive: such would turn gradients round, or do nothing."""
    check_numbers(**given)
    for name, value in given.items():
        if value is not None and not value > 0:
            raise ConfigError(f"{name} must be positive, not {value!r}.")


def check_whole(least: int, **given: Any) -> None:
    """ConfigError for one that is no whole number from ``least`` on."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ConfigError(f"{name} must be a whole number from {least} on, not {value!r}.")


def check_dropout(dropout: Any) -> None:
    """ConfigError for what is no chance below 1."""
    if not (isinstance(dropout, (int, float, np.number)) and 0 <= dropout < 1):
        raise ConfigError(f"dropout must be a number from 0 to below 1, not {dropout!r}.")
