"""The running mean of weights: its closed form, what it holds, and that it is what training keeps."""

from contextlib import contextmanager
from math import comb

import numpy as np
import pytest
import torch
from tests.generated import make_sentences
from torch import nn

from enstruct import EnergySequenceTagger
from enstruct.training.callbacks import Callback
from enstruct.training.checkpoint import Checkpoint
from enstruct.training.loop import Loop
from enstruct.training.weight_average import POWER, WeightAverage

SMALL = {"hidden": 6, "embedding_dim": 4, "learning_rate": 0.02, "random_state": 0, "max_epochs": 3, "batch_size": 8}


def expected(seen):
    """Each update's weights count binomially: C(k + POWER - 1, POWER) of the k-th."""
    shares = torch.tensor([float(comb(k + POWER - 1, POWER)) for k in range(1, len(seen) + 1)], dtype=torch.float64)
    return (torch.stack([each.double() for each in seen]) * shares.reshape(-1, *[1] * seen[0].dim())).sum(0) / shares.sum()


def test_the_mean_is_that_of_binomial_shares():
    network, seen = nn.Linear(3, 2), []
    average = WeightAverage(network)
    for n in range(40):
        nn.init.normal_(network.weight)
        average.update()
        seen.append(network.weight.detach().clone())
        assert torch.allclose(average.means["weight"].double(), expected(seen), atol=1e-5)
        assert average.updates == n + 1


def test_the_network_has_the_mean_within_alone():
    network = nn.BatchNorm1d(2)
    network.bias.requires_grad_(False)
    average = WeightAverage(network)
    for value in (1.0, 3.0):
        for tensor in (network.weight, network.bias, network.running_mean):
            tensor.detach().fill_(value)
        network.num_batches_tracked += 1
        average.update()
    share = (POWER + 1) / (POWER + 2)
    with average.in_place():
        assert torch.allclose(network.weight, torch.full((2,), 1 + 2 * share))
        assert torch.allclose(network.running_mean, torch.full((2,), 1 + 2 * share))
        assert network.bias.tolist() == [3, 3], "what does not learn is as it is"
        assert network.num_batches_tracked == 2
    assert network.weight.tolist() == network.running_mean.tolist() == [3, 3]
    with pytest.raises(ZeroDivisionError), average.in_place():
        print(1 / 0)
    assert network.weight.tolist() == network.running_mean.tolist() == [3, 3]


class Watch(Callback):
    """The networks' weights after every batch."""

    def __init__(self):
        self.predictor, self.energy = [], []

    def on_batch_end(self, loop):
        self.predictor.append([weights.detach().clone() for weights in loop.game.predictor.parameters()])
        if loop.game.loss.energy is not None:
            self.energy.append([weights.detach().clone() for weights in loop.game.loss.energy.parameters()])


def means(seen):
    return [expected(list(each)).float() for each in zip(*seen, strict=True)]


def close(network, weights):
    return all(torch.allclose(a, b, atol=1e-5) for a, b in zip(network.parameters(), weights, strict=True))


@pytest.mark.parametrize("better", [True, False])
def test_a_tagger_keeps_the_mean_of_its_weights_where_that_scores_better(better, monkeypatch):
    watch, scores = Watch(), iter([0.4, 0.5] if better else [0.5, 0.5])
    monkeypatch.setattr(Loop, "_scores", lambda *_: {"score": next(scores)})
    made = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, callbacks=[watch]).fit(*make_sentences(60))
    assert close(made.predictor_, means(watch.predictor)) == better
    assert close(made.predictor_, watch.predictor[-1]) != better
    assert made.history_[0]["averaged"] == better
    assert made.history_[0]["score"] == 0.5


def test_a_field_keeps_the_mean_of_its_energys(monkeypatch):
    scores = iter([0.4, 0.5])
    monkeypatch.setattr(Loop, "_scores", lambda *_: {"score": next(scores)})
    watch = Watch()
    made = EnergySequenceTagger("crf", **{**SMALL, "max_epochs": 1}, callbacks=[watch]).fit(*make_sentences(60))
    assert close(made.energy_, means(watch.energy))


