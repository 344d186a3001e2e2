"""Large files of every kind, sound ones and such as claim or unpack to more than they are: what reading takes of memory.

A file of so many bytes is made, and read. Its memory must stay under ten times its size, and under 2 GiB; of one that is
compressed the size is that of what is in it, up to what a reader may unpack, and it is refused beyond.
"""

from __future__ import annotations

import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase

import numpy as np

from enstruct_bench.campaigns.documents import LABELS, Random
from enstruct_bench.campaigns.readers import COMPRESSED, MOST, TIMES
from enstruct_bench.campaigns.trial import Trial

SECONDS = 300
"""That a trial may take."""
ALSO: tuple[type[Exception], ...] = ()
FREE = 64 * 2**20
SIZES = (2 * 10**6, 20 * 10**6, 190 * 10**6)
"""Bytes of the files, one after another."""


def prepare(seed: int, folder: Path) -> None:
    """Nothing: files are made as they are needed."""


def trial(number: int, seed: int, folder: Path) -> Trial:
    rng = random.Random(f"sizes {seed} {number}")
    kind = [*MAKERS][number % len(MAKERS)]
    size = SIZES[number // len(MAKERS) % len(SIZES)]
    place = folder / "large"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    read, unpacked = MAKERS[kind](rng, place, size)
    must_refuse = "bomb" in kind and size >= SIZES[1]  # a gigabyte and more of what is nearly nothing
    return Trial(kind, f"{size / 1e6:.0f} MB", read, must_refuse, unpacked)


def most_bytes(trial: Trial) -> int:
    return min(MOST, max(FREE, TIMES * trial.size))


Made = tuple[Callable[[], object], int]
"""What reads a file, and its size, unpacked."""


def _lines(path: Path, size: int, head: str, line: Callable[[], str]) -> int:
    """A file of so many bytes, of fifty different lines over and over."""
    some = [line() + "\n" for _ in range(50)]
    block = "".join(some).encode()
    with path.open("wb") as file:
        file.write(head.encode())
        for _ in range(max(1, (size - len(head)) // len(block))):
            file.write(block)
    return path.stat().st_size


def _csv(rng: Random, place: Path, size: int, cell: Callable[[Random], str], columns: int) -> Made:
    from enstruct.data.load import load

    path = place / "large.csv"
    head = ",".join([*(f"x{k}" for k in range(columns)), *LABELS]) + "\n"
    n = _lines(path, size, head, lambda: ",".join([*(cell(rng) for _ in range(columns)), "0", "1", rng.choice("01")]))
    return lambda: load(path, labels=",".join(LABELS)), n


def _arff(rng: Random, place: Path, size: int, is_sparse: bool) -> Made:
    from enstruct.data.load import load

    path, columns = place / "large.arff", 100
    head = "\n".join(
        [
            "@relation 'x: -C -3'",
            *(f"@attribute x{k} numeric" for k in range(columns)),
            *(f"@attribute {one} {{0,1}}" for one in LABELS),
            "@data",
            "",
        ]
    )

    def line() -> str:
        if is_sparse:
            return "{" + ", ".join(f"{k} 1" for k in range(columns + 3) if rng.random() < 0.2) + "}"
        return ",".join([*(rng.choice("0123456789") for _ in range(columns)), "0", "1", "0"])

    n = _lines(path, size, head, line)
    return lambda: load(path), n


def _svmlight(rng: Random, place: Path, size: int) -> Made:
    from enstruct.data.load import load

    path = place / "large.svm"
    n = _lines(path, size, "", lambda: "0,2 " + " ".join(f"{k}:1" for k in range(1, 200) if rng.random() < 0.3))
    return lambda: load(path), n


def _short_rows(rng: Random, place: Path, size: int) -> Made:
    from enstruct.data.load import load

    path = place / "large.svm"
    n = _lines(path, size, "", lambda: rng.choice(("0 1:1", "1 2:1", "2")))
    return lambda: load(path), n


def _jsonl(rng: Random, place: Path, size: int) -> Made:
    from enstruct.data.load import load

    path = place / "large.jsonl"
    n = _lines(path, size, "", lambda: json.dumps({"text": "a few words", "labels": [rng.choice(LABELS)]}))
    return lambda: load(path), n


def _conll(rng: Random, place: Path, size: int, words: int) -> Made:
    from enstruct.data.tagged import read_tagged

    path = place / "large.conll"
    n = _lines(path, size, "", lambda: "\n".join(rng.choice(("I O", "Bob B", "so O")) for _ in range(words)) + "\n")
    return lambda: read_tagged(path), n


def _different(rng: Random, place: Path, size: int) -> Made:
    """Sentences of one word each, and no word twice."""
    from enstruct.data.tagged import read_tagged

    path = place / "large.conll"
    words = ("".join(letters) for width in range(1, 9) for letters in product(ascii_lowercase, repeat=width))
    with path.open("w") as file:
        n = 0
        while n < size:
            n += file.write("".join(f"{word} O\n\n" for word in islice(words, 10_000)))
    return lambda: read_tagged(path), n


def _vectors(rng: Random, place: Path, size: int) -> Made:
    from enstruct.data.embeddings import read_vectors

    path = place / "large.txt"
    n = _lines(path, size, "", lambda: "word " + " ".join(rng.choice("0123456789") for _ in range(50)))
    return lambda: read_vectors(path), n


def _npz(rng: Random, place: Path, size: int) -> Made:
    from enstruct.data.load import load

    path = place / "large.npz"
    rows = size // 100
    np.savez(path, X=np.random.default_rng(0).integers(0, 9, (rows, 97)).astype(np.uint8), Y=np.ones((rows, 3), np.uint8))
    return lambda: load(path), path.stat().st_size


def _answers(rng: Random, place: Path, size: int) -> Made:
    from enstruct.workbench.journal import Journal

    path = place / "answers.jsonl"
    header = {"answers": 1, "task": "labels", "data": "d.csv", "rows": 10**6, "names": [*LABELS], "content": "abc"}
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(header) + "\n")
        for k in range(size // 120):
            act = {
                "act": f"k{k}",
                "by": "tab",
                "at": "2026-11-27T09:00:00Z",
                "row": k % 10**6,
                "cells": {"calm": True},
                "done": False,
            }
            file.write(json.dumps(act) + "\n")
    return lambda: Journal.read(path), path.stat().st_size


def _bomb(rng: Random, place: Path, size: int, name: str) -> Made:
    """Of a megabyte at most, from which ``50 * size`` bytes would come."""
    from enstruct.data.load import load
    from enstruct.data.tagged import read_tagged

    kind, compress = rng.choice([*COMPRESSED.items()])
    path = place / f"{name}{kind}"
    head = {"bomb.csv": b"a,calm,happy,sad\n", "bomb.svm": b"", "bomb.conll": b"", "bomb.jsonl": b""}[name]
    line = {
        "bomb.csv": b"1,0,1,0\n",
        "bomb.svm": b"1 1:1\n",
        "bomb.conll": b"a O\n",
        "bomb.jsonl": b'{"text":"a","labels":[]}\n',
    }[name]
    block = line * (2**22 // len(line))
    packed, times = compress(block), max(1, min(50 * size, 4 * 10**9) // len(block))
    with path.open("wb") as file:  # several archives one after another are one
        file.write(compress(head))
        for _ in range(times):
            file.write(packed)
    read = (
        read_tagged if name == "bomb.conll" else lambda at: load(at, labels=",".join(LABELS)) if name == "bomb.csv" else load(at)
    )
    return lambda: read(path), min(times * len(block), MOST // TIMES)


def _zip_bomb(rng: Random, place: Path, size: int) -> Made:
    from enstruct.data.load import load

    path = place / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w", force_zip64=True) as file:
        rows = 50 * size // 800
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (rows, 100)})
        file.write(head.getvalue())
        for _ in range(50 * size // 2**20):
            file.write(b"\0" * 2**20)
    return lambda: load(path), min(50 * size, MOST // TIMES)


def _picture(rng: Random, place: Path, size: int) -> Made:
    """Of one colour, so that few bytes stand for many pixels: its size is what it shows."""
    from PIL import Image

    from enstruct.data.image_folders import read_pictures

    side = int((3 * size) ** 0.5)
    Image.new(rng.choice(("L", "RGB", "I;16", "RGBA")), (side, side), 1).save(place / "large.png")
    return lambda: read_pictures(place), 3 * side * side


MAKERS: dict[str, Callable[[Random, Path, int], Made]] = {
    "csv, digits": lambda rng, place, size: _csv(rng, place, size, lambda rng: rng.choice("0123456789"), 50),
    "csv, numbers": lambda rng, place, size: _csv(rng, place, size, lambda rng: f"{rng.gauss(0, 1):.4f}", 50),
    "csv, short rows": lambda rng, place, size: _csv(rng, place, size, lambda rng: rng.choice("0123456789"), 1),
    "arff": lambda rng, place, size: _arff(rng, place, size, False),
    "sparse arff": lambda rng, place, size: _arff(rng, place, size, True),
    "svmlight": _svmlight,
    "svmlight, short rows": _short_rows,
    "jsonl": _jsonl,
    "conll": lambda rng, place, size: _conll(rng, place, size, 12),
    "conll, words alone": lambda rng, place, size: _conll(rng, place, size, 1),
    "conll, all words different": _different,
    "word vectors": _vectors,
    "npz": _npz,
    "answers": _answers,
    "csv bomb": lambda rng, place, size: _bomb(rng, place, size, "bomb.csv"),
    "svmlight bomb": lambda rng, place, size: _bomb(rng, place, size, "bomb.svm"),
    "conll bomb": lambda rng, place, size: _bomb(rng, place, size, "bomb.conll"),
    "jsonl bomb": lambda rng, place, size: _bomb(rng, place, size, "bomb.jsonl"),
    "npz bomb": _zip_bomb,
    "picture": _picture,
}
