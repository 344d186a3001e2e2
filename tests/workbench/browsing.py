"""A real browser for the tests of the workbench: Debian's Chromium, driven by Playwright.

CI must have it, and axe-core from npm (``.ci/run`` installs both); elsewhere tests that need them are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import ClassVar, Self

import pytest

WHAT_IT_STARTS_WITH = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-first-run", "--disable-dev-shm-usage", "--disable-extensions"),
]


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        _missing("chromium (apt-get install chromium)")
    return found


def axe() -> str:
    """The program text of axe-core, which ENSTRUCT_AXE names."""
    path = Path(os.environ.get("ENSTRUCT_AXE", "/nowhere"))
    if not path.is_file():
        _missing("axe-core (npm install axe-core), with its axe.min.js in ENSTRUCT_AXE")
    return path.read_text(encoding="utf-8")


def _missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"CI must have {what}.")
    pytest.skip(f"{what} is not there")


class Workbench:
    """``enstruct`` in a process of its own: ``address`` is where its page is."""

    running: ClassVar[list[Self]] = []
    """Not yet ended: a test that fails leaves them to its fixture."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        command = [sys.executable, "-m", "enstruct.cli.main", *map(str, arguments)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self.running.append(self)
        self.said = []
        self.address = ""
        while not self.address:
            line = self.process.stdout.readline()
            self.said.append(line)
            assert line, "".join(self.said)
            if found := re.search(r"http://\S+", line):
                self.address = found[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.running.remove(self)

    def stop(self) -> str:
        """By Ctrl-C, or SIGTERM where these tests are a shell's background job, which does not hear Ctrl-C; what it said then."""
        unheard = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        self.process.send_signal(signal.SIGTERM if unheard else signal.SIGINT)
        rest = self.process.communicate(timeout=30)[0]
        self.running.remove(self)
        assert self.process.returncode == 0, rest
        return rest
