"""A server killed again and again while answers come in: none is lost, none is kept twice.

A program sends answers to `enstruct label --new` one after another, and the same one again until it has been kept, as the page
does. At random moments the server is killed (SIGKILL) and started again. In the end the file is read: each answer that was said
to be kept must be in it, each name once, in the order in which they were sent, and rows must say what a replay of them says.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from enstruct.workbench.journal import Journal

ROWS, LABELS = 400, [f"l{k}" for k in range(8)]


class Server:
    """`enstruct label --new` in a process of its own, started again whenever it is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.address, self.starts = folder, "", 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "enstruct.cli.main", "label", "--new", "new.csv", "--labels", ",".join(LABELS)]
        command += ["--out", "answers.jsonl", "--order", "given"]
        self._process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        assert self._process.stdout is not None
        said = []
        while True:
            line = self._process.stdout.readline()
            said.append(line)
            if not line:
                raise RuntimeError("".join(said))
            if found := re.search(r"http://\S+", line):
                self.address = found[0]
                self.starts += 1
                return

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def campaign(answers: int, kills: int, seed: int) -> dict[str, Any]:
    """Counts of answers sent, kept, lost, twice; "sent again" counts those whose answer got lost on the way."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "new.csv").write_text("x\n" + "\n".join(str(k) for k in range(ROWS)) + "\n", encoding="utf-8")
        server = Server(folder)
        sent: list[dict[str, Any]] = []
        server.start()
        said: list[str] = []
        again = 0
        begin = time.monotonic()
        killed_at = sorted(rng.sample(range(1, answers), kills))
        for number in range(answers):
            cells = {rng.choice(LABELS): rng.random() < 0.5}
            act: dict[str, Any] = {"act": f"n{number}", "by": "me", "row": rng.randrange(ROWS), "cells": cells}
            sent.append(act)
            killer = None
            if killed_at and number == killed_at[0]:
                killed_at.pop(0)
                killer = threading.Timer(rng.uniform(0, 0.012), server.kill)  # before, while or after it is written
                killer.start()
            while True:
                try:
                    _post(f"{server.address}api/acts", act)
                    said.append(act["act"])
                    break
                except (OSError, urllib.error.URLError, ValueError):
                    if killer is not None:
                        killer.join()
                        killer = None
                        server.start()
                    again += 1
            if killer is not None:
                killer.join()
                server.start()
        server.kill()
        kept = [json.loads(line)["act"] for line in (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
        read = Journal.read(folder / "answers.jsonl")
        replayed: dict[int, dict[str, bool]] = {}
        for one in sent:
            replayed.setdefault(one["row"], {}).update(one["cells"])
        return {
            "answers": answers,
            "kills": kills,
            "starts": server.starts,
            "sent again": again,
            "lost": len(set(said) - set(kept)),
            "twice": len(kept) - len(set(kept)),
            "out of order": sum(a != b for a, b in zip(kept, [one["act"] for one in sent], strict=False)),
            "rows that say otherwise": sum(read.row(row).cells != cells for row, cells in replayed.items()),
            "seconds": time.monotonic() - begin,
        }


def _post(address: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())
