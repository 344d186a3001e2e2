"""Processes that are ended from outside: forked from this one, so that each begins at once with all imports made."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path


class Process:
    """``work`` in a process of its own, whose exit code is what it returns; its stdout and stderr go to files in ``folder``."""

    def __init__(self, work: Callable[[], int], folder: Path) -> None:
        self._out, self._errors = folder / "stdout", folder / "stderr"
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._child(work)

    def _child(self, work: Callable[[], int]) -> None:
        code = 1
        try:
            for place, number in ((self._out, 1), (self._errors, 2)):
                file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(file, number)
            code = work()
            sys.stdout.flush()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def ended(self, kill_after: float | None = None, by: int = signal.SIGKILL) -> int | None:
        """Its exit code, less than 0 by a signal that it did not hear, once it has ended, of itself or by a signal after so many
        seconds; None where it had ended before the signal."""
        timer, sent = None, threading.Event()
        if kill_after is not None:

            def kill() -> None:
                sent.set()
                os.kill(self.pid, by)

            timer = threading.Timer(kill_after, kill)
            timer.start()
        # not reaped before the timer is done: its number could be another's
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        if timer is not None:
            timer.cancel()
            timer.join()
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status) if kill_after is None or sent.is_set() else None

    def lines(self) -> list[str]:
        """Whole lines of what it printed."""
        text = self._out.read_text(encoding="utf-8", errors="replace") if self._out.exists() else ""
        return text.split("\n")[:-1]

    def errors(self) -> str:
        return self._errors.read_text(encoding="utf-8", errors="replace").strip() if self._errors.exists() else ""


def command(arguments: Sequence[str], folder: Path) -> Callable[[], int]:
    """``enstruct ARGUMENTS`` in a folder, with its own handling of signals, as the work of a :class:`Process`."""

    def work() -> int:
        from enstruct.cli.main import main

        os.chdir(folder)
        sys.argv = ["enstruct", *arguments]
        return main()

    return work
