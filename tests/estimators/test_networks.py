"""Networks: sizes that would fill the memory are refused before any of it is allocated."""

import numpy as np
import pytest
import torch
from tests.configured import configured

from enstruct import EnergySegmenter, EnergySequenceTagger
from enstruct.encoders import MLP
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError
from enstruct.estimators import networks
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.networks import BYTES, MOST_BYTES, check_bytes, check_networks

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(30, 4)), (RNG.random((30, 3)) < 0.5).astype(int)
WORDS = [["a", "b"], ["c", "d", "e"]] * 5, [["X", "Y"], ["Y", "X", "X"]] * 5
IMAGES = RNG.random((8, 8, 8)), (RNG.random((8, 8, 8)) > 0.5).astype(int)
HUGE = 10**9


@pytest.mark.parametrize(
    ("made", "data", "settings"),
    [
        (NetworkClassifier, ROWS, {"hidden": HUGE}),
        (NetworkClassifier, ROWS, {"hidden": 10**30}),
        (NetworkClassifier, ROWS, {"hidden": 10**8, "layers": 1}),
        (NetworkClassifier, ROWS, {"layers": HUGE}),
        (NetworkClassifier, ROWS, {"hidden": 10**7, "layers": 3}),
        (NetworkClassifier, ROWS, {"energy_network": EnergySpec(units=HUGE)}),
        (NetworkClassifier, ROWS, {"energy_network": EnergySpec(("local", "pairwise"), rank=HUGE)}),
        (NetworkClassifier, ROWS, {"n_samples": HUGE}),
        (NetworkClassifier, ROWS, {"energy_steps": HUGE}),
        (EnergySequenceTagger, WORDS, {"hidden": HUGE}),
        (EnergySequenceTagger, WORDS, {"hidden": 10**6}),
        (EnergySequenceTagger, WORDS, {"layers": HUGE}),
        (EnergySequenceTagger, WORDS, {"embedding_dim": HUGE}),
        (EnergySequenceTagger, WORDS, {"characters": HUGE}),
        (EnergySequenceTagger, WORDS, {"energy_network": EnergySpec(("local", "chain", "conv"), window=HUGE + 1)}),
        (EnergySegmenter, IMAGES, {"levels": 20}),
        (EnergySegmenter, IMAGES, {"levels": 15}),
        (EnergySegmenter, IMAGES, {"width": HUGE}),
        (EnergySegmenter, IMAGES, {"width": 10**6, "network": "fcn"}),
        (EnergySegmenter, IMAGES, {"size": (10**6, 10**6)}),
        (EnergySegmenter, IMAGES, {"size": (10**4, 10**4)}),
        (EnergySegmenter, IMAGES, {"size": (10**30, 1)}),
    ],
)
def test_what_would_fill_the_memory_is_refused(made, data, settings):
    with pytest.raises(ConfigError, match=r"GiB of memory|must be a whole number from"):
        configured(made, **settings).fit(*data)


def test_draws_are_counted():
    model = NetworkClassifier("cross-entropy", hidden=4, max_epochs=1).fit(*ROWS)
    with pytest.raises(ConfigError, match="make n="):
        model.sample(ROWS[0], HUGE)
    assert model.sample(ROWS[0], 2).shape == (30, 2, 3)


def test_the_limit_itself_is_allowed():
    check_bytes("This", MOST_BYTES // BYTES, "that=")
    with pytest.raises(ConfigError, match=r"This would take more than the 2 GiB .* make that= smaller"):
        check_bytes("This", MOST_BYTES // BYTES + 1, "that=")


def test_weights_are_added_up_before_they_are_made(monkeypatch):
    made = []

    def pair():
        made.append(torch.nn.Linear(9, 10))
        return made[-1], torch.nn.Linear(9, 5)

    monkeypatch.setattr(networks, "MOST_BYTES", 100 * BYTES)
    check_networks(pair, "width=")
    assert [network.weight.device.type for network in made] == ["meta"]
    monkeypatch.setattr(networks, "MOST_BYTES", 99 * BYTES)
    with pytest.raises(ConfigError, match="width="):
        check_networks(pair, "width=")
    with pytest.raises(ConfigError, match="width="):
        check_networks(lambda: (torch.nn.Linear(10**12, 10**12), None), "width=")
    with pytest.raises(ConfigError, match="energy_network="):
        check_networks(lambda: pair()[::-1], "width=")


def test_weights_that_are_there_already_do_not_count(monkeypatch):
    monkeypatch.setattr(networks, "MOST_BYTES", 99 * BYTES)
    own = torch.nn.Linear(9, 10)
    check_networks(lambda: (own, None), "width=")


def test_counting_draws_no_random_numbers():
    def made():
        return torch.nn.ModuleList(
            [torch.nn.LSTM(3, 4), torch.nn.Conv2d(3, 4, 3), torch.nn.Embedding(5, 2), MLP(3, 4, sparse=True)]
        ), None

    torch.manual_seed(0)
    check_networks(made, "width=")
    counted = torch.get_rng_state()
    assert torch.equal(counted, torch.manual_seed(0).get_state())


def test_a_network_of_ones_own_is_not_counted(monkeypatch):
    monkeypatch.setattr(networks, "MOST_BYTES", 2000 * BYTES)
    own = NetworkClassifier("cross-entropy", encoder=lambda n: torch.nn.Linear(n, 600), max_epochs=1)
    assert own.fit(*ROWS).predict(ROWS[0]).shape == (30, 3)
    with pytest.raises(ConfigError, match="hidden="):
        NetworkClassifier("cross-entropy", hidden=600, layers=1).fit(*ROWS)
