"""Progress bars: over epochs, fed by training callbacks, and of downloads, fed by pooch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from enstruct.training.callbacks import Callback

if TYPE_CHECKING:
    from enstruct.training.loop import Loop


class EpochBar(Callback):
    """One bar a fit; it ends early when training stops early. ``endless``: how many epochs there will be is not known."""

    def __init__(self, title: str, endless: bool = False) -> None:
        self.title, self.endless = title, endless
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def on_train_begin(self, loop: Loop) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
        self.bar = Progress(*columns, transient=True)
        total = None if self.endless else loop.game.settings.max_epochs * len(loop.game.method.stages)
        self.task = self.bar.add_task(self.title, total=total, note="")
        self.bar.start()

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None:
        if self.bar is not None and self.task is not None:
            done = record["stage"] * loop.game.settings.max_epochs + record["epoch"]
            self.bar.update(self.task, completed=done, note=f"epoch {record['epoch']} score {record['score']:.4f}")

    def on_train_end(self, loop: Loop) -> None:
        self.close()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


class DownloadBar:
    """On stderr, as what is fetched on the way is no part of a command's answer."""

    def __init__(self, name: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
        self.bar = Progress(*columns, transient=True, console=Console(stderr=True))
        self.task = self.bar.add_task(f"fetching {name}", total=None)
        self.bar.start()
        self.total = 0

    def update(self, n: int) -> None:
        self.bar.update(self.task, advance=n, total=self.total or None)

    def reset(self) -> None:
        """Before pooch's last update, which tells of the whole."""
        self.bar.reset(self.task)

    def close(self) -> None:
        self.bar.stop()


class _Note(logging.Handler):
    """Shows what the library logs beside a bar; warnings go where they would without it."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        super().__init__(logging.INFO)
        self.bar, self.task = bar, task

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING:
            self.bar.update(self.task, note=record.getMessage())
        elif logging.lastResort is not None and not logging.getLogger().handlers:  # which speaks only where nobody listens
            logging.lastResort.handle(record)


@contextmanager
def working_bar(title: str) -> Iterator[None]:
    """A bar for work of unknown length; beside it stands what was done last, as the library logs it."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
    log = logging.getLogger("enstruct")
    before = log.level
    with Progress(*columns, transient=True) as bar:
        note = _Note(bar, bar.add_task(title, total=None, note=""))
        log.addHandler(note)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(note)
            log.setLevel(before)


@contextmanager
def counting_bar(unit: str) -> Iterator[Callable[[int], None]]:
    """Gives ``told(number)``, which shows how many are done of a work of unknown length."""
    columns = (TextColumn("{task.fields[done]:,} {task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task(unit, total=None, done=0)
        yield lambda number: bar.update(task, done=number)


@contextmanager
def successive_bars(endless: bool = False) -> Iterator[Callable[[str], list[Callback]]]:
    """Gives ``bar(title)``, the callbacks of one fit after another; a bar ends where the next begins, or an error."""
    shown: list[EpochBar] = []

    def bar(title: str) -> list[Callback]:
        for earlier in shown:
            earlier.close()
        shown.append(EpochBar(title, endless))
        return [shown[-1]]

    try:
        yield bar
    finally:
        for each in shown:
            each.close()
