"""Random numbers of one's own: the same streams as torch's, nobody else's moved, the same answers in threads."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.model_selection import GridSearchCV
from torch import nn

from enstruct import METHODS, EnergySegmenter, EnergySequenceTagger, EnergySpec
from enstruct.data.synthetic import ellipses
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.methods.masks import MASK_METHODS
from enstruct.methods.tags import TAG_METHODS
from enstruct.randomness import (
    Dropout,
    drawn_like,
    generator,
    redirect,
    redirected,
    repeatable,
    replayed,
    seeded,
    set_states,
    states,
)

half = torch.full((40,), 0.5)
DRAWS = {
    "rand": lambda: torch.rand(5),
    "rand_like": lambda: torch.rand_like(half),
    "randn": lambda: torch.randn(5),
    "randn_like": lambda: torch.randn_like(half),
    "randint": lambda: torch.randint(9, (40,)),
    "randint of a range": lambda: torch.randint(2, 9, (40,)),
    "randint_like": lambda: torch.randint_like(half, 9),
    "randperm": lambda: torch.randperm(40),
    "bernoulli": lambda: torch.bernoulli(half),
    "bernoulli_": lambda: torch.empty(40).bernoulli_(0.4),
    "multinomial": lambda: torch.multinomial(half, 9, replacement=True),
    "normal": lambda: torch.normal(half, 1.0),
    "exponential_": lambda: torch.empty(5).exponential_(),
    "geometric_": lambda: torch.empty(40).geometric_(0.3),
    "random_": lambda: torch.empty(40).random_(70),
    "poisson": lambda: torch.poisson(half * 9),
    "binomial": lambda: torch.binomial(half * 18, half),
    "Beta": lambda: torch.distributions.Beta(1.0, 2.0).sample((3,)),
    "gumbel_softmax": lambda: F.gumbel_softmax(half),
    "dropout": lambda: F.dropout(half),
    "alpha_dropout": lambda: F.alpha_dropout(half, training=True),
    "dropout2d": lambda: F.dropout2d(torch.ones(2, 30, 4, 4)),
    "rrelu": lambda: F.rrelu(-half, training=True),
    "fractional_max_pool2d": lambda: F.fractional_max_pool2d(torch.arange(64.0).view(1, 1, 8, 8), 2, output_ratio=(0.5, 0.5)),
    "Linear": lambda: nn.Linear(3, 2).weight.detach(),
    "Embedding": lambda: nn.Embedding(3, 2).weight.detach(),
    "orthogonal_": lambda: nn.init.orthogonal_(torch.empty(3, 3)),
    "trunc_normal_": lambda: nn.init.trunc_normal_(torch.empty(5)),
    "LSTM": lambda: nn.LSTM(3, 9, num_layers=2, dropout=0.5)(torch.ones(2, 2, 3))[0].detach(),
    "MultiheadAttention": lambda: nn.MultiheadAttention(4, 2, dropout=0.5)(*[torch.ones(9, 1, 4)] * 3)[0].detach(),
    "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(4, 2, 8)(torch.ones(9, 1, 4)).detach(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_what_names_no_generator_draws_torchs_own_stream_from_the_source(name):
    torch.manual_seed(3)
    expected = DRAWS[name]()
    torch.manual_seed(99)
    before = torch.get_rng_state()
    with seeded(3), redirected():
        drawn = DRAWS[name]()
    torch.testing.assert_close(drawn, expected, rtol=0, atol=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_outside_of_a_source_torchs_generator_is_drawn_from():
    assert generator("cpu") is None
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    with redirected():
        assert torch.equal(torch.rand(5, **drawn_like(half)), expected)


def test_dropout_is_torchs():
    ours, theirs = Dropout(0.3), nn.Dropout(0.3)
    torch.manual_seed(3)
    expected = theirs(half)
    with seeded(3):
        assert torch.equal(ours(half), expected)
    assert ours.eval()(half) is half


@pytest.mark.parametrize("within", [True, False])
def test_blocks_that_are_repeated_leave_the_stream_alone(within):
    def draw():
        return torch.rand(5, generator=generator("cpu")).tolist()

    def drawn():
        first = draw()
        place = states("cpu")
        with repeatable(7, "cpu"):
            one = draw()
        with repeatable(7, "cpu"):
            assert draw() == one != first
        second = draw()
        with replayed(place, "cpu"):
            assert draw() == second
        third = draw()
        set_states(place, "cpu")
        assert draw() == second
        return first + second + third

    torch.manual_seed(5)
    expected = torch.rand(15).tolist()
    torch.manual_seed(5)
    if within:
        with seeded(5):
            assert drawn() == pytest.approx(expected)
    else:
        assert drawn() == pytest.approx(expected)


class Noisy(nn.Module):
    """Draws inside of its own ``forward``, by a layer and by a function."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.layer, self.dropout, self.out_features = nn.Linear(n_features, 6), nn.Dropout(0.5), 6

    def forward(self, x):
        return self.dropout(self.layer(x)) + F.dropout(x[:, :6], 0.5, self.training)