def test_without_validation_rows_the_last_weights_are_kept():
    words, tags = make_sentences(60)
    watch, plain = Watch(), [["is", "here", "."]] * 3
    made = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, callbacks=[watch])
    made.fit(words, tags, None, plain, [["O"] * 3] * 3)  # without a span, that says nothing
    assert close(made.predictor_, watch.predictor[-1])
    assert not made.history_[0]["averaged"]


class Unaveraged(EnergySequenceTagger):
    average = False


def test_none_are_averaged_unasked():
    watch = Watch()
    made = Unaveraged("cross-entropy", **{**SMALL, "max_epochs": 1}, callbacks=[watch])
    assert close(made.fit(*make_sentences(60)).predictor_, watch.predictor[-1])
    assert "averaged" not in made.history_[0]


def test_where_rates_fall_to_nothing_the_last_weights_are_kept():
    assert EnergySequenceTagger(**SMALL)._settings(100).average
    assert not EnergySequenceTagger(**SMALL)._settings(100, passes=True).average
    assert not Unaveraged(**SMALL)._settings(100).average


class Interrupt(Callback):
    def __init__(self, after):
        self.after = after

    def on_epoch_end(self, loop, record):
        if len(loop.progress.history) == self.after:
            raise KeyboardInterrupt


@pytest.fixture
def means_are_better(monkeypatch):
    """Whatever the validation sentences say: the last mean of each stage is kept, of weights and of what went into it before."""
    real, numbers = Loop._scores_of_first, {}

    def scores(loop, stage, losses):
        real(loop, stage, losses)
        within = loop.average is not None and loop._within
        numbers[loop] = loop.progress.epoch + 0.5 * within
        return {"score": numbers[loop]}

    @contextmanager
    def in_place(average):
        Loop._within = True
        with real_place(average):
            yield
        Loop._within = False

    real_place = WeightAverage.in_place
    monkeypatch.setattr(Loop, "_within", False, raising=False)
    monkeypatch.setattr(WeightAverage, "in_place", in_place)
    monkeypatch.setattr(Loop, "_scores_of_first", scores)


@pytest.mark.usefixtures("means_are_better")
@pytest.mark.parametrize(
    ("method", "after"), [("cross-entropy", 2), ("crf", 2), ("crf-taught", 2), ("crf-taught", 5), ("seal-nce", 5), ("spen", 5)]
)
def test_interrupted_and_resumed_equals_uninterrupted(method, after, tmp_path):
    path, sentences = tmp_path / "run", make_sentences(60)
    whole = EnergySequenceTagger(method, **SMALL).fit(*sentences)
    with pytest.raises(KeyboardInterrupt):
        EnergySequenceTagger(method, **SMALL, callbacks=[Checkpoint(path), Interrupt(after)]).fit(*sentences)
    resumed = EnergySequenceTagger(method, **SMALL, callbacks=[Checkpoint(path, resume=True)]).fit(*sentences)
    assert [record["averaged"] for record in resumed.history_] == [True] * len(whole.history_)
    for a, b in ((whole.predictor_, resumed.predictor_), (whole.energy_, resumed.energy_)):
        if a is not None:
            assert all(torch.equal(one, other) for one, other in zip(a.parameters(), b.parameters(), strict=True))


class Masked(nn.Module):
    """An encoder with a mask, and a table that grows."""

    def __init__(self, tokens):
        super().__init__()
        self.words, self.out_features = nn.Embedding(len(tokens.words) + 1, 6), 6
        self.register_buffer("mask", torch.full((3, 3), -torch.inf))
        self.register_buffer("places", None)

    def forward(self, batch):
        n = batch.columns.shape[1]
        self.places = torch.zeros(n, 6) if self.places is None or len(self.places) < n else self.places
        return self.words(batch.columns[..., 0]) + self.places[:n]


@pytest.mark.usefixtures("means_are_better")
def test_buffers_are_as_they_are():
    made = EnergySequenceTagger("cross-entropy", **SMALL, encoder=Masked).fit(*make_sentences(60))
    assert made.history_[-1]["averaged"]
    assert torch.isinf(made.predictor_.encoder.mask).all()
    assert all(np.isfinite(p).all() for p in made.predict_proba(make_sentences(5)[0]))
