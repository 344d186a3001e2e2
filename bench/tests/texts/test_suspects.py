"""Suspects among labels of generated documents, from the command to the section of the results page."""

import json
import sys

import numpy as np
import pytest
from tests.generated_texts import documents

from enstruct_bench.joint.wrong_cells import precision_of_suspects
from enstruct_bench.reports.suspects import suspects_section
from enstruct_bench.texts import suspects
from enstruct_bench.texts.collections import Collection, Documents

NAMES = ("grain", "wheat", "both")


@pytest.fixture
def collection(monkeypatch, tmp_path):
    texts, Y = documents(300, 0)
    Y = Y.astype(np.uint8)
    Y[7, 0] = 1 - Y[7, 0]  # wrong as published
    found = Collection(Documents(texts, Y, NAMES), Documents(texts[:1], Y[:1], NAMES))
    monkeypatch.setattr(suspects, "load_collection", lambda name: found)
    monkeypatch.chdir(tmp_path)
    return found


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["suspects", "toy", "--base", "binary-relevance", *words, "--out", "suspects-toy.json"])
    suspects.main()


def test_from_the_command_to_the_page(collection, monkeypatch, tmp_path, capsys):
    run(monkeypatch, "--noise", "flips", "--first", "3")
    printed = capsys.readouterr().out
    assert collection.train.texts[7] in printed
    text = (tmp_path / "suspects-toy.json").read_text()
    published, planted = json.loads(text)["rows"]
    assert published["worst"][0]["document"] == 7
    assert (published["worst"][0]["label"], published["worst"][0]["given"]) == ("grain", bool(collection.train.Y[7, 0]))
    assert collection.train.texts[7] not in text
    assert planted["joint"] > 80  # by chance 5
    assert planted["joint"] > planted["base"]  # the third label follows of the other two
    mean, low, high = planted["more"]["base"]
    assert low <= mean <= high
    assert mean == pytest.approx(planted["joint"] - planted["base"])
    section = suspects_section(tmp_path / "suspects-toy.json")
    assert f"| flips | {planted['joint']:.1f} |" in section
    assert "| 7 | grain |" in section
    monkeypatch.setattr(suspects, "qualities", lambda *_: pytest.fail("what the file has was run again"))
    run(monkeypatch, "--noise", "flips", "--first", "3")


def test_of_some_documents_numbers_are_those_of_all(collection, monkeypatch, tmp_path):
    run(monkeypatch, "--noise", "none", "--documents", "200", "--first", "1", "--seed", "3")
    (row,) = json.loads((tmp_path / "suspects-toy.json").read_text())["rows"]
    drawn = np.random.default_rng(3).permutation(300)[:200]
    assert row["documents"] == 200
    assert row["worst"][0]["document"] in drawn
    assert (7 in drawn) == (row["worst"][0]["document"] == 7)


def test_precision_counts_what_is_wrong():
    wrong = np.tile([[True, False], [False, False], [False, True]], (10, 1))
    quality = {"joint": np.where(wrong, 0.1, 0.9), "base": np.full(wrong.shape, 0.5)}
    out = suspects.precisions(quality, wrong, 0)
    assert out["joint"] == 100
    assert out["base"] == pytest.approx(100 * precision_of_suspects(quality["base"], wrong)) == pytest.approx(100 / 3)