def test_a_redirected_network_draws_from_the_source_and_its_copies_do():
    network = redirect(redirect(Noisy(8)))
    assert sum(len(part._forward_pre_hooks) for part in network.modules()) == 3
    x, before = torch.ones(4, 8), torch.get_rng_state()
    with seeded(1):
        first, other = network(x), copy.deepcopy(network)(x)
    with seeded(1):
        assert torch.equal(network(x), first)
    assert not torch.equal(first, other)
    with seeded(1), pytest.raises(RuntimeError):
        network(torch.ones(4, 9))  # a pass that fails leaves no redirection behind
    assert torch.equal(torch.get_rng_state(), before)
    network(x)
    assert not torch.equal(torch.get_rng_state(), before)


def make_sentences():
    return [["in", "Rome", f"w{i}"] for i in range(12)], [["O", "B-LOC", "O"]] * 12


def fits(blocks):
    """Name -> a small fit of every method of every task, with somebody's own encoder too."""
    X = np.abs(blocks.X[:60])
    small = {"hidden": 4, "layers": 1, "max_epochs": 1, "random_state": 0}
    for name, row in METHODS.items():
        spec = EnergySpec(**{**row.energy, "units": 3}) if row.has_energy else None
        yield (
            name,
            lambda name=name, spec=spec: NetworkClassifier(name, **small, energy_network=spec).fit(X, blocks.Y[:60]),
        )
    yield "own encoder", lambda: NetworkClassifier("infnet+", **small, encoder=Noisy).fit(X, blocks.Y[:60])
    for name in TAG_METHODS:
        if name not in ("ge", "sg-spen", "cross-entropy-longer"):  # which need more than sentences and tags
            tagger = {"embedding_dim": 4, "hidden": 4, "max_epochs": 1, "random_state": 0}
            yield f"tags {name}", lambda name=name, tagger=tagger: EnergySequenceTagger(name, **tagger).fit(*make_sentences())
    for name in MASK_METHODS:
        yield (
            f"masks {name}",
            lambda name=name: EnergySegmenter(name, width=2, levels=1, max_epochs=1, random_state=0).fit(*ellipses(6, 8, seed=0)),
        )


@pytest.mark.usefixtures("quick_fields", "quick_bases")
def test_no_fit_moves_or_reads_the_global_generator(blocks):
    for name, fit in fits(blocks):
        torch.manual_seed(1)
        before = torch.get_rng_state()
        one = fit()
        assert torch.equal(torch.get_rng_state(), before), name
        torch.manual_seed(2)
        for p, q in zip(one.predictor_.state_dict().values(), fit().predictor_.state_dict().values(), strict=True):
            assert torch.equal(p, q), name


def noise(stop: threading.Event) -> None:
    while not stop.wait(0.0005):
        torch.rand(3)


@pytest.mark.parametrize("settings", [{"method": "seal-nce"}, {"method": "implicit-cd"}, {"encoder": Noisy}])
def test_three_threads_give_one_answer_whoever_draws_beside_them(blocks, settings):
    def answer(_=None):
        model = NetworkClassifier(**settings, hidden=8, max_epochs=3, random_state=0).fit(blocks.X[:90], blocks.Y[:90])
        return model.predict_proba(blocks.X), model.sample(blocks.X[:9], 5, random_state=1)

    alone, stop = answer(), threading.Event()
    other = threading.Thread(target=noise, args=(stop,))
    other.start()
    try:
        with ThreadPoolExecutor(3) as pool:
            together = list(pool.map(answer, range(3)))
    finally:
        stop.set()
        other.join()
    for p, drawn in together:
        np.testing.assert_array_equal(p, alone[0])
        np.testing.assert_array_equal(drawn, alone[1])


def test_a_search_in_threads_finds_what_one_after_the_other_finds(blocks):
    def scores(n_jobs):
        model = NetworkClassifier(hidden=6, max_epochs=2, random_state=0)
        search = GridSearchCV(model, {"method__energy_weight": [0.5, 2.0]}, cv=2, n_jobs=n_jobs)
        from joblib import parallel_backend

        with parallel_backend("threading"):
            return search.fit(blocks.X[:120], blocks.Y[:120].toarray()).cv_results_["mean_test_score"]

    np.testing.assert_array_equal(scores(3), scores(1))
