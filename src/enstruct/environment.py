"""Where figures come from: versions and hardware."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

BOOSTING = ("catboost", "lightgbm")
"""Packages of which the default tries models where they are installed."""


def processor() -> str:
    """Its name: seconds depend on it, and so what is done within a budget of them."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor()


def versions() -> dict[str, str]:
    """Of what fits: processes that fit together have the same, be it for a GPU or not (torch's "+cpu")."""
    return {
        "enstruct": version("enstruct"),
        "torch": torch.__version__.partition("+")[0],
        "scikit-learn": version("scikit-learn"),
    }


def _version(package: str) -> str | None:
    """Of an installed one."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def environment() -> dict[str, Any]:
    """Versions and hardware, for the record."""
    return {
        **versions(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        **{name: found for name in BOOSTING if (found := _version(name)) is not None},
        **({"accelerator": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}),
    }
