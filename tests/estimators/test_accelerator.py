"""Every method of every task on an accelerator, where there is one: it trains, answers, and is read back on the processor."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.data.synthetic import block_exclusive, ellipses
from enstruct.methods import MASK_METHODS, METHODS, TAG_METHODS

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator here")
FAST = {"max_epochs": 1, "random_state": 0, "device": "cuda"}
NEED_MORE = ("ge", "sg-spen")
"""Expectations, a reward."""


def check(model, X, Y, folder):
    p = model.fit(X, Y).predict_proba(X)
    model.save(folder / "model")
    again = type(model).load(folder / "model").set_params(device="cpu").predict_proba(X)
    for ours, theirs in zip(p, again, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if row.solver is None])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_label_sets(method, form, tmp_path):
    rows = block_exclusive(60)
    check(EnergyMultiLabelClassifier(method, hidden=16, **FAST), form(rows.X), rows.Y, tmp_path)


@pytest.mark.parametrize("method", [name for name in TAG_METHODS if name not in NEED_MORE])
def test_tags(method, tmp_path):
    sentences = [["a", "dog", "barks"], ["the", "cat"], ["dogs", "bark", "at", "cats"]] * 10
    tags = [["D", "N", "V"], ["D", "N"], ["N", "V", "P", "N"]] * 10
    check(EnergySequenceTagger(method, hidden=8, embedding_dim=8, **FAST), sentences, tags, tmp_path)


@pytest.mark.parametrize("method", list(MASK_METHODS))
@pytest.mark.parametrize("augment", [False, True])
def test_masks(method, augment, tmp_path):
    check(EnergySegmenter(method, width=4, levels=2, augment=augment, **FAST), *ellipses(16, 12), tmp_path)
