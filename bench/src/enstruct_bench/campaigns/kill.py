"""Processes ended at random moments of their work, and disks and permissions that are gone in the middle of it.

training       `enstruct train --resume`, again and again until it is through: the model is that of a run that nobody touched, bit
               for bit; by SIGKILL, SIGTERM and SIGINT, of which the last two leave one line and no traceback
saving, exporting, results, figures, answers
               what stands there afterwards is what stood there, or the new, whole; what was said to be done is there
predicting, converting
               a command's output is there whole, or not
full disk      a disk of few bytes, filled before each turn; without leave to mount one, files that end early
permissions    a folder that may not be written from some moment on
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct import EnergyMultiLabelClassifier
from enstruct.data.on_disk import read_on_disk
from enstruct.workbench.journal import Journal
from enstruct.workplaces import recover
from enstruct_bench.campaigns.processes import Process, command
from enstruct_bench.campaigns.tiny import table
from enstruct_bench.campaigns.trial import ACCEPTED, DEFECT
from enstruct_bench.campaigns.victims import HEADER, VICTIMS, exported_answers, linear, models, over_and_over
from enstruct_bench.comparison.results_file import ResultsFile

Found = dict[str, Any]
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONFAULTHANDLER": ""}
TRAIN = ["--labels", "-2", "--model.method", "seal-nce", "--model.hidden", "64", "--model.max_epochs", "30", "--seed", "3"]
FORMER = "what stood there before"
CAP_DROP, OVERRIDE, SEARCH = 24, 1, 2
"""prctl(PR_CAPBSET_DROP), and the rights by which root writes where nobody may (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH)."""


def campaign(kills: int, seed: int, kinds: Sequence[str] = ()) -> Iterator[Found]:
    """So many kills, or hardships, shared among the kinds; what became of each, as :mod:`.command` counts it."""
    torch.set_num_threads(1)  # more would not live through a fork
    asked = [*(kinds or KINDS)]
    for k, kind in enumerate(asked):
        share = kills // len(asked) + (k < kills % len(asked))
        if not share:
            continue
        with tempfile.TemporaryDirectory() as place:
            for number, found in enumerate(KINDS[kind](Path(place), share, random.Random(f"kill {kind} {seed}"))):
                yield {"number": number, "group": kind, "change": "", "seconds": 0.0, "peak": 0, "size": 0, **found}


def _clean(how: str = "") -> Found:
    return {"verdict": ACCEPTED, "why": "", "change": how}


def _defect(why: str, how: str = "") -> Found:
    return {"verdict": DEFECT, "why": why, "change": how}


# -- commands -----------------------------------------------------------------------------------------


def _run(arguments: Sequence[str], folder: Path) -> None:
    """A command that nobody kills, and that must do."""
    process = _started(arguments, folder)
    code = process.ended()
    if code != 0:
        raise RuntimeError(f"{' '.join(arguments)} ends with {code}: {process.errors()[-300:]}")


def _started(arguments: Sequence[str], folder: Path) -> Process:
    beside = folder / "said"
    beside.mkdir(exist_ok=True)
    return Process(command(arguments, folder), beside)


def _how_it_ended(code: int | None, said: str, by: int) -> str:
    """What is wrong with it; nothing where it ended as it should."""
    if "Traceback" in said:
        return f"a traceback: {said[-200:]}"
    wanted = {signal.SIGKILL: (-signal.SIGKILL, 0), signal.SIGTERM: (143, 0), signal.SIGINT: (130, 0)}[signal.Signals(by)]
    if code is not None and code not in wanted:
        return f"exit code {code}: {said[-200:]}"
    word = {143: "terminated", 130: "interrupted"}.get(code or 0, "")
    if not (said.splitlines() or [""])[-1].startswith(word):
        return f"it does not say that it was {word}: {said[-200:]}"
    return ""


def _table(folder: Path, rows: int) -> None:
    generator = np.random.default_rng(0)
    lines = [
        ",".join([*(f"{value:.4f}" for value in generator.normal(size=6)), *map(str, generator.integers(0, 2, 2))])
        for _ in range(rows)
    ]
    (folder / "rows.csv").write_text("a,b,c,d,e,f,calm,sad\n" + "\n".join(lines) + "\n", encoding="utf-8")


def _weights(model: Path) -> str:
    """Of all tensors, and of the header without what tells when and where it was fitted."""
    header = json.loads((model / "model.json").read_text(encoding="utf-8"))
    kept = {name: header[name] for name in ("parameters", "decision", "rules", "labels", "weights", "updates")}
    return hashlib.sha256((json.dumps(kept, sort_keys=True)).encode() + (model / "weights.safetensors").read_bytes()).hexdigest()


def training(folder: Path, kills: int, rng: random.Random) -> Iterator[Found]:
    _table(folder, 200)
    begin = time.monotonic()
    _run(["train", "rows.csv", *TRAIN, "--out", "whole"], folder)
    lasts, whole = time.monotonic() - begin, _weights(folder / "whole")
    left = kills
    while left > 0:
        shutil.rmtree(folder / "killed", ignore_errors=True)
        while True:
            process = _started(["train", "rows.csv", *TRAIN, "--out", "killed", "--resume"], folder)
            by = rng.choice(SIGNALS)
            if left <= 0:
                code, said = process.ended(), process.errors()
                if code != 0 or _weights(folder / "killed") != whole:
                    yield _defect(f"resumed to another model, or not at all: {code} {said[-200:]}", "the end")
                break
            code = process.ended(rng.uniform(0.05 * lasts, 1.1 * lasts), by)
            said = process.errors()
            if code is None or (folder / "killed").exists():
                same = (folder / "killed").exists() and _weights(folder / "killed") == whole
                if not same:
                    yield _defect(f"resumed to another model, or to none: {said[-200:]}", signal.Signals(by).name)
                elif code is not None:
                    left -= 1
                    yield _clean(signal.Signals(by).name)
                break
            left -= 1
            wrong = _how_it_ended(code, said, by)
            yield _defect(wrong, signal.Signals(by).name) if wrong else _clean(signal.Signals(by).name)


def _of_output(
    arguments: Sequence[str], out: str, whole: Callable[[Path], bool]
) -> Callable[[Path, int, random.Random], Iterator[Found]]:
    """Kills of a command that writes one output, which must be there whole or as it was."""

    def kind(folder: Path, kills: int, rng: random.Random) -> Iterator[Found]:
        _table(folder, 30_000)
        _run(["train", "rows.csv", "--labels", "-2", "--model.method", "binary-relevance", "--out", "model"], folder)
        begin = time.monotonic()
        _run(arguments, folder)
        lasts, place = time.monotonic() - begin, folder / out
        for _ in range(kills):
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
            former = place.suffix != "" and rng.random() < 0.5
            if former:
                place.write_text(FORMER, encoding="utf-8")
            by = rng.choice(SIGNALS)
            process = _started([*arguments, *(["--overwrite"] if former else [])], folder)
            code = process.ended(rng.uniform(0.2 * lasts, 1.05 * lasts), by)
            said = process.errors()
            wrong = _how_it_ended(code, said, by)
            if not wrong and former and not place.exists():
                wrong = "what stood there is gone"
            stands = former and place.exists() and place.read_text(encoding="utf-8") == FORMER
            if not wrong and place.exists() and not stands and not whole(place):
                wrong = "the output is not whole"
            if not wrong and code == 0 and not place.exists():
                wrong = "it ends with 0, and there is no output"
            yield _defect(wrong, signal.Signals(by).name) if wrong else _clean(signal.Signals(by).name)

    return kind


# -- loops --------------------------------------------------------------------------------------------


def _of_victim(
    kind: str, left: Callable[[Path, list[str]], str], most: float
) -> Callable[[Path, int, random.Random], Iterator[Found]]:
    """SIGKILL within ``most`` seconds of work that is done over and over; ``left`` says what is wrong with what is there."""

    def killed(folder: Path, kills: int, rng: random.Random) -> Iterator[Found]:
        place = folder / "place"
        place.mkdir()
        prepared = VICTIMS[kind]()  # before the fork: what is imported, and fitted
        for _ in range(kills):
            process = Process(lambda: over_and_over(prepared, place), folder)
            process.ended(rng.uniform(0, most))
            said = process.lines()
            refused = [line for line in said if line.startswith("refused")]
            wrong = process.errors()[-200:] or (refused[0] if refused else "")
            wrong = wrong or left(place, [line.removeprefix("done ") for line in said])
            yield _defect(wrong, "SIGKILL") if wrong else _clean("SIGKILL")

    return killed


def _victim(kind: str, folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "enstruct_bench.campaigns.victims", kind, str(folder), *more]


def _guarded(left: Callable[[Path, list[str]], str]) -> Callable[[Path, list[str]], str]:
    def checked(folder: Path, said: list[str]) -> str:
        try:
            return left(folder, said)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    return checked


class _Saved:
    """The model is the last that was said to be saved, or the one that was being saved; nothing lies beside it."""

    def __init__(self) -> None:
        self._own: list[Any] = []
        self._standing: int | None = None

    def __call__(self, folder: Path, said: list[str]) -> str:
        X, _ = table()
        self._own = self._own or [model.predict_proba(X) for model in models()]
        last = int(said[-1]) if said else self._standing
        being_saved = (int(said[-1]) + 1) % 3 if said else 0
        if last is None and not (folder / "model").exists():
            return ""
        answer = EnergyMultiLabelClassifier.load(folder / "model").predict_proba(X)
        found = [k for k, own in enumerate(self._own) if np.array_equal(answer, own)]
        if not found or found[0] not in (last, being_saved):
            return f"the model is {found or 'none of the three'}, and {last} was saved last, then {being_saved}"
        self._standing = found[0]
        recover(folder / "model")  # as whoever saves there next does
        odd = {path.name for path in folder.iterdir()} - {"model"}
        return f"{', '.join(sorted(odd))} is left behind" if odd else ""


def _exported(folder: Path, said: list[str]) -> str:
    place = folder / "exported"
    if not place.exists():
        return "what was said to be exported is not there" if said else ""
    X, _ = table()
    answer = exported_answers(place, X)
    return "" if any(np.allclose(answer, model.predict_proba(X), atol=1e-5) for model in linear()) else "it is neither of the two"


def _kept_results(folder: Path, said: list[str]) -> str:
    file = ResultsFile(folder / "results.json", {"data": "mine"}, {})
    missing = {int(seed) for seed in said} - {seed for _, seed in file.cells}
    if missing:
        return f"cells {sorted(missing)} were said to be kept, and are lost"
    wrong = [seed for (_, seed), cell in file.cells.items() if not np.allclose(cell.rows["fixed"].above, seed / 1000)]
    return f"cells {wrong} have scores of others" if wrong else ""


class _KeptFigures:
    """Those of the last turn that was said to be done, or of the next."""

    def __init__(self) -> None:
        self._standing: int | None = None

    def __call__(self, folder: Path, said: list[str]) -> str:
        path = folder / "figures.json"
        last = int(said[-1]) if said else self._standing
        if last is None and not path.exists():
            return ""
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["numbers"] != [content["turn"]] * 20_000:
            return "it is not whole"
        if content["turn"] not in (last, int(said[-1]) + 1 if said else 0):
            return f"it is of turn {content['turn']}, and {last} was done last"
        self._standing = content["turn"]
        return ""


def _kept_answers(folder: Path, said: list[str]) -> str:
    if not (folder / "answers.jsonl").exists():
        return "there is no file of answers" if said else ""
    journal = Journal(folder / "answers.jsonl", HEADER)
    try:
        lost = [name for name in said if not journal.knows(name)]
        return f"{len(lost)} answers that were said to be kept are lost" if lost else ""
    finally:
        journal.close()


# -- hardships ----------------------------------------------------------------------------------------


def _hard(kind: str) -> Callable[[Path, int, random.Random], Iterator[Found]]:
    def turns(folder: Path, kills: int, rng: random.Random) -> Iterator[Found]:
        victim = _victim(kind, folder, str(kills), str(rng.randrange(2**31)))
        whole = victim
        if kind == "full disk" and _may_mount():
            mount = f"mount -t tmpfs -o size=1500k none '{folder}' && exec \"$@\""
            whole = ["unshare", "-rm", "sh", "-c", mount, "sh", *victim]
        process = subprocess.Popen(
            whole,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            preexec_fn=_without_override if kind == "permissions" else None,
        )
        said, errors = process.communicate()
        first, *lines = said.splitlines() or [""]
        how = first.removeprefix("ready by ").replace("_", " ")
        for line in lines:
            yield (
                _defect(line, how)
                if line.startswith("defect")
                else _clean(f"{how}, {'refused' if line.startswith('refused') else 'done'}")
            )
        if len(lines) < kills or process.returncode != 0:
            yield _defect(f"the process ends with {process.returncode}: {errors.strip()[-200:]}", how)

    return turns


def _may_mount() -> bool:
    """Whether a disk of one's own can be had."""
    try:
        return subprocess.run(["unshare", "-rm", "true"], capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _without_override() -> None:
    """Root, too, may not write where nobody may."""
    for right in (OVERRIDE, SEARCH):
        ctypes.CDLL(None).prctl(CAP_DROP, right, 0, 0, 0)


def _is_table(path: Path) -> bool:
    return len(path.read_text(encoding="utf-8").splitlines()) == 30_000


def _is_converted(path: Path) -> bool:
    return len(read_on_disk(path)) == 30_000


KINDS: dict[str, Callable[[Path, int, random.Random], Iterator[Found]]] = {
    "training": training,
    "saving": _of_victim("saving", _guarded(_Saved()), 0.5),
    "exporting": _of_victim("exporting", _guarded(_exported), 4.0),
    "results": _of_victim("results", _guarded(_kept_results), 0.5),
    "figures": _of_victim("figures", _guarded(_KeptFigures()), 0.3),
    "answers": _of_victim("answers", _guarded(_kept_answers), 0.3),
    "predicting": _of_output(["predict", "model", "rows.csv", "--out", "out.txt"], "out.txt", _is_table),
    "converting": _of_output(["data", "convert", "rows.csv", "folder", "--labels", "-2"], "folder", _is_converted),
    "full disk": _hard("full disk"),
    "permissions": _hard("permissions"),
}
