"""Kept features that are damaged are computed anew."""

import sqlite3
from contextlib import closing

import numpy as np

from enstruct.encoders.text import feature_cache

TEXTS = [f"text {k}" for k in range(80)]
FEATURES = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)


def kept(folder, calls):
    def compute(texts):
        calls.append(len(texts))
        return FEATURES[[TEXTS.index(text) for text in texts]]

    return feature_cache.kept("how", TEXTS, 3, folder, compute)


def test_a_bit_that_has_turned_is_seen(tmp_path):
    calls = []
    assert np.array_equal(kept(tmp_path, calls), FEATURES)
    (file,) = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(file)) as database, database:
        rows = database.execute("SELECT text, features FROM kept").fetchall()
        (name, content), (other, _) = rows[:2]
        turned = bytes([content[0] ^ 1]) + content[1:]
        database.execute("UPDATE kept SET features = ? WHERE text = ?", (turned, name))
        database.execute("UPDATE kept SET features = ? WHERE text = ?", (content, other))  # another text's
    assert np.array_equal(kept(tmp_path, calls), FEATURES)
    assert np.array_equal(kept(tmp_path, calls), FEATURES)
    assert calls == [80, 2]
