"""The file ``enstruct tune --json`` writes, read again: the best settings of each method."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enstruct.errors import ConfigError, DataError, ModelFileError
from enstruct.estimators.persistence import decode_parameter
from enstruct.methods import METHODS


def tuned_settings(path: Path, metric: str) -> dict[str, dict[str, Any]]:
    """Method -> parameters of the estimator. DataError for another kind of file, ConfigError for another metric's."""
    try:
        best = json.loads(path.read_text(encoding="utf-8"))["best"]
        metrics = {found["metric"] for found in best}
        settings = {f["method"]: {k: decode_parameter(v) for k, v in f["settings"].items()} for f in best}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ModelFileError) as error:
        raise DataError(f"{path} is no file of `enstruct tune --json` ({error}).") from error
    if metrics != {metric}:
        raise ConfigError(f"{path} was tuned for {', '.join(sorted(metrics))}; add --model.metric, or tune for {metric}.")
    return settings


def settings_of(method: str, tuned: dict[str, dict[str, Any]], path: Path) -> dict[str, Any]:
    """Of one method. ConfigError for one that was not searched, unless there is nothing to search: solvers choose their own."""
    if method in tuned:
        return tuned[method]
    if method in METHODS and METHODS[method].solver is not None:
        return {}
    raise ConfigError(f"{path} has no settings of {method} (it has {', '.join(tuned)}): tune all methods alike.")
