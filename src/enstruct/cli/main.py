"""The program ``enstruct``. Whatever ends it, from its first import on, is one line on stderr.

Exit codes: 0 done, 2 bad input, 130 interrupted (Ctrl-C), 141 nobody reads what is printed any more, 143 terminated (SIGTERM).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from threading import Timer

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
ENDS = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}


class Terminated(KeyboardInterrupt):
    """By SIGTERM: whatever cleans up after Ctrl-C cleans up after it."""


def main(arguments: Sequence[str] | None = None, commands: str = "enstruct.cli.commands") -> int:
    """One command; returns the exit code.

    ``arguments`` : without the program's name. None for those the program was called with; signals are handled then too.
    ``commands`` : the module whose ``prepared`` gives what does the work, imported here.
    """
    if arguments is None:
        # while modules are imported nothing is at work that would have to clean up, and an exception could get lost in a callback
        _on_signals(_leave)
        gc.disable()  # of what modules are made of hardly anything is garbage, and to look takes long
    try:
        work = import_module(commands).prepared(None if arguments is None else list(arguments))
        if arguments is None:
            _say_warnings_in_a_line()
            gc.freeze()
            gc.enable()
            sys.unraisablehook = _once_more
            _on_signals(_interrupt)
        return work()
    except KeyboardInterrupt as end:
        return _ended(end)
    finally:
        if arguments is None:
            _on_signals(_leave)  # nothing is left to clean up, and Python's own ending would print an exception


def _on_signals(handler: Callable[[int, object], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # a shell's background job does not hear Ctrl-C
            signal.signal(number, handler)


def _leave(number: int, frame: object) -> None:
    os.write(2, f"{ENDS[128 + number]}\n".encode())  # sys.stderr may be in use
    os._exit(128 + number)


def _interrupt(number: int, frame: object) -> None:
    if number == signal.SIGTERM:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # said once more, it would cut the cleaning up short
        raise Terminated
    raise KeyboardInterrupt


def _once_more(dropped: sys.UnraisableHookArgs) -> None:
    """Python drops what comes up in a callback of its collector: a signal that came up there is sent again, after it."""
    if not isinstance(dropped.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    number = signal.SIGTERM if isinstance(dropped.exc_value, Terminated) else signal.SIGINT
    signal.signal(number, _interrupt)
    again = Timer(0.02, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def _say_warnings_in_a_line() -> None:
    """Ours, as errors are: where in the library one came up says nothing to who typed a command."""
    from enstruct.errors import EnstructWarning

    usual = warnings.formatwarning

    def said(message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
        ours = issubclass(category, EnstructWarning)
        return f"warning: {message}\n" if ours else usual(message, category, filename, lineno, line)

    warnings.formatwarning = said


def _ended(end: KeyboardInterrupt) -> int:
    """How it ended and, from the notes of what it passed, what is kept."""
    code = TERMINATED if isinstance(end, Terminated) else INTERRUPTED
    with suppress(OSError):  # nobody listens
        print("; ".join([ENDS[code], *getattr(end, "__notes__", ())]), file=sys.stderr)
    flush_or_drop()
    return code


def flush_or_drop() -> None:
    """What was printed is shown, or, where it cannot be, goes nowhere: Python would try again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
