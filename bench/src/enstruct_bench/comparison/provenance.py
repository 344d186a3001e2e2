"""What code a figure was made with, and on which machine where it does not say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import enstruct

FORMER_PROCESSOR = "Intel(R) Xeon(R) Processor"
"""What results that do not say their processor were made on."""


def present_commit(*further: Path) -> str | None:
    """Of the checkout the library runs from, "-dirty" where its code, or that of ``further`` folders, is not as there. Outside of
    one, as where it is installed below a project of somebody else's, what ENSTRUCT_COMMIT says, or None: a copy on another
    machine has no history."""
    here = Path(str(enstruct.__file__))

    def git(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], cwd=here.parent, capture_output=True, text=True, timeout=30, check=check)

    try:
        git("ls-files", "--error-unmatch", here.name)
        head = git("rev-parse", "--short", "HEAD").stdout.strip()
        changed = git("diff", "--quiet", "HEAD", "--", str(here.parent), *map(str, further), check=False).returncode
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("ENSTRUCT_COMMIT")
    return head + ("-dirty" if changed else "")
