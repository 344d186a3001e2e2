"""Workers that are watched: one that does not answer in time, or dies, has met a defect, and another takes its place."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from enstruct.errors import ConfigError
from enstruct_bench.campaigns.trial import DEFECT
from enstruct_bench.campaigns.worker import campaign_of

TO_START = 300.0


class Worker:
    """One process of :mod:`enstruct_bench.campaigns.worker`, in a folder of its own."""

    def __init__(self, campaign: str, seed: int) -> None:
        self.seconds: float = campaign_of(campaign).SECONDS
        self._place = tempfile.TemporaryDirectory()
        self.folder = Path(self._place.name)
        self.errors = self.folder / "stderr"
        command = [sys.executable, "-m", "enstruct_bench.campaigns.worker", campaign, str(seed), str(self.folder / "trials")]
        (self.folder / "trials").mkdir()
        with self.errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
            )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if not self._line(TO_START):
            said = self.said()
            self.end()
            raise ConfigError(f"No worker of {campaign} starts: {said[-200:]}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _line(self, seconds: float) -> str:
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return ""

    def said(self) -> str:
        """The end of what the process wrote to stderr."""
        return self.errors.read_text(encoding="utf-8", errors="replace").strip()

    def tries(self, number: int) -> dict[str, Any] | None:
        """What became of a trial; None for one that did not end, after which the worker is of no more use."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{number}\n")
            self._process.stdin.flush()
        except OSError:
            return None
        line = self._line(self.seconds + 10)  # a trial's preparation counts as well
        return json.loads(line) if line else None

    def how_it_ended(self) -> str:
        code = self._process.poll()
        if code is None:
            return f"no answer after {self.seconds:.0f} s"
        return f"the process ended with {code}: {self.said()[-200:]}"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._place.cleanup()


def watched(campaign: str, numbers: Sequence[int], seed: int, workers: int = 1) -> Iterator[dict[str, Any]]:
    """What became of each of these trials, as they end."""
    waiting: queue.Queue[int] = queue.Queue()
    for number in numbers:
        waiting.put(number)
    ended: queue.Queue[dict[str, Any] | BaseException] = queue.Queue()

    def work() -> None:
        worker = None
        try:
            while True:
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    return
                worker = worker or Worker(campaign, seed)
                row = worker.tries(number)
                if row is None:
                    row = {"number": number, "group": "?", "change": "?", "verdict": DEFECT, "why": worker.how_it_ended()}
                    row |= {"seconds": worker.seconds, "peak": 0, "size": 0}
                    worker.end()
                    worker = None
                elif row["seconds"] > worker.seconds:
                    row |= {"verdict": DEFECT, "why": f"took {row['seconds']:.0f} s"}
                ended.put(row)
        except BaseException as error:
            ended.put(error)
        finally:
            if worker is not None:
                worker.end()

    for _ in range(workers):
        threading.Thread(target=work, daemon=True).start()
    for _ in numbers:
        row = ended.get()
        if isinstance(row, BaseException):
            raise row
        yield row
