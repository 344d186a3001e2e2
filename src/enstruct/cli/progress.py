"""A progress bar over epochs, fed by training callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from enstruct.training.callbacks import Callback

if TYPE_CHECKING:
    from enstruct.training.loop import Loop


class EpochBar(Callback):
    """One bar a fit; it ends early when training stops early."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def on_train_begin(self, loop: Loop) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
        self.bar = Progress(*columns, transient=True)
        total = loop.game.settings.max_epochs * len(loop.game.method.stages)
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
