"""Long use: predictions by the hundred thousand in threads, and in processes forked and spawned; fits one after another.

Answers must be those of the first call, whoever asks; memory must stay where it was after the first tenth.
"""

from __future__ import annotations

import gc
import multiprocessing
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

THREADS, PROCESSES = 8, 4
KINDS = ("network", "by inference", "forest", "joint", "tagger", "segmenter", "texts")
MOST_GROWTH = 32 * 2**20
"""Bytes that memory may grow by after the first tenth: what allocators keep for themselves."""
LOADERS: dict[str, Any] = {"joint": JointMultiLabelClassifier, "tagger": EnergySequenceTagger, "segmenter": EnergySegmenter}


def campaign(predictions: int, fits: int) -> Iterator[dict[str, Any]]:
    """A line for every kind and way; ``predictions`` are shared among them."""
    torch.set_num_threads(1)
    each = max(THREADS, predictions // (3 * len(KINDS)))
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            place = Path(folder) / kind
            small(kind).model.save(place)
            yield _found(f"{kind}: {THREADS} threads", each, partial(_threads, small(kind), each))
        for start in ("fork", "spawn"):
            for kind in KINDS:
                work = partial(_processes, kind, Path(folder) / kind, start, each)
                yield _found(f"{kind}: {PROCESSES} processes, {start}", each, work)
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
    """One row at a time of the rows of a small model, each held against the first answers."""

    def __init__(self, one: Small, model: Any = None) -> None:
        self.model = one.model if model is None else model
        self.rows = [one.rows[k : k + 1] for k in range(len(one.rows))]
        self.first = [self._answer(row) for row in self.rows]

    def _answer(self, row: Any) -> list[Any]:
        told = [self.model.predict(row)]
        if hasattr(self.model, "predict_proba"):
            told.append(self.model.predict_proba(row))
        return [
            np.asarray(one.toarray() if hasattr(one, "toarray") else one[0] if isinstance(one, list) else one) for one in told
        ]

    def wrong(self, k: int) -> bool:
        at = k % len(self.rows)
        return not all(np.array_equal(a, b) for a, b in zip(self._answer(self.rows[at]), self.first[at], strict=True))


def _threads(one: Small, count: int) -> tuple[str, float]:
    asked = _Asked(one)
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


def _in_process(kind: str, place: Path, count: int, first: list[list[Any]], out: Any) -> None:
    """One process's share; puts (what is wrong, how memory grew)."""
    torch.set_num_threads(1)
    try:
        model = LOADERS.get(kind, EnergyMultiLabelClassifier).load(place)
        asked = _Asked(small(kind), model)
        same = all(np.array_equal(a, b) for x, y in zip(asked.first, first, strict=True) for a, b in zip(x, y, strict=True))
        for k in range(count // 10):
            asked.wrong(k)
        before = resident()
        other = sum(asked.wrong(k) for k in range(count))
        out.put(("" if same and not other else f"{other or 'the first'} answers are others", resident() - before))
    except Exception as error:
        out.put((f"{type(error).__name__}: {error}", 0))


def _processes(kind: str, place: Path, start: str, count: int) -> tuple[str, float]:
    context: Any = multiprocessing.get_context(start)
    first = _Asked(small(kind)).first
    out = context.Queue()
    arguments = (kind, place, count // PROCESSES, first, out)
    processes = [context.Process(target=_in_process, args=arguments) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    said = [out.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    return next((wrong for wrong, _ in said if wrong), ""), max(growth for _, growth in said)


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
