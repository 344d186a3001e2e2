"""Files with wrong bytes or fields in them, which readers stumble over in several ways."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


def with_wrong_bytes(path: Path, times: int = 40, skip: int = 40) -> Iterator[None]:
    """Write ``path`` again and again with four random bytes of other values, and as it was in the end."""
    rng, whole = np.random.default_rng(0), path.read_bytes()
    for _ in range(times):
        wrong = bytearray(whole)
        for at in rng.integers(min(skip, len(whole) // 2), len(whole), 4):
            wrong[at] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(wrong))
        yield
    path.write_bytes(whole)


VALUES = (None, True, -1, 10**400, float("nan"), "", "x" * 50, [], {}, [[]], {"a": {}}, {"value": "none such"}, {"dict": [[1]]})


def with_wrong_fields(path: Path, times: int, seed: int = 0) -> Iterator[None]:
    """Write a JSON file, or one of JSON lines, again and again with one field (or a line) gone, renamed, nested or of another
    value, or with three bytes of others; and as it was in the end."""
    rng, whole = np.random.default_rng(seed), path.read_bytes()
    lines = path.suffix == ".jsonl"
    for _ in range(times):
        if rng.random() < 0.2:
            wrong = bytearray(whole)
            for at in rng.integers(len(whole), size=3):
                wrong[at] = int(rng.integers(256))
            path.write_bytes(bytes(wrong))
        else:
            content = [json.loads(line) for line in whole.splitlines()] if lines else json.loads(whole)
            deep = _change(content, rng)
            texts = [json.dumps(each) for each in content] if lines else [json.dumps(content)]
            path.write_text("\n".join(texts).replace('"DEEP"', deep))
        yield
    path.write_bytes(whole)


def _change(content: Any, rng: np.random.Generator) -> str:
    """In place; what "DEEP" stands for, which JSON could not write."""
    places = list(_places(content))
    parent, key = places[rng.integers(len(places))]
    how = rng.integers(5)
    if how == 0:
        del parent[key]
    elif how == 1 and isinstance(parent, dict):
        parent[key + "s"] = parent.pop(key)
    elif how == 2:
        parent[key] = [parent[key]]
    elif how == 3:
        parent[key] = "DEEP"
    else:
        parent[key] = VALUES[rng.integers(len(VALUES))]
    return "[" * 50_000 + "]" * 50_000 if rng.random() < 0.5 else "1" * 5000


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield node, key
        yield from _places(node[key])
