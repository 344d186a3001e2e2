"""Malformed files for every reader of the library.

A sound document of a random kind is spoilt: by its bytes, by its lines and cells, by the arrays or the JSON in it, by what it is
compressed with, or for something else altogether. What a reader accepts must be sound: shapes that go together, finite numbers,
names that are unlike, and the same again when it is written and read back.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from enstruct.data.citations import write_citations
from enstruct.data.conll import write_conll
from enstruct.data.dataset import Dataset
from enstruct.data.embeddings import read_clusters, read_vectors
from enstruct.data.image_folders import read_pictures
from enstruct.data.load import load
from enstruct.data.npz import read_npz, write_npz
from enstruct.data.tables.read import read_told
from enstruct.data.tagged import read_tagged
from enstruct.rules.mask_text import read_mask_rules
from enstruct.rules.tag_text import read_tag_rules
from enstruct.rules.text import read_rules
from enstruct.workbench.journal import Journal
from enstruct_bench.campaigns import documents, mutations
from enstruct_bench.campaigns.documents import LABELS, Files, Random
from enstruct_bench.campaigns.trial import Trial, Unsound

SECONDS = 20
"""That a trial may take."""
ALSO: tuple[type[Exception], ...] = ()
"""Exceptions of others that are an answer too: of readers none."""
LEAST, TIMES, MOST = 64 * 2**20, 10, 2**31
"""Bytes of memory that any file may take, times its size beyond that, and never more."""
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
TEXTS = frozenset(documents.SOURCES) - {"npz", "parquet", "pictures", "folder of arrays"}
FOLDERS = ("folder of arrays", "pictures", "text folder")
PLAIN = frozenset(("rules", "rules in yaml", "rules of tags", "rules of masks", "answers", "parquet", *FOLDERS))
"""Kinds that are not compressed."""


def _laughs(rng: Random, n: int) -> bytes:
    """Lists of which each holds the one before ten times, as labels of a rule."""
    lists = ", ".join(f"&a{k} [{', '.join([f'*a{k - 1}'] * 10) if k else 'x'}]" for k in range(n))
    return rng.choice(
        (f"- {{exclude: [a, b], weight: [{lists}]}}", f"- {{at most: [{lists}], of: [a, b]}}", f"- [{lists}]")
    ).encode()


def _entities(rng: Random, n: int) -> bytes:
    kinds = "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10 if k else "x"}">' for k in range(n))
    return f'<?xml version="1.0"?><!DOCTYPE labels [{kinds}]><labels><label name="&a{n - 1};"/></labels>'.encode()


BOMBS: dict[str, Callable[[Random, int], bytes]] = {
    "rules.yaml": _laughs,
    "data.xml": _entities,
    "data.jsonl": lambda rng, n: b'{"text": ' + b"[" * 1000 * n + b"]" * 1000 * n + b', "labels": []}\n',
    "layout.json": lambda rng, n: b'{"format": 1, "rows": ' + b"[" * 1000 * n + b"]" * 1000 * n + b"}",
}
"""Files that are small until they are read."""


def prepare(seed: int, folder: Path) -> None:
    """Nothing: documents are made as they are needed."""


def most_bytes(trial: Trial) -> int:
    return min(MOST, max(LEAST, TIMES * trial.size))


def trial(number: int, seed: int, folder: Path) -> Trial:
    rng = random.Random(f"readers {seed} {number}")
    kind = rng.choice([*documents.SOURCES])
    files = documents.SOURCES[kind](rng)
    path = rng.choice([*files])
    change, content, must_refuse = _spoilt(rng, kind, path, files)
    files[path] = content
    place = folder / "document"
    shutil.rmtree(place, ignore_errors=True)
    suffix = ""
    if kind not in PLAIN and rng.random() < 0.15:
        suffix = rng.choice([*COMPRESSED])
        files[path] = COMPRESSED[suffix](content)
        if rng.random() < 0.6:
            more, files[path] = mutations.spoil_bytes(rng, files[path])
            change, must_refuse = f"{suffix} {more}", False
    for name, each in files.items():
        to = place / (name + (suffix if name == path else ""))
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(each)
    first = place / (next(iter(files)) + (suffix if next(iter(files)) == path else ""))
    act = READ[kind]
    whole = place if kind in FOLDERS else first
    return Trial(kind, change, lambda: act(whole), must_refuse, sum(map(len, files.values())))


def _spoilt(rng: Random, kind: str, path: str, files: Files) -> tuple[str, bytes, bool]:
    """(what was done, the file's bytes, whether no reader may take it)."""
    content = files[path]
    chance = rng.random()
    if chance < 0.02 and path in BOMBS:
        return "more than it seems", BOMBS[path](rng, rng.randrange(8, 40)), True
    if chance < 0.08:
        change, content = mutations.foreign(rng)
        lenient = kind in ("text folder", "clusters") or (kind.startswith("rules") and content == b"") or path == "places.txt"
        return change, content, not lenient and not (kind == "answers" and content == b"")
    if kind == "parquet" and chance < 0.3:
        return "an odd column", documents.parquet(rng, odd=True)[path], False
    if kind == "npz" and chance < 0.6:
        return (*_arrays(rng, content), False)
    if path == "layout.json" and chance < 0.8:
        change, value = mutations.spoil_json(rng, json.loads(content))
        return change, json.dumps(value).encode("utf-8", errors="surrogatepass"), False
    if kind in ("jsonl", "answers") and chance < 0.5:
        lines = content.decode().splitlines()
        at = rng.randrange(len(lines))
        change, value = mutations.spoil_json(rng, json.loads(lines[at]))
        lines[at] = json.dumps(value)
        return change, ("\n".join(lines) + "\n").encode(), False
    if kind in TEXTS and chance < 0.85:
        return (*mutations.spoil_text(rng, content), False)
    return (*mutations.spoil_bytes(rng, content), False)


def _arrays(rng: Random, content: bytes) -> tuple[str, bytes]:
    """Of an archive one array of another type, shape or content."""
    with np.load(io.BytesIO(content)) as archive:
        arrays: dict[str, Any] = dict(archive)
    key = rng.choice([*arrays])
    array = arrays[key]
    changes: dict[str, Callable[[], Any]] = {
        "objects": lambda: array.astype(object),
        "texts": lambda: array.astype(str),
        "complex": lambda: np.ones(array.shape, complex),
        "dates": lambda: np.zeros(array.shape, "M8[s]"),
        "records": lambda: np.zeros(array.shape, [("a", "i4")]),
        "flat": array.ravel,
        "one more axis": lambda: array[None],
        "no axis": lambda: np.array(array.ravel()[0]),
        "turned": lambda: array.T,
        "cut": lambda: array[:-1],
        "nothing": lambda: array[:0],
        "negative": lambda: -np.ones(array.shape, np.int64),
        "huge": lambda: np.full(array.shape, 2**40),
        "infinite": lambda: np.full(array.shape, np.inf),
        "not a number": lambda: np.full(array.shape, np.nan),
        "beyond double": lambda: np.full(array.shape, np.finfo(np.longdouble).max),
        "half": lambda: np.full(array.shape, 0.5, np.float16),
        "backwards": lambda: array[::-1],
        "big-endian": lambda: array.astype(array.dtype.newbyteorder(">")),
    }
    name = rng.choice([*changes, "gone", "one more"])
    if name == "gone":
        del arrays[key]
    elif name == "one more":
        arrays[rng.choice(("X", "Y", "X_data", "Y_shape", "label_names", "other"))] = array
    else:
        try:
            arrays[key] = changes[name]()
        except (ValueError, TypeError):
            arrays[key] = np.array(["x"])
    return f"arrays: {name}", documents.npz_of(arrays)


# -- readers, each with what it accepts held against its own promise --------------------------------


def _csv(path: Path) -> None:
    labels = "labels" if b"labels" in _head(path) else ",".join(LABELS) if path.stat().st_size % 2 else -3
    _sound(load(path, labels=labels))


def _head(path: Path) -> bytes:
    return path.read_bytes()[:60] if path.suffix not in COMPRESSED else b"labels"


def _texts_csv(path: Path) -> None:
    _sound(load(path, labels="labels", text=["body"]))


def _parquet(path: Path) -> None:
    _sound(load(path, labels="labels"))


def _told(path: Path) -> None:
    told = read_told(path, LABELS)
    _demand(told.ndim == 2 and told.shape[1] == 3 and len(told) > 0, "the shape is not (rows, labels)")
    _demand(bool((np.isnan(told) | (told == 0) | (told == 1)).all()), "cells are neither 0, 1 nor unknown")


def _any(path: Path) -> None:
    _sound(load(path))


def _tagged(path: Path) -> None:
    data = read_tagged(path)
    tags = data.truth()
    _demand(len(data.sentences) == len(tags) > 0, "sentences and tags differ in number")
    for words, own in zip(data.sentences, tags, strict=True):
        _demand(len(words) == len(own) > 0, "a sentence and its tags differ in length")
        _demand(all(words) and all(own), "a word or a tag is empty")
    inline = ".tagged" in path.suffixes
    again = path.with_name("again.tagged" if inline else "again.conll")
    written = write_citations if inline else write_conll
    again.write_bytes(written(data.sentences, tags).encode("utf-8", errors="surrogatepass"))
    same = read_tagged(again)
    _demand((same.sentences, same.truth()) == (data.sentences, tags), "it is not the same again when it is written and read")


def _pictures(path: Path) -> None:
    data = read_pictures(path)
    for k, image in enumerate(data.images):
        _demand(
            image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3 and image.size > 0, "an image has an odd shape"
        )
        if data.masks is not None:
            _demand(data.masks[k].shape == image.shape[:2], "a mask has another size than its image")


def _vectors(path: Path) -> None:
    words, found = read_vectors(path)
    _demand(len(words) == len(found) > 0 and found.ndim == 2 and bool(np.isfinite(found).all()), "the vectors are not sound")


def _clusters(path: Path) -> None:
    _demand(all(set(bits) <= {"0", "1"} for bits in read_clusters(path).values()), "bits are not bits")


def _rules(path: Path) -> None:
    from enstruct.rules.system import RuleSystem

    system = RuleSystem.of(read_rules(path), [*LABELS])
    system.are_kept(np.zeros((1, len(LABELS)), np.uint8))


def _tag_rules(path: Path) -> None:
    for rule in read_tag_rules(path):
        _demand(bool(str(rule)), "a rule without words")


def _mask_rules(path: Path) -> None:
    for rule in read_mask_rules(path):
        _demand(bool(str(rule)), "a rule without words")


def _answers(path: Path) -> None:
    kept = Journal.read(path)
    header = {name: kept.header[name] for name in ("task", "data", "rows", "names", "content")}
    before = kept.snapshot()
    journal = Journal(path, header)
    try:
        _demand(
            {k: r.cells for k, r in journal.snapshot().items()} == {k: r.cells for k, r in before.items()}, "two readings differ"
        )
        journal.tell("fresh act", "tab", 0, {"calm": True}, True)
    finally:
        journal.close()
    _demand(Journal.read(path).row(0).cells.get("calm") is True, "an answer that was kept is not there")


READ: dict[str, Callable[[Path], None]] = {
    "csv": _csv, "told": _told, "texts in csv": _texts_csv, "arff": _any, "sparse arff": _any, "hierarchical arff": _any,
    "svmlight": _any, "npz": _any, "parquet": _parquet,
    "jsonl": _any, "text folder": _any, "folder of arrays": _any, "conll": _tagged,
    "conllu": _tagged, "citations": _tagged, "pictures": _pictures, "word vectors": _vectors, "clusters": _clusters,
    "rules": _rules, "rules in yaml": _rules, "rules of tags": _tag_rules, "rules of masks": _mask_rules,
    "answers": _answers,
}  # fmt: skip


def _sound(data: Dataset) -> None:
    X, Y = data.X, data.Y
    _demand(len(data) > 0 and X.shape[0] == Y.shape[0], "X and Y have other numbers of rows")
    _demand(
        Y.shape[1] == len(data.label_names) and (len(X.shape) == 1 or X.shape[1] == len(data.feature_names)),
        "names and columns differ",
    )
    _demand(len(set(data.label_names)) == len(data.label_names), "two labels have one name")
    _demand(bool((Y.data == 1).all()), "a label is neither 0 nor 1")
    _demand(data.unknown is None or data.unknown.shape == Y.shape, "what is unknown has another shape")
    if data.holds_texts:
        _demand(all(isinstance(text, str) for text in X), "a text is none")
        return
    read = X if sparse.issparse(X) or isinstance(X, np.ndarray) else X.read()
    values = read.data if sparse.issparse(read) else np.asarray(read)
    _demand(not np.isinf(values).any(), "a feature is infinite")
    if Y.shape[1] == 0 or X.shape[1] > 10_000:
        return
    with tempfile.TemporaryDirectory() as place:
        write_npz(Path(place) / "again.npz", Dataset(read, Y, data.feature_names, data.label_names, unknown=data.unknown))
        again = read_npz(Path(place) / "again.npz")
    written, dense = (one.toarray() if sparse.issparse(one) else np.asarray(one) for one in (again.X, read))
    _demand(np.array_equal(written, dense, equal_nan=True), "features are others once written and read again")
    _demand(np.array_equal(again.told(), data.told(), equal_nan=True), "labels are others once written and read again")
    _demand(again.label_names == data.label_names, "label names are others once written and read again")
    _demand(again.feature_names == data.feature_names, "feature names are others once written and read again")


def _demand(holds: bool, else_: str) -> None:
    if not holds:
        raise Unsound(else_)
