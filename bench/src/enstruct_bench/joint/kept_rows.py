"""Rows of figures that a file has already, and how a new one is said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enstruct.cli.tables import say
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.records import read_record
from enstruct_bench.comparison.whereabouts import parts_of, whereabouts


def kept_rows(path: Path | None, **settings: Any) -> list[dict[str, Any]]:
    """None where there is no file. DataError for one of something else, ConfigError for runs of other settings, or of versions or
    a processor that may not stand in one table with those here."""
    if path is None or not path.exists():
        return []
    content = read_record(path, {"rows": [dict]}, "no file of these runs")
    if other := [name for name, value in settings.items() if content.get(name) != value]:
        raise ConfigError(f"{path} holds runs of another {', '.join(other)} ({content.get(other[0])!r:.60}): name another file.")
    there, here = whereabouts(content.get("environment") or environment()), whereabouts(environment())
    if there != here:
        odd = next(name for name, value in parts_of(there).items() if value != parts_of(here)[name])
        raise ConfigError(f"{path} holds runs of another {odd} ({parts_of(there)[odd]:.60}): name another file.")
    return list(content["rows"])


def say_figures(row: Mapping[str, Any]) -> None:
    """The row's figures and names in a line, without what is longer."""
    say("; ".join(f"{name} {_shown(value)}" for name, value in row.items() if isinstance(value, (str, int, float))))
    for name, inner in row.get("shares", {}).items():
        say(f"  {name} told: " + "; ".join(f"{key} {_shown(one)}" for key, one in inner.items() if isinstance(one, (int, float))))


def _shown(value: str | float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
