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
from enstruct.training.checkpoint import Checkpoint
from enstruct.workbench.journal import Journal
from enstruct.workplaces import recover
from enstruct_bench.campaigns.tiny import table
from enstruct_bench.comparison.results_file import Cell, ResultsFile

HEADER = {"task": "labels", "data": "d.csv", "rows": 1000, "names": ["calm", "sad"], "content": "abc"}
Turn = Callable[[int], str]
"""One turn, by its number; what it has done."""
Victim = Callable[[Path], Turn]
"""Begins in a folder."""


def models() -> list[Any]:
    """Three that answer otherwise, of one kind."""
    X, y = table()
    settings: dict[str, Any] = {"layers": 1, "max_epochs": 1, "random_state": 0}
    return [EnergyMultiLabelClassifier("seal-nce", hidden=hidden, **settings).fit(X, y) for hidden in (4, 300, 50)]


def linear() -> list[Any]:
    """Two, of whom one says the contrary of the other."""
    X, y = table()
    return [EnergyMultiLabelClassifier("binary-relevance", random_state=0).fit(X, labels) for labels in (y, 1 - y)]


def saving() -> Victim:
    several = models()

    def begin(folder: Path) -> Turn:
        def turn(k: int) -> str:
            several[k % 3].save(folder / "model")
            return str(k % 3)

        return turn

    return begin


def exporting() -> Victim:
    from enstruct.export import export_onnx

    both = linear()
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
    """Turns of work under a hardship each: "done" or "refused", "defect ..." where something is left that should not be."""
    rng = random.Random(seed)
    work = _Work(folder)
    for k in range(turns):
        what = rng.choice((*("saving", "figures", "answers") * 2, "training", "exporting"))
        refused = ""
        with hardship(folder, rng):
            try:
                getattr(work, what)(k, rng)
            except SaveError as error:
                refused = str(error)
            except Exception as error:
                yield f"defect {what}: {type(error).__name__}: {error}"
                continue
        try:
            wrong = work.wrong()
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        yield f"defect {what}: {wrong}" if wrong else f"refused {refused}" if refused else f"done {what}"
    work.journal.close()


class _Work:
    """A model, an export, a file of figures, answers and a training that is gone on with, all in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.models = folder, models()
        self.X, self.y = table()
        self.own = [model.predict_proba(self.X) for model in self.models]
        self.linear = linear()
        self.trained = self._training(None).predict_proba(self.X)
        self.journal, self.told = Journal(folder / "answers.jsonl", HEADER), 0
        self.standing: dict[str, int] = {}  # what was done last, by what it was
        self.saving(0)
        self.figures(0, random.Random(0))

    def saving(self, k: int, rng: random.Random | None = None) -> None:
        self.models[k % 3].save(self.folder / "model")
        self.standing["model"] = k % 3

    def figures(self, k: int, rng: random.Random) -> None:
        write_json(self.folder / "figures.json", {"turn": k, "numbers": [k] * rng.randrange(50_000)})
        self.standing["figures"] = k

    def answers(self, k: int, rng: random.Random) -> None:
        self.journal.tell(f"n{self.told}", "tab", k % 1000, {"calm": True, "x" * rng.randrange(5000): False}, False)
        self.told += 1

    def exporting(self, k: int, rng: random.Random) -> None:
        from enstruct.export import export_onnx

        export_onnx(self.linear[k % 2], self.folder / "exported", overwrite=True)
        self.standing["exported"] = k % 2

    def training(self, k: int, rng: random.Random) -> None:
        self._training(Checkpoint(self.folder / "going.safetensors", resume=True))

    def _training(self, checkpoint: Checkpoint | None) -> Any:
        callbacks = [] if checkpoint is None else [checkpoint]
        network = EnergyMultiLabelClassifier("seal-nce", hidden=4, layers=1, max_epochs=3, random_state=0, callbacks=callbacks)
        return network.fit(self.X, self.y)

    def wrong(self) -> str:
        """What is wrong with what is there, now that nothing is in the way; nothing where all is whole."""
        answer = EnergyMultiLabelClassifier.load(self.folder / "model").predict_proba(self.X)
        if not np.array_equal(answer, self.own[self.standing["model"]]):
            return "the model is not the last that was saved"
        if json.loads((self.folder / "figures.json").read_text(encoding="utf-8"))["turn"] != self.standing["figures"]:
            return "the figures are not the last that were written"
        if len(Journal.read(self.folder / "answers.jsonl")) != self.told:
            return "an answer that was kept is lost, or one that was refused is there"
        if "exported" in self.standing:
            answer = exported_answers(self.folder / "exported", self.X)
            if not np.allclose(answer, self.linear[self.standing["exported"]].predict_proba(self.X), atol=1e-5):
                return "the export is not the last that was made"
        going = self.folder / "going.safetensors"
        if going.exists():
            again = self._training(Checkpoint(going, resume=True)).predict_proba(self.X)
            going.unlink()
            if not np.array_equal(again, self.trained):
                return "training went on to another model"
        for name in ("model", "figures.json", "exported", going.name):
            recover(self.folder / name)  # as whoever saves there next does
        ours = {"model", "figures.json", "answers.jsonl", "exported", "ballast"}
        odd = {path.name for path in self.folder.iterdir()} - ours
        return f"{', '.join(sorted(odd))} is left behind" if odd else ""


def exported_answers(place: Path, X: Any) -> Any:
    """The probabilities that an export answers."""
    import onnxruntime

    return onnxruntime.InferenceSession(str(place / "model.onnx")).run(None, {"features": X.astype(np.float32)})[0]


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
