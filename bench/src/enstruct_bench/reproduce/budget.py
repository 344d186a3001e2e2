"""An end to what runs, after so many minutes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from enstruct.errors import ConfigError


class _SpentError(KeyboardInterrupt):
    """By the alarm, and by nobody else."""


@contextmanager
def within(minutes: float | None, say: Callable[[str], None]) -> Iterator[None]:
    """Once so many minutes are spent, what runs inside is interrupted as by Ctrl-C, and this ends with a word; None: never.

    Commands keep what they have finished, and go on with it; but analyses begin anew. ConfigError where the system has no alarms.
    """
    if minutes is None:
        yield
        return
    if not hasattr(signal, "setitimer"):
        raise ConfigError("This system has no alarms to end other commands by: leave --budget out.")
    inside = True

    def end(number: int, frame: object) -> None:
        if inside:
            raise _SpentError

    former = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, 60 * minutes)
        yield
        inside = False
    except _SpentError:
        say("the budget is spent; what is finished is kept: run the command again to go on")
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
