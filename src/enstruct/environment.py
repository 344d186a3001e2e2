"""Where figures come from: versions and hardware."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

FORMER_PROCESSOR = "Intel(R) Xeon(R) Processor"
"""What results that do not say their processor were made on."""


def processor() -> str:
    """Its name: seconds depend on it, and so what is done within a budget of them."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.is_file()
        else []
    )
    return names[0] if names else platform.processor()


def environment() -> dict[str, Any]:
    """Versions and hardware, for the record."""
    return {
        "enstruct": version("enstruct"),
        "torch": torch.__version__,
        "scikit-learn": version("scikit-learn"),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }


def present_commit(*further: Path) -> str | None:
    """Of the checkout the library runs from, "-dirty" where its code, or that of ``further`` folders, is not as there. None
    outside of one, as where it is installed below a project of somebody else's."""
    here = Path(__file__)

    def git(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], cwd=here.parent, capture_output=True, text=True, timeout=30, check=check)

    try:
        git("ls-files", "--error-unmatch", here.name)
        head = git("rev-parse", "--short", "HEAD").stdout.strip()
        changed = git("diff", "--quiet", "HEAD", "--", str(here.parent), *map(str, further), check=False).returncode
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("-dirty" if changed else "")
