"""What to read of texts, from the command to the section of the results page."""

import json
import sys

import numpy as np
import pytest
from tests.generated_texts import documents, tiny_encoder

from enstruct_bench.reports.views import views_section
from enstruct_bench.texts import views
from enstruct_bench.texts.collections import Collection, Documents

NAMES = ("grain", "wheat", "both", "never")


def test_from_the_command_to_the_page(monkeypatch, tmp_path):
    texts, Y = documents(120, 0)
    Y = np.column_stack([Y, np.zeros(len(Y))]).astype(np.uint8)
    found = Collection(Documents(texts, Y, NAMES), Documents(texts[:1], Y[:1], NAMES))
    monkeypatch.setattr(views, "load_collection", lambda name: found)
    monkeypatch.setattr(views, "FOLDS", 2)
    encoder = tiny_encoder(tmp_path / "tiny")
    out = tmp_path / "views-toy.json"
    words = ["views", "toy", "--encoder", str(encoder), "--max_tokens", "16", "--few", "60", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    views.main()
    content = json.loads(out.read_text())
    assert content["documents"] == [60, 24]
    alone = {row["bases"][0]: row for row in content["rows"] if len(row["bases"]) == 1}
    assert set(alone) == {"linear-svm (both)", "cross-entropy (encoder)", "linear-svm (terms)", "binary-relevance (both)"}
    assert len(content["rows"]) == 2**4 - 1
    assert alone["linear-svm (terms)"]["held out"]["micro-f1"] > 90
    pair = next(row for row in content["rows"] if len(row["bases"]) == 2)
    assert pair["seconds"] == pytest.approx(sum(alone[name]["seconds"] for name in pair["bases"]))
    section = views_section(out)
    assert f"| linear-svm (terms) | {alone['linear-svm (terms)']['left out']['micro-f1']:.2f} |" in section


def test_layers_from_the_command_to_the_page(monkeypatch, tmp_path):
    texts, Y = documents(80, 0)
    found = Collection(Documents(texts, Y.astype(np.uint8), NAMES[:3]), Documents(texts[:1], Y[:1].astype(np.uint8), NAMES[:3]))
    monkeypatch.setattr(views, "load_collection", lambda name: found)
    monkeypatch.setattr(views, "FOLDS", 2)
    out = tmp_path / "layers-toy.json"
    encoder = tiny_encoder(tmp_path / "tiny")
    words = ["views", "toy", "--encoder", str(encoder), "--max_tokens", "16", "--layers", "1,2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    views.main()
    names = [row["bases"][0] for row in json.loads(out.read_text())["rows"]]
    of_layers = [f"{base}, {n}" for n in ("1 layer", "2 layers") for base in ("cross-entropy (encoder)", "linear-svm (both)")]
    assert names == ["linear-svm (terms)", *of_layers]
    assert "| linear-svm (both), 2 layers |" in views_section(out)
