"""Long use: predictions by the hundred thousand in threads, and in processes forked and spawned; fits one after another.

Answers must be those of the first call, whoever asks; memory must stay where it was after the first tenth.
"""

from __future__ import annotations

import gc
import multiprocessing
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger, JointMultiLabelClassifier
from enstruct_bench.campaigns.small_models import NETWORK, Small, labelled, small
from enstruct_bench.campaigns.trial import ACCEPTED, DEFECT
from enstruct_bench.campaigns.worker import status

THREADS = 8
KINDS = ("network", "by inference", "forest", "joint", "tagger", "segmenter", "texts")
MOST_SECONDS = 3600
MOST_GROWTH = 32 * 2**20
"""Bytes that memory may grow by after the first tenth: what allocators keep for themselves."""
LOADERS: dict[str, Any] = {"joint": JointMultiLabelClassifier, "tagger": EnergySequenceTagger, "segmenter": EnergySegmenter}


def campaign(predictions: int, fits: int, processes: int) -> Iterator[dict[str, Any]]:
    """A line for every kind and way; ``predictions`` are shared among them. So many processes are forked, and spawned."""
    torch.set_num_threads(1)
    gc.freeze()  # what imports have made stays, and each of many collections would look through all of it
    each = max(THREADS, predictions // (3 * len(KINDS)))
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            small(kind).model.save(Path(folder) / kind)
            yield _found(f"{kind}: {THREADS} threads", each, partial(_threads, small(kind), each))
        for start in ("fork", "spawn"):
            begin = time.monotonic()
            for kind, (wrong, growth) in _processes(Path(folder), start, each, processes).items():
                found = _found(f"{kind}: {processes} processes, {start}", each, lambda w=wrong, g=growth: (w, g))  # type: ignore[misc]
                yield {**found, "seconds": time.monotonic() - begin}
    yield _found("fits", fits, partial(_fits, fits))


def _found(title: str, count: int, work: Callable[[], tuple[str, float]]) -> dict[str, Any]:
    begin = time.monotonic()
    try:
        wrong, growth = work()
    except Exception as error:
        wrong, growth = f"{type(error).__name__}: {error}", 0.0
    if not wrong and growth > MOST_GROWTH:
        wrong = f"memory grew by {growth / 2**20:.0f} MiB"
    verdict = DEFECT if wrong else ACCEPTED
    row = {"number": 0, "group": title, "change": f"{count}", "verdict": verdict, "why": wrong, "count": count}
    return {**row, "seconds": time.monotonic() - begin, "peak": max(0.0, growth), "size": 0}


def resident() -> int:
    gc.collect()
    return status("VmRSS")


class _Asked:
    """Some rows asked one at a time, each answer held against the first."""

    def __init__(self, model: Any, rows: Any) -> None:
        self.model, self.rows = model, [rows[k : k + 1] for k in range(len(rows))]
        self.first = [self._answer(row) for row in self.rows]

    def _answer(self, row: Any) -> list[Any]:
        told = [self.model.predict(row), self.model.predict_proba(row)]
        listed = [one[0] if isinstance(one, list) else one for one in told]
        return [np.asarray(one.toarray() if hasattr(one, "toarray") else one) for one in listed]

    def wrong(self, k: int) -> bool:
        at = k % len(self.rows)
        return not all(np.array_equal(a, b) for a, b in zip(self._answer(self.rows[at]), self.first[at], strict=True))


def _threads(one: Small, count: int) -> tuple[str, float]:
    asked = _Asked(one.model, one.rows)
    for k in range(count // 10):
        asked.wrong(k)
    before = resident()
    wrong: list[str] = []

    def work(number: int) -> None:
        try:
            other = sum(asked.wrong(k) for k in range(number, count, THREADS))
            if other:
                wrong.append(f"{other} answers are others")
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (wrong[0] if wrong else ""), resident() - before


def _in_process(folder: Path, count: int, rows: dict[str, Any], first: dict[str, Any], out: Any) -> None:
    """One process's share of every kind; puts kind -> (what is wrong, how memory grew)."""
    torch.set_num_threads(1)
    gc.freeze()
    found: dict[str, tuple[str, float]] = {}
    for kind in rows:
        try:
            asked = _Asked(LOADERS.get(kind, EnergyMultiLabelClassifier).load(folder / kind), rows[kind])
            same = all(
                np.array_equal(a, b) for x, y in zip(asked.first, first[kind], strict=True) for a, b in zip(x, y, strict=True)
            )
            for k in range(count // 10):
                asked.wrong(k)
            before = resident()
            other = sum(asked.wrong(k) for k in range(count))
            found[kind] = "" if same and not other else f"{other or 'the first'} answers are others", resident() - before
        except Exception as error:
            found[kind] = f"{type(error).__name__}: {error}", 0
    out.put(found)


def _processes(folder: Path, start: str, count: int, number: int) -> dict[str, tuple[str, float]]:
    """By kind, the worst of all processes."""
    context: Any = multiprocessing.get_context(start)
    rows = {kind: small(kind).rows for kind in KINDS}
    first = {kind: _Asked(small(kind).model, rows[kind]).first for kind in KINDS}
    out = context.Queue()
    processes = [context.Process(target=_in_process, args=(folder, count // number, rows, first, out)) for _ in range(number)]
    for process in processes:
        process.start()
    said: list[dict[str, tuple[str, float]]] = []
    ends = time.monotonic() + MOST_SECONDS
    while len(said) < number:
        try:
            said.append(out.get(timeout=1))
        except queue.Empty:
            died = [process.exitcode for process in processes if process.exitcode]
            if died or time.monotonic() > ends:
                for process in processes:
                    process.kill()
                why = f"a process has died, with exit code {died[0]}" if died else f"no answer within {MOST_SECONDS} s"
                said.append(dict.fromkeys(KINDS, (why, 0.0)))
                break
    for process in processes:
        process.join()
    return {kind: max((each[kind] for each in said), key=lambda one: (one[0] != "", one[1])) for kind in KINDS}


def _fits(count: int) -> tuple[str, float]:
    """Networks, one like another; the same answers each time."""
    X, Y = labelled()
    first, before = None, 0
    for k in range(count):
        model = EnergyMultiLabelClassifier("seal-nce", **NETWORK).fit(X, Y)
        answer = model.predict_proba(X)
        if first is not None and not np.array_equal(answer, first):
            return f"the answers of fit {k} are others", 0.0
        first = answer
        if k == count // 10:
            before = resident()
    return "", resident() - before
