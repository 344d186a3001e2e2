"""Sound documents of every kind that the library reads, each another one, to be spoilt: relative path -> bytes."""

from __future__ import annotations

import io
import json
import random
import string
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from scipy import sparse

Files = dict[str, bytes]
Random = random.Random
LABELS = ("calm", "happy", "sad")


def name(rng: Random) -> str:
    letters = string.ascii_letters + "éß_-. 0"
    return (rng.choice(string.ascii_letters) + "".join(rng.choice(letters) for _ in range(rng.randrange(1, 8)))).strip()


def names(rng: Random, n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found[name(rng)] = None
    return [*found]


def number(rng: Random) -> str:
    return rng.choice((str(rng.randrange(-5, 99)), f"{rng.uniform(-3, 3):.4f}", f"{rng.gauss(0, 1e3):.2e}", "0"))


def csv(rng: Random) -> Files:
    """Features x0, x1, ... and labels of :data:`LABELS`, or a column of names called ``labels``."""
    by = rng.choice(",;\t")
    columns = rng.randrange(1, 5)
    named = rng.random() < 0.4
    header = [f"x{k}" for k in range(columns)] + (["labels"] if named else [*LABELS])
    lines = [by.join(header)]
    for _ in range(rng.randrange(2, 9)):
        cells = [rng.choice((number(rng), number(rng), "")) for _ in range(columns)]
        if named:
            cells.append("|".join(one for one in LABELS if rng.random() < 0.5))
        else:
            cells += [rng.choice("01") if rng.random() < 0.9 else "" for _ in LABELS]
        lines.append(by.join(f'"{cell}"' if rng.random() < 0.1 else cell for cell in cells))
    return {"data.csv": ("\n".join(lines) + "\n").encode()}


def told(rng: Random) -> Files:
    some = [one for one in LABELS if rng.random() < 0.8] or [LABELS[0]]
    lines = [",".join(some), *(",".join(rng.choice(("0", "1", "")) or "0" for _ in some) for _ in range(4))]
    return {"told.csv": ("\n".join(lines) + "\n").encode()}


def texts_csv(rng: Random) -> Files:
    lines = ["body,labels", *(f'"{name(rng)}, {name(rng)}",{rng.choice(LABELS)}' for _ in range(5))]
    return {"texts.csv": ("\n".join(lines) + "\n").encode()}


def arff(rng: Random) -> Files:
    attributes = [f"@attribute {one!r} numeric" for one in names(rng, rng.randrange(1, 4))]
    attributes += ["@attribute colour {red, 'light blue', green}"] * (rng.random() < 0.5)
    n = len(attributes)
    attributes += [f"@attribute {one} {{0,1}}" for one in LABELS]
    lines = [f"@relation 'mine: -C -{len(LABELS)}'", "", *attributes, "", "@data"]
    for _ in range(rng.randrange(2, 8)):
        cells = [rng.choice((number(rng), "?")) for _ in range(n)]
        if "colour" in attributes[n - 1]:
            cells[-1] = rng.choice(("red", "'light blue'", "green", "?"))
        lines.append(",".join([*cells, *(rng.choice("01") for _ in LABELS)]))
    return {"data.arff": ("\n".join(lines) + "\n").encode()}


def sparse_arff(rng: Random) -> Files:
    n = rng.randrange(2, 6)
    lines = ["@relation mine", *(f"@attribute w{k} numeric" for k in range(n)), *(f"@attribute {one} {{0,1}}" for one in LABELS)]
    lines.append("@data")
    for _ in range(rng.randrange(2, 8)):
        there = [f"{k} {number(rng)}" for k in range(n) if rng.random() < 0.5] + [
            f"{n + k} 1" for k in range(3) if rng.random() < 0.5
        ]
        lines.append("{" + ", ".join(there) + "}")
    labels = "".join(f'<label name="{one}"></label>' for one in LABELS)
    xml = f'<?xml version="1.0" ?><labels xmlns="http://mulan.sourceforge.net/labels">{labels}</labels>'
    return {"data.arff": ("\n".join(lines) + "\n").encode(), "data.xml": xml.encode()}


def hierarchical_arff(rng: Random) -> Files:
    classes, rows = (
        ("01,01/01,01/02,02,02/01", ("01/01", "02", "02/01@01/02", "01"))
        if rng.random() < 0.5
        else ("root/GO:1,GO:1/GO:2,root/GO:3", ("GO:1", "GO:2@GO:3", "GO:3"))
    )
    lines = ["@relation genes", "@attribute a numeric", f"@attribute class hierarchical {classes}", "@data"]
    lines += [f"{number(rng)},{rng.choice(rows)}" for _ in range(5)]
    return {"data.arff": ("\n".join(lines) + "\n").encode()}


def svmlight(rng: Random) -> Files:
    rows, features, labels = rng.randrange(2, 8), rng.randrange(1, 9), 4
    headed = rng.random() < 0.5
    lines = [f"{rows} {features} {labels}"] if headed else []
    for _ in range(rows):
        there = sorted(rng.sample(range(features), rng.randrange(features + 1)))
        own = ",".join(str(k) for k in range(labels) if rng.random() < 0.5) or "0"
        lines.append(" ".join([own, *(f"{k + (not headed)}:{number(rng)}" for k in there)]))
    return {"data.svm": ("\n".join(lines) + "\n").encode()}


def npz(rng: Random) -> Files:
    random_numbers = np.random.default_rng(rng.randrange(2**32))
    X: Any = random_numbers.normal(size=(6, 4)) * (random_numbers.random((6, 4)) < 0.6)
    Y: Any = (random_numbers.random((6, 3)) < 0.5).astype(np.uint8)
    arrays: dict[str, Any] = {"label_names": np.array(LABELS), "feature_names": np.array(["a", "b", "c", "d"])}
    for key, matrix in (("X", X), ("Y", Y)):
        if rng.random() < 0.5:
            csr = sparse.csr_matrix(matrix)
            arrays |= {f"{key}_data": csr.data, f"{key}_indices": csr.indices, f"{key}_indptr": csr.indptr}
            arrays[f"{key}_shape"] = np.array(csr.shape)
        else:
            arrays[key] = matrix
    return {"data.npz": npz_of(arrays, rng.random() < 0.5)}


def npz_of(arrays: dict[str, Any], compressed: bool = False) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def parquet(rng: Random, odd: bool = False) -> Files:
    """``odd``: with a column that is neither of numbers nor of names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = rng.randrange(3, 9)
    some = [[one for one in LABELS if rng.random() < 0.5] for _ in range(n)]
    columns: dict[str, Any] = {
        "a": [rng.choice((rng.random(), None, -3)) for _ in range(n)],
        "b": pa.array([rng.choice((True, False, None)) for _ in range(n)]),
        "labels": rng.choice((some, [";".join(each) or None for each in some])),
    }
    others = {
        "when": pa.array([rng.randrange(-(2**63), 2**63) for _ in range(n)], pa.timestamp("us")),
        "raw": pa.array([rng.randbytes(3) for _ in range(n)], pa.binary()),
        "id": [rng.randrange(2**62) for _ in range(n)],
        "kind": pa.array([rng.choice("ab") for _ in range(n)]).dictionary_encode(),
        "both": [{"x": k} for k in range(n)],
    }
    if odd:
        name = rng.choice([*others])
        columns[name] = others[name]
    file = io.BytesIO()
    pq.write_table(
        pa.table(columns), file, compression=rng.choice(("NONE", "SNAPPY", "ZSTD")), row_group_size=rng.randrange(1, n)
    )
    return {"data.parquet": file.getvalue()}


def jsonl(rng: Random) -> Files:
    lines = []
    for _ in range(rng.randrange(2, 7)):
        some = [one for one in LABELS if rng.random() < 0.5]
        labels: Any = rng.choice((some, ";".join(some), {one: rng.choice((True, False, None)) for one in LABELS}, None, [*some]))
        lines.append(json.dumps({"text": name(rng), "labels": labels}))
    return {"data.jsonl": ("\n".join([*lines, json.dumps({"text": "", "labels": ["calm"]})]) + "\n").encode()}


def text_folder(rng: Random) -> Files:
    return {f"{rng.choice(LABELS)}/{k}.txt": (name(rng) + "\n").encode() for k in range(4)}


def on_disk(rng: Random) -> Files:
    dense = rng.random() < 0.5
    X = np.array([[1.5, 0, 2], [0, 0, 1], [3, 0.5, 0], [0, 1, 0]], "<f4")
    csr = sparse.csr_matrix(X)
    files = {"x_values.bin": (X if dense else csr.data).astype("<f4").tobytes()}
    if not dense:
        files |= {"x_indices.bin": csr.indices.astype("<i4").tobytes(), "x_indptr.bin": csr.indptr.astype("<i8").tobytes()}
    files |= {"y_indices.bin": np.array([0, 2, 1], "<i4").tobytes(), "y_indptr.bin": np.array([0, 1, 2, 3, 3], "<i8").tobytes()}
    layout: dict[str, Any] = {
        "format": 1,
        "rows": 4,
        "features": 3,
        "labels": 3,
        "sparse": not dense,
        "feature_names": rng.choice((None, ["a", "b", "c"])),
    }
    layout |= {
        "label_names": [*LABELS],
        "first_feature": rng.choice((None, 1)),
        "bytes": {one: len(it) for one, it in files.items()},
    }
    return {"layout.json": json.dumps(layout).encode(), **files}


def conll(rng: Random) -> Files:
    tags = ("O", "B-PER", "I-PER", "B-LOC")
    by = rng.choice(" \t")
    sentences = [
        "\n".join(f"w{rng.randrange(9)}{by}NN{by}{rng.choice(tags)}" for _ in range(rng.randrange(1, 5))) for _ in range(4)
    ]
    return {"data.conll": ("\n\n".join(sentences) + "\n").encode()}


def conllu(rng: Random) -> Files:
    rows = [f"{k}\tw{k}\tw\t{rng.choice(('NOUN', 'VERB'))}\tNN\t_\t0\troot\t_\t_" for k in range(1, 5)]
    return {"data.conllu": ("# sent_id = 1\n" + "\n".join(rows) + "\n\n1\tso\tso\tADV\tRB\t_\t0\troot\t_\t_\n").encode()}


def citations(rng: Random) -> Files:
    lines = [
        f"<author> A. {name(rng)} </author> <title> {name(rng)} </title> <date> 19{rng.randrange(10, 99)} </date>"
        for _ in range(3)
    ]
    return {"data.tagged": ("\n".join(lines) + "\n").encode()}


def pictures(rng: Random) -> Files:
    files = {}
    kind = rng.choice(("png", "jpg", "bmp", "tiff", "webp"))
    for k in range(2):
        grid = np.random.default_rng(rng.randrange(2**32)).integers(0, 255, (6, 8, 3), np.uint8)
        files[f"images/{k}.{kind}"] = picture(Image.fromarray(grid), {"jpg": "jpeg"}.get(kind, kind))
        mask = Image.fromarray((grid[..., 0] > 120).astype(np.uint8))
        files[f"masks/{k}.png"] = picture(mask.convert("P") if rng.random() < 0.3 else mask, "png")
    return files


def picture(image: Image.Image, kind: str) -> bytes:
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


def vectors(rng: Random) -> Files:
    rows = [f"w{k} " + " ".join(f"{rng.gauss(0, 1):.3f}" for _ in range(4)) for k in range(5)]
    return {"vectors.txt": ("\n".join(["5 4"] * (rng.random() < 0.5) + rows) + "\n").encode()}


def clusters(rng: Random) -> Files:
    return {"clusters.txt": "".join(f"{rng.randrange(16):04b}\tw{k}\t{rng.randrange(1, 99)}\n" for k in range(5)).encode()}


def rules(rng: Random) -> Files:
    lines = ["# mine", "calm -> not sad", "exclude: happy, sad", "at most 2: calm, happy, sad", "calm requires: happy, sad"]
    lines += ["soft 2.5: happy -> calm and not sad", "exactly 1: calm, sad"]
    return {"rules.txt": "\n".join(rng.sample(lines, rng.randrange(1, len(lines)))).encode()}


def yaml_rules(rng: Random) -> Files:
    items = ["{if: calm, then: [not sad]}", "{exclude: [happy, sad]}", "{at most: 2, of: [calm, happy, sad]}", "happy -> calm"]
    items += ["{label: calm, requires: [happy, sad], weight: 2.5}", "{exactly: 1, of: [calm, sad]}"]
    return {"rules.yaml": "".join(f"- {one}\n" for one in rng.sample(items, rng.randrange(1, len(items)))).encode()}


def tag_rules(rng: Random) -> Files:
    lines = ["B-LOC never follows B-PER", "I-PER only follows: B-PER, I-PER", "starts: O, B-PER", "at most one: PER"]
    lines += ["always PER: Ada Lovelace; Ada", "never PER: Lovelace Street", "always LOC in places.txt"]
    return {"rules.txt": "\n".join(rng.sample(lines, rng.randrange(1, len(lines)))).encode(), "places.txt": b"Rome\nNew York\n"}


def mask_rules(rng: Random) -> Files:
    lines = ["connected 1", "connected 1: 3 pieces", "size 1: 5% to 40%", "within 1: rows 10% to 90%, columns 0% to 50%"]
    return {"rules.txt": "\n".join(rng.sample(lines, rng.randrange(1, len(lines)))).encode()}


def answers(rng: Random) -> Files:
    header = {"answers": 1, "task": "labels", "data": "d.csv", "rows": 9, "names": [*LABELS], "content": "abc"}
    lines: list[Any] = [header]
    for k in range(rng.randrange(1, 6)):
        at = {"act": f"k{k}", "by": "tab", "at": "2026-11-27T09:00:00Z"}
        undo = k > 0 and "undo" not in lines[-1] and rng.random() < 0.3
        lines.append(
            at
            | (
                {"undo": f"k{k - 1}"}
                if undo
                else {"row": rng.randrange(9), "cells": {rng.choice(LABELS): rng.random() < 0.5}, "done": False}
            )
        )
    return {"answers.jsonl": "".join(json.dumps(one) + "\n" for one in lines).encode()}


SOURCES: dict[str, Callable[[Random], Files]] = {
    "csv": csv, "told": told, "texts in csv": texts_csv, "arff": arff, "sparse arff": sparse_arff,
    "hierarchical arff": hierarchical_arff, "svmlight": svmlight, "npz": npz, "parquet": parquet,
    "jsonl": jsonl, "text folder": text_folder,
    "folder of arrays": on_disk, "conll": conll, "conllu": conllu, "citations": citations, "pictures": pictures,
    "word vectors": vectors, "clusters": clusters, "rules": rules, "rules in yaml": yaml_rules, "rules of tags": tag_rules,
    "rules of masks": mask_rules, "answers": answers,
}  # fmt: skip
