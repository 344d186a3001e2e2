"""Models of texts compared on generated documents, from the command to the section of the results page."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from tests.generated_texts import documents, tiny_encoder

from enstruct_bench.joint.told import random_order, told_share
from enstruct_bench.reports.texts import texts_section
from enstruct_bench.texts import compare, sides
from enstruct_bench.texts.collections import Collection, Documents

NAMES = ("grain", "wheat", "both")


@pytest.fixture
def collection(monkeypatch, tmp_path):
    parts = [Documents(texts, Y.astype(np.uint8), NAMES) for texts, Y in (documents(150, 0), documents(50, 1))]
    monkeypatch.setattr(compare, "load_collection", lambda name: Collection(*parts))
    monkeypatch.setenv("ENSTRUCT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Collection(*parts)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["compare", "toy", *words, "--out", "texts-toy.json"])
    compare.main()


def test_from_the_command_to_the_page(collection, monkeypatch, tmp_path, capsys):
    encoder = tiny_encoder(tmp_path / "tiny")
    wanted = ["--sides", "words,terms,frozen-linear,joint-encoder", "--encoder", str(encoder), "--max_tokens", "16"]
    run(monkeypatch, *wanted, "--seeds", "1", "--reference", "terms,never-run,words")
    content = json.loads((tmp_path / "texts-toy.json").read_text())
    rows = {row["side"]: row for row in content["rows"]}
    assert set(rows) == {"words", "terms", "frozen-linear", "joint-encoder"}
    assert all(rows[side]["micro-f1"] > 90 for side in ("words", "terms", "joint-encoder"))
    assert rows["joint-encoder"]["half-told"] >= rows["frozen-linear"]["half-told"]
    assert list(content["differences"]) == ["terms", "words"]
    assert set(content["differences"]["terms"]) == {"words", "frozen-linear", "joint-encoder"}
    for metric in ("micro-f1", "macro-f1"):
        mean, low, high = content["differences"]["terms"]["frozen-linear"][metric]
        assert low <= mean <= high
        assert mean == pytest.approx(rows["frozen-linear"][metric] - rows["terms"][metric])
    section = texts_section(tmp_path / "texts-toy.json")
    assert "| joint-encoder |" in section
    assert f"{rows['terms']['micro-f1']:.2f}" in section
    assert "- joint-encoder against words: micro F1 " in section
    monkeypatch.setattr(compare, "measured", lambda *_: pytest.fail("what the file has was run again"))
    run(monkeypatch, *wanted, "--seeds", "1", "--reference", "frozen-linear")
    again = json.loads((tmp_path / "texts-toy.json").read_text())
    assert again["rows"] == content["rows"]
    assert list(again["differences"]) == ["frozen-linear"]


def test_a_reference_without_probabilities_has_no_answers_on_told_labels(collection, monkeypatch, tmp_path):
    monkeypatch.setitem(sides.SIDES, "scores", lambda task: sides.Fitted(sides.words(task).marginals, calibrated=False))
    run(monkeypatch, "--sides", "scores,words", "--seeds", "1", "--reference", "scores")
    content = json.loads((tmp_path / "texts-toy.json").read_text())
    assert set(content["differences"]["scores"]["words"]) == {"micro-f1", "macro-f1", "subset-accuracy"}
    assert content["differences"]["scores"]["words"]["micro-f1"] == [0.0, 0.0, 0.0]


def test_runs_of_another_machine_are_taken_in(collection, monkeypatch, tmp_path):
    encoder = tiny_encoder(tmp_path / "tiny")
    run(monkeypatch, "--sides", "words,frozen-linear", "--encoder", str(encoder), "--seeds", "1")
    (tmp_path / "texts-toy.json").rename(tmp_path / "elsewhere.json")
    (tmp_path / "texts-toy.sets").rename(tmp_path / "elsewhere.sets")
    content = json.loads((tmp_path / "elsewhere.json").read_text())
    (tmp_path / "elsewhere.json").write_text(json.dumps({**content, "encoder": "another"}))
    run(
        monkeypatch,
        "--sides",
        "terms",
        "--encoder",
        str(encoder),
        "--seeds",
        "1",
        "--reference",
        "words",
        "--join",
        "elsewhere.json",
    )
    joined = json.loads((tmp_path / "texts-toy.json").read_text())
    rows = {row["side"]: row for row in joined["rows"]}
    assert rows["words"]["micro-f1"] == content["rows"][0]["micro-f1"]
    assert rows["frozen-linear"]["encoder"] == "another"
    assert not any("encoder" in rows[side] for side in ("words", "terms"))
    assert rows["terms"]["device"]
    assert set(joined["differences"]["words"]) == {"terms", "frozen-linear"}  # of its label sets, which came along
    assert "By another encoder: frozen-linear: another." in texts_section(tmp_path / "texts-toy.json")
    run(monkeypatch, "--sides", "terms", "--encoder", str(encoder), "--seeds", "1", "--join", "elsewhere.json")
    assert len(json.loads((tmp_path / "texts-toy.json").read_text())["rows"]) == 3
    with pytest.raises(SystemExit, match=r"holds runs of another few, chosen_on \(None\)"):
        run(monkeypatch, "--sides", "terms", "--few", "9", "--seeds", "1", "--join", "elsewhere.json")
    (tmp_path / "elsewhere.sets").rename(tmp_path / "gone")
    (tmp_path / "texts-toy.json").unlink()
    with pytest.raises(SystemExit, match=r"elsewhere.sets lacks the label sets of words, seed 0"):
        run(monkeypatch, "--sides", "terms", "--encoder", str(encoder), "--seeds", "1", "--join", "elsewhere.json")
    with pytest.raises(SystemExit, match=r"elsewhere.json is of shots=None, and this run of 8"):
        run(monkeypatch, "--sides", "terms", "--shots", "8", "--seeds", "1", "--join", "elsewhere.json")


def test_what_is_told_counts_for_nothing(collection):
    Y = collection.test.Y
    told = told_share(Y.astype(np.float32), random_order(Y.shape, 0), 0.5)
    p = np.full(Y.shape, 0.01)
    answer = compare._half_told(sides.Fitted(lambda _: p), collection.test.texts, p, told)
    assert not answer.toarray()[~np.isnan(told)].any()


def test_told_labels_that_a_joint_never_saw_are_not_told_to_it(collection):
    Y, asked = collection.test.Y, []
    told = told_share(Y.astype(np.float32), random_order(Y.shape, 0), 0.5)
    constants = np.full(Y.shape[1], np.nan)
    constants[0] = 0.0
    joint = SimpleNamespace(
        constants_=constants, predict_proba=lambda texts, known: asked.append(known) or np.full(Y.shape, 0.01)
    )
    compare._half_told(sides.Fitted(lambda _: None, joint), collection.test.texts, np.full(Y.shape, 0.01), told)
    there = told[:, 0] == 1
    assert there.any()
    assert np.isnan(asked[0][there, 0]).all()
    assert np.array_equal(asked[0][:, 1:], told[:, 1:], equal_nan=True)
    assert np.array_equal(asked[0][~there, 0], told[~there, 0], equal_nan=True)


def test_few_documents_and_sides_without_an_encoder(collection, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setitem(compare.SIDES, "terms", lambda task, own=compare.SIDES["terms"]: asked.append(task) or own(task))
    run(monkeypatch, "--sides", "terms", "--few", "40", "--seeds", "1")
    assert json.loads((tmp_path / "texts-toy.json").read_text())["rows"][0]["documents"] == 40
    assert [(len(task.train), len(task.validation)) for task in asked] == [(40, 10)]
    assert not set(asked[0].train.texts) & set(asked[0].validation.texts)
    assert "40 training documents, a fourth as many to choose on" in texts_section(tmp_path / "texts-toy.json")
    with pytest.raises(SystemExit, match="needs --encoder"):
        run(monkeypatch, "--sides", "adapter", "--few", "40", "--seeds", "1")
    content = json.loads((tmp_path / "texts-toy.json").read_text())
    (tmp_path / "texts-toy.json").write_text(json.dumps({**content, "encoder": "another"}))
    encoder = tiny_encoder(tmp_path / "tiny")
    with pytest.raises(SystemExit, match=r"holds runs of another encoder \(another\)"):
        run(monkeypatch, "--sides", "terms", "--few", "40", "--seeds", "1", "--encoder", str(encoder))


def test_peers_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(sides, "find_spec", lambda name: None)
    assert sides.is_there("terms")
    assert not sides.is_there("one-vs-rest")


def test_a_collection_that_is_not_there_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["compare", "aapd"])
    with pytest.raises(SystemExit, match=r"^error: "):
        compare.main()
    assert not [*tmp_path.iterdir()]
