"""Models that released versions have saved: those of this format load and answer as they did, earlier ones say what to do."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import enstruct
from enstruct.errors import ModelFileError

MODELS = Path(__file__).parents[1] / "fixtures" / "models"
ROOT = Path(__file__).parents[2]
KEPT = sorted(MODELS.glob("*/*.json"))
of_every_release = pytest.mark.parametrize("kept", KEPT, ids=lambda path: f"{path.parent.name} {path.stem}")


def loaded(folder):
    header = next(folder / name for name in ("joint.json", "auto.json", "model.json") if (folder / name).exists())
    return getattr(enstruct, json.loads(header.read_text())["estimator"]).load(folder)


def test_every_version_of_the_changelog_has_its_models():
    versions = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {path.name for path in MODELS.iterdir()} == {*versions}


@of_every_release
def test_a_model_answers_as_it_did(kept):
    model, kind, kept = loaded(kept.with_suffix("")), kept.stem, json.loads(kept.read_text())
    rows = kept["rows"]
    if kind not in ("tagger", "texts"):
        rows = np.array(rows)
    calls = {"known": lambda: model.predict_proba(rows, known=told(rows, model))}
    for name, before in kept["answers"].items():
        if name in ("log_prob", "energy"):
            now = getattr(model, name)(rows, model.predict(rows))
        else:
            now = calls.get(name, lambda name=name: getattr(model, name)(rows))()
        now = now if isinstance(now, list) else [now]
        assert len(now) == len(before), name
        for one, other in zip(now, before, strict=True):
            one = one.toarray() if hasattr(one, "toarray") else np.asarray(one)
            if one.dtype.kind in "fiub":
                np.testing.assert_allclose(one, np.array(other), atol=2e-5, err_msg=name)
            else:
                assert one.tolist() == other


@of_every_release
def test_a_row_alone_is_answered_as_among_others_and_by_any_number_of_threads(kept):
    model, kind, rows = loaded(kept.with_suffix("")), kept.stem, json.loads(kept.read_text())["rows"]
    rows = rows if kind in ("tagger", "texts") else np.array(rows)
    together = [np.asarray(one) for one in model.predict_proba(rows)]
    for k, other in enumerate(together):
        np.testing.assert_allclose(np.asarray(model.predict_proba(rows[k : k + 1])[0]), other, atol=1e-5)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for one, other in zip(model.predict_proba(rows), together, strict=True):
            np.testing.assert_allclose(np.asarray(one), other, atol=1e-5)
    finally:
        torch.set_num_threads(before)


def told(rows, model):
    known = np.full((len(rows), len(model.classes_)), np.nan)
    known[:, 0] = 1
    return known


def test_a_model_of_0_1_says_what_to_do():
    with pytest.raises(ModelFileError, match=r"saved by enstruct 0\.1\.0.*fit it anew.*pip install 'enstruct<0\.2'"):
        enstruct.EnergyMultiLabelClassifier.load(MODELS / "0.1.0" / "network")
