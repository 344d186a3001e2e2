"""A fit that is interrupted, wherever it is, leaves the estimator as it was: not fitted, or with the former answers."""

import signal
import time

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import overrides

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.data.synthetic import ellipses
from enstruct.decisions import choose
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.randomness import generator, redirected, seeded
from enstruct.training.callbacks import Callback

pytestmark = pytest.mark.usefixtures("quick_fields", "quick_bases")
WORDS = [["in", "Rome", f"w{i}"] for i in range(30)]
TAGS = [["O", "B-LOC", "O"]] * 30
TIMES = 4


def labels(blocks, **settings):
    model = NetworkClassifier(hidden=6, layers=1, max_epochs=3, random_state=0, **settings)
    return model, (blocks.X[:120], blocks.Y[:120]), blocks.X


def auto(blocks):
    model = AutoMultiLabelClassifier(minutes=0.05, members=1, folds=2, random_state=0, settings={"hidden": 6, "max_epochs": 2})
    return model, (blocks.X[:120], blocks.Y[:120]), blocks.X


def tagger(blocks, **settings):
    model = EnergySequenceTagger("seal-margin", hidden=4, embedding_dim=4, max_epochs=3, random_state=0, **settings)
    return model, (WORDS, TAGS), WORDS


def segmenter(blocks):
    pictures = ellipses(12, 8, seed=0)
    return EnergySegmenter("seal-margin", width=2, levels=1, max_epochs=3, random_state=0), pictures, pictures[0]


MAKERS = {
    "labels": labels,
    "labels, warm": lambda blocks: labels(blocks, warm_start=True),
    "labels by inference": lambda blocks: labels(blocks, method="spen"),
    "auto": auto,
    "tagger": tagger,
    "tagger, warm": lambda blocks: tagger(blocks, warm_start=True),
    "segmenter": segmenter,
}


def interrupt(*args):
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def alarm():
    former = signal.signal(signal.SIGVTALRM, interrupt)
    yield
    signal.signal(signal.SIGVTALRM, former)


def interrupted(model, given, seconds):
    """Whether Ctrl-C came within the fit: it comes after so many seconds of the processor."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            model.fit(*given)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except KeyboardInterrupt:
        return True
    return False


def marginals(model, X):
    return [np.asarray(p) for p in model.predict_proba(X)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Ctrl-C within somebody's callback is lost there
@pytest.mark.parametrize("name", MAKERS)
def test_an_interrupted_fit_leaves_no_mixture(name, blocks):
    model, given, X = MAKERS[name](blocks)
    for _ in range(2):  # the first is slower: libraries are loaded
        fresh, _, _ = MAKERS[name](blocks)
        begin = time.process_time()
        fresh.fit(*given)
        seconds = time.process_time() - begin
    settings, times = model.get_params(), 0
    for share in np.linspace(0.05, 0.9, TIMES):  # of a first fit
        if interrupted(model, given, share * seconds):
            times += 1
            with pytest.raises(NotFittedError):
                model.predict(X)
            assert model.get_params() == settings
        model, given, X = MAKERS[name](blocks)
    for share in np.linspace(0.05, 0.9, TIMES):  # of a further fit
        held, expected = dict(vars(fresh)), marginals(fresh, X)
        if interrupted(fresh, given, share * seconds):
            times += 1
            assert vars(fresh).keys() == held.keys()
            assert all(vars(fresh)[key] is value for key, value in held.items())
            for p, q in zip(marginals(fresh, X), expected, strict=True):
                np.testing.assert_array_equal(p, q)
    assert times >= TIMES


class Stop(Callback):
    """Interrupts a fit after its third batch."""

    def __init__(self) -> None:
        self.batches = 0

    def on_batch_end(self, loop) -> None:
        self.batches += 1
        if self.batches == 3:
            raise KeyboardInterrupt


def test_a_warm_start_that_is_interrupted_leaves_the_weights(blocks):
    model, given, X = labels(blocks, warm_start=True)
    p = model.fit(*given).predict_proba(X)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=[Stop()]).fit(*given)
    np.testing.assert_array_equal(model.predict_proba(X), p)


def test_an_interruption_after_training_leaves_the_former_rules_and_networks(blocks, monkeypatch):
    model, given, X = labels(blocks)
    p = model.fit(*given).predict_proba(X)
    before = dict(vars(model))

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(choose.Comparison, "best", stop)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(max_epochs=1).fit(*given)
    assert vars(model) == before | {"max_epochs": 1}
    np.testing.assert_array_equal(model.predict_proba(X), p)


def test_a_first_call_of_partial_fit_that_fails_leaves_nothing(blocks, monkeypatch):
    model = EnergyMultiLabelClassifier("seal-nce", hidden=6, random_state=0)
    monkeypatch.setattr(NetworkClassifier, "_train_one_pass", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(blocks.X, blocks.Y)
    with pytest.raises(NotFittedError):
        model.predict(blocks.X)


def test_a_further_call_of_partial_fit_that_fails_leaves_the_history(blocks, monkeypatch):
    model = EnergyMultiLabelClassifier("seal-nce", hidden=6, random_state=0).partial_fit(blocks.X, blocks.Y)
    history = model.history_
    model.partial_fit(blocks.X, blocks.Y)
    assert len(history) == 1
    assert len(model.history_) == 2


def test_blocks_of_torch_that_were_cut_short_are_left(blocks, monkeypatch):
    """Ctrl-C within the end of ``torch.no_grad()``, or of a mode, would leave every later fit without gradients."""

    def cut(*args, **kwargs):
        torch.no_grad().__enter__()
        torch.device("meta").__enter__()
        seeded(0).__enter__()
        redirected().__enter__()
        raise KeyboardInterrupt

    model, given, _ = labels(blocks)
    with monkeypatch.context() as patch:
        patch.setattr(NetworkClassifier, "_train", cut)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*given)
    assert torch.is_grad_enabled()
    assert torch.zeros(1).device.type == "cpu"
    assert generator("cpu") is None
    model.fit(*given)


def test_an_interruption_between_two_steps_of_a_block_is_not_lost_in_an_error_of_torch(blocks, monkeypatch):
    """After the instruction at which the stack of devices is empty for a moment; a fit said that its network was too large."""
    pop, times = overrides._pop_mode, []

    def popped():
        mode = pop()
        if not times:
            times.append(mode)
            signal.raise_signal(signal.SIGVTALRM)
        return mode

    model, given, _ = labels(blocks)
    with monkeypatch.context() as patch:
        patch.setattr(overrides, "_pop_mode", popped)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*given)
    assert len(times) == 1
    assert torch.zeros(1).device.type == "cpu"
    model.fit(*given)
