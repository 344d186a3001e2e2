"""What is killed: work done over and over, each time said once it is done. And what suffers a full disk or lost permissions, and
checks after each turn what is left, in a process of its own:

    python -m enstruct_bench.campaigns.victims KIND FOLDER TURNS SEED
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct import EnergyMultiLabelClassifier
from enstruct.errors import SaveError
from enstruct.files import write_json
from enstruct.metrics import Counts
from enstruct.workbench.journal import Journal
from enstruct.workplaces import recover
from enstruct_bench.campaigns.tiny import table
from enstruct_bench.comparison.results_file import Cell, ResultsFile

HEADER = {"task": "labels", "data": "d.csv", "rows": 1000, "names": ["calm", "sad"], "content": "abc"}
Turn = Callable[[int], str]
"""One turn, by its number; what it has done."""
Victim = Callable[[Path], Turn]
"""Begins in a folder."""


def models() -> tuple[Any, Any]:
    """Two that answer otherwise, of one kind."""
    X, y = table()
    networks = (EnergyMultiLabelClassifier("seal-nce", hidden=h, layers=1, max_epochs=1, random_state=0) for h in (4, 300))
    one, other = (network.fit(X, y) for network in networks)
    return one, other


def saving() -> Victim:
    both = models()

    def begin(folder: Path) -> Turn:
        def turn(k: int) -> str:
            both[k % 2].save(folder / "model")
            return "AB"[k % 2]

        return turn

    return begin


def exporting() -> Victim:
    from enstruct.export import export_onnx

    X, y = table()
    both = [EnergyMultiLabelClassifier("binary-relevance", random_state=0).fit(X, labels) for labels in (y, 1 - y)]
    with tempfile.TemporaryDirectory() as place:
        export_onnx(both[0], Path(place) / "first")  # what it imports is there from now on

    def begin(folder: Path) -> Turn:
        def turn(k: int) -> str:
            export_onnx(both[k % 2], folder / "exported", overwrite=True)
            return "AB"[k % 2]

        return turn

    return begin


def results() -> Victim:
    def begin(folder: Path) -> Turn:
        file = ResultsFile(folder / "results.json", {"data": "mine"}, {})

        def turn(k: int) -> str:
            seed = len(file.cells)
            file.run("dvn", seed, lambda: Cell({"method": "dvn", "seed": seed}, {"fixed": Counts.of(np.full(50, seed / 1000))}))
            return str(seed)

        return turn

    return begin


def answers() -> Victim:
    def begin(folder: Path) -> Turn:
        journal = Journal(folder / "answers.jsonl", HEADER)
        start = len(journal)

        def turn(k: int) -> str:
            name = f"n{start + k}"
            journal.tell(name, "tab", (start + k) % 1000, {"calm": k % 2 == 0}, False)
            return name

        return turn

    return begin


def figures() -> Victim:
    def begin(folder: Path) -> Turn:
        def turn(k: int) -> str:
            write_json(folder / "figures.json", {"turn": k, "numbers": [k] * 20_000})
            return str(k)

        return turn

    return begin


VICTIMS: dict[str, Callable[[], Victim]] = {
    "saving": saving,
    "exporting": exporting,
    "results": results,
    "answers": answers,
    "figures": figures,
}


def over_and_over(begin: Victim, folder: Path) -> int:
    """Turns without an end, each said once it is done, or once the library has refused it."""
    turn = begin(folder)
    for k in count():
        try:
            said = f"done {turn(k)}\n"
        except SaveError as error:
            said = f"refused {error}\n"
        os.write(1, said.encode())
    return 0


# -- hardships ----------------------------------------------------------------------------------------


def hard(folder: Path, turns: int, seed: int, hardship: Callable[[Path, random.Random], Any]) -> Iterator[str]:
    """Turns of saving, figures and answers under a hardship each; "defect ..." where something is left that should not be."""
    rng = random.Random(seed)
    both = models()
    X, _ = table()
    own = [model.predict_proba(X) for model in both]
    both[0].save(folder / "model")
    write_json(folder / "figures.json", {"turn": 0})
    journal = Journal(folder / "answers.jsonl", HEADER)
    told = 0
    for k in range(turns):
        what = rng.choice(("saving", "figures", "answers"))
        refused = ""
        with hardship(folder, rng):
            try:
                if what == "saving":
                    both[k % 2].save(folder / "model")
                elif what == "figures":
                    write_json(folder / "figures.json", {"turn": k, "numbers": [k] * rng.randrange(50_000)})
                else:
                    journal.tell(f"n{told}", "tab", k % 1000, {"calm": True, "x" * rng.randrange(5000): False}, False)
                    told += 1
            except SaveError as error:
                refused = str(error)
            except Exception as error:
                yield f"defect {what}: {type(error).__name__}: {error}"
                continue
        yield _left(folder, own, X, told, what, refused)
    journal.close()


def _left(folder: Path, own: list[Any], X: Any, told: int, what: str, refused: str) -> str:
    """Whether all is whole."""
    try:
        answer = EnergyMultiLabelClassifier.load(folder / "model").predict_proba(X)
        if not any(np.array_equal(answer, each) for each in own):
            return "defect: the model is neither the former nor the new one"
        json.loads((folder / "figures.json").read_text(encoding="utf-8"))
        if len(Journal.read(folder / "answers.jsonl")) != told:
            return "defect: an answer that was kept is lost, or one that was refused is there"
        for name in ("model", "figures.json"):
            recover(folder / name)  # as whoever saves there next does
        odd = {path.name for path in folder.iterdir()} - {"model", "figures.json", "answers.jsonl", "ballast"}
        if odd:
            return f"defect: {', '.join(sorted(odd))} is left behind"
    except Exception as error:
        return f"defect {what}: {type(error).__name__}: {error}"
    return f"refused {refused}" if refused else f"done {what}"


@contextmanager
def full_disk(folder: Path, rng: random.Random) -> Iterator[None]:
    """All but some thousand bytes of the disk are taken, on which nothing else lies."""
    ballast = folder / "ballast"
    state = os.statvfs(folder)
    left = rng.choice((0, 0, 1, 2, 5, 10, 20, 40, 100, 300)) * state.f_frsize
    with suppress(OSError), ballast.open("wb") as file:
        file.write(b"\0" * max(0, state.f_bavail * state.f_frsize - left))
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def large_files_refused(folder: Path, rng: random.Random) -> Iterator[None]:
    """Where no disk can be had to fill: files end at some thousand bytes (RLIMIT_FSIZE)."""
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (rng.choice((0, 100, 1000, 4000, 20_000)), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@contextmanager
def lost_permissions(folder: Path, rng: random.Random) -> Iterator[None]:
    """The folder may not be written from a random moment on."""
    timer = threading.Timer(rng.choice((0.0, rng.uniform(0, 0.02))), lambda: os.chmod(folder, 0o555))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        os.chmod(folder, 0o755)


def may_fill(folder: Path) -> bool:
    """Whether the folder is a disk of its own, a small one."""
    state = os.statvfs(folder)
    return state.f_blocks * state.f_frsize < 2**24


def main() -> None:
    torch.set_num_threads(1)
    kind, folder, turns, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    how = lost_permissions if kind == "permissions" else full_disk if may_fill(folder) else large_files_refused
    print(f"ready by {how.__name__}", flush=True)
    for said in hard(folder, turns, seed, how):
        print(said, flush=True)


if __name__ == "__main__":
    main()
