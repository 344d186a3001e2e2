"""Every method of every task on an accelerator, where there is one: it trains, answers, and is read back on the processor."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.data.synthetic import block_exclusive, ellipses
from enstruct.errors import DivergenceError
from enstruct.methods import MASK_METHODS, METHODS, TAG_METHODS
from enstruct.spaces.simplex import SimplexSpace
from enstruct.training import loop
from enstruct.training.game import Game

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator here")
FAST = {"max_epochs": 1, "random_state": 0, "device": "cuda"}
NEED_MORE = ("ge", "sg-spen")
"""Expectations, a reward."""


def check(model, X, Y, folder):
    p = model.fit(X, Y).predict_proba(X)
    model.save(folder / "model")
    again = type(model).load(folder / "model").set_params(device="cpu").predict_proba(X)
    for ours, theirs in zip(p, again, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=5e-3)  # after some steps of inference


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


SENTENCES = [["a", "dog", "barks"], ["the", "cat"], ["dogs", "bark", "at", "cats"]] * 10
TAGS = [["D", "N", "V"], ["D", "N"], ["N", "V", "P", "N"]] * 10
BLOCKS = block_exclusive(60)
WORK = {
    "labels": (EnergyMultiLabelClassifier, {"hidden": 16}, lambda: (BLOCKS.X, BLOCKS.Y)),
    "sparse labels": (EnergyMultiLabelClassifier, {"hidden": 16}, lambda: (sparse.csr_matrix(BLOCKS.X), BLOCKS.Y)),
    "tags": (EnergySequenceTagger, {"hidden": 8, "embedding_dim": 8}, lambda: (SENTENCES, TAGS)),
    "masks": (EnergySegmenter, {"width": 4, "levels": 2, "augment": True}, lambda: ellipses(16, 12)),
}
"""task -> estimator, its parameters, what it is fitted on."""
NEVER_WAIT = {
    "labels": ("cross-entropy", "seal-nce", "seal-regression", "seal-regression-s", "seal-margin", "infnet"),
    "sparse labels": ("cross-entropy", "seal-nce", "seal-regression-s"),
    "tags": ("cross-entropy", "seal-nce", "infnet", "crf"),
    "masks": ("cross-entropy", "seal-nce", "seal-regression-s", "infnet", "cglow"),
}
"""Methods whose inference takes as many steps as are set, or that have none: nothing there asks what a number is."""


@pytest.mark.parametrize(("task", "method"), [(task, name) for task, names in NEVER_WAIT.items() for name in names])
def test_the_processor_never_waits_between_two_steps(task, method, monkeypatch):
    """Batches are copied and both players move while the accelerator still works off what was asked before."""
    cut, play = loop.batches, Game.play

    @contextmanager
    def unwaited():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def batches(*args):
        each = iter(cut(*args))
        while True:
            with unwaited():
                batch = next(each, None)
            if batch is None:
                return
            yield batch

    def played(self, batch, stage):
        with unwaited():
            return play(self, batch, stage)

    estimator, parameters, data = WORK[task]
    model = estimator(method, **parameters, **FAST)
    model.fit(*data())  # what is asked once, as sizes of caches
    monkeypatch.setattr(loop, "batches", batches)
    monkeypatch.setattr(Game, "play", played)
    model.fit(*data())
    assert model.updates_["predictor"] > 0


def test_a_loss_that_becomes_no_number_is_found_at_the_end_of_the_epoch():
    rows = block_exclusive(60)
    with pytest.raises(DivergenceError, match="in this epoch"):
        EnergyMultiLabelClassifier("seal-nce", hidden=16, learning_rate=1e30, clip=None, **FAST).fit(rows.X, rows.Y)


def test_classes_are_drawn_by_their_probabilities():
    logits = torch.tensor([[0.0, 1.0, -torch.inf, 2.0]], device="cuda")
    y = SimplexSpace(4).sample(logits, 100_000)[0]
    assert (y.mean(0) - torch.softmax(logits[0], -1)).abs().max() < 0.01
    assert y.sum(1).eq(1).all()
    assert y[:, 2].sum() == 0
