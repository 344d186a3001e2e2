"""Shapes of JSON files."""

import json

import pytest

from enstruct.errors import DataError
from enstruct.records import fits, parsed, read_record

SHAPE = {"runs": [{"name": str, "seed": int, "score?": (float, None)}], "kind": frozenset({"a", "b"}), "more": {str: object}}
FINE = {
    "runs": [{"name": "x", "seed": 1, "score": None, "else": [1]}, {"name": "y", "seed": 2, "score": 1}],
    "kind": "a",
    "more": {},
}


def test_what_fits():
    assert parsed(json.dumps(FINE), SHAPE) == FINE
    assert fits({"a": float("nan")}, {"a": float})
    assert not fits(True, int)
    assert not fits(True, float)
    assert not fits(1.0, int)
    assert fits([1, "a"], list)
    assert fits(2**63 - 1, int)
    assert not fits([10**400], [float])
    assert fits([{"a": None}, "b"], [({"a": (int, None)}, str)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("runs"), "Object missing required field `runs`"),
        (lambda c: c["runs"][1].pop("seed"), r"Object missing required field `seed` - at `\$\.runs\[1\]`"),
        (lambda c: c["runs"][0].update(seed="1"), r"Expected `int`, got `str` - at `\$\.runs\[0\]\.seed`"),
        (lambda c: c["runs"][0].update(score="x"), r"Expected `float \| null`, got `str` - at `\$\.runs\[0\]\.score`"),
        (lambda c: c.update(runs={}), r"Expected `array`, got `object` - at `\$\.runs`"),
        (lambda c: c.update(kind="c"), r"Invalid enum value 'c' - at `\$\.kind`"),
        (lambda c: c.update(more=[1]), r"Expected `object`, got `array` - at `\$\.more`"),
        (lambda c: c["runs"][0].update(seed=2**63), "it holds a number of more than 64 bits"),
        (lambda c: c["more"].update(deep=[{"x": 10**400}]), "it holds a number of more than 64 bits"),
    ],
)
def test_what_does_not_is_named(change, message, tmp_path):
    content = json.loads(json.dumps(FINE))
    change(content)
    (tmp_path / "f.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=rf"f\.json is not a list of runs: {message}"):
        read_record(tmp_path / "f.json", SHAPE, "not a list of runs")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        ('{"runs": ' + "1" * 5000 + "}", "digits"),
        ("{", "Expecting"),
        ("", "Expecting"),
        ("\ud800", "Expecting"),
    ],
)
def test_what_is_no_json(text, message):
    with pytest.raises(ValueError, match=message):
        parsed(text, SHAPE)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("nowhere", ".", "bytes"):
        with pytest.raises(DataError, match="is no file"):
            read_record(tmp_path / name, SHAPE, "no file")
