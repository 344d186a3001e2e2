"""Chain, skip-chain, windowed and language-model energies: by hand, with padding and holes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from enstruct.energies import ChainEnergy, ConvEnergy, LocalEnergy, SumEnergy, TagLanguageEnergy, TagLanguageModel
from enstruct.energies.chain import spread, squeezed, tag_places
from enstruct.errors import ConfigError, DataError

K = 3


def make(term):
    torch.manual_seed(0)
    made = {
        "chain": lambda: ChainEnergy(K),
        "skip": lambda: ChainEnergy(K, 2),
        "conv": lambda: ConvEnergy(K, 5, 3),
        "tag-lm": lambda: TagLanguageEnergy(TagLanguageModel(K, 4), 0.5),
    }[term]()
    for p in made.parameters():
        torch.nn.init.normal_(p)
    return made.double()


TERMS = ("chain", "skip", "conv", "tag-lm")


def loop_over_time(term, y):
    """The chain energy of one sequence (time, tags), token by token."""
    d, energy = term.distance, y.new_zeros(())
    for t in range(len(y)):
        if t >= d:
            energy = energy + y[t - d] @ term.transitions @ y[t]
    if term.start is not None:
        energy = energy + y[0] @ term.start + y[-1] @ term.end
    return energy


@pytest.mark.parametrize("name", ["chain", "skip"])
@pytest.mark.parametrize("time", [1, 2, 5])
def test_the_product_over_all_tokens_is_the_loop(name, time):
    term = make(name)
    y = torch.softmax(torch.randn(2, 4, time, K, dtype=torch.float64), -1)
    energies = term(None, y)
    expected = torch.stack([torch.stack([loop_over_time(term, s) for s in row]) for row in y])
    assert torch.allclose(energies, expected, atol=1e-12)


def test_the_window_is_the_sum_by_hand():
    term = make("conv")
    y = torch.softmax(torch.randn(1, 1, 4, K, dtype=torch.float64), -1)
    padded = torch.cat([torch.zeros(1, K), y[0, 0], torch.zeros(1, K)]).double()
    weight = term.measure.weight  # (units, tags, window)
    total = sum(
        term.weights @ torch.nn.functional.softplus(torch.einsum("ukw,wk->u", weight, padded[t : t + 3]) + term.measure.bias)
        for t in range(4)
    )
    assert term(None, y).item() == pytest.approx(float(total.detach()))


def test_the_language_model_term_is_its_log_likelihood():
    term = make("tag-lm")
    tags = torch.tensor([[0, 2, 1, 1]])
    y = torch.eye(K, dtype=torch.float64)[tags]
    log_p = term.model(y)
    by_hand = -0.5 * sum(torch.log(log_p[0, t, tags[0, t]].exp() + 1e-7) for t in range(4))
    assert term(None, y.unsqueeze(1)).item() == pytest.approx(float(by_hand))


@pytest.mark.parametrize("name", TERMS)
@given(seed=st.integers(0, 1000), holes=st.lists(st.booleans(), min_size=6, max_size=6), padding=st.integers(0, 3))
@settings(max_examples=15, deadline=None)
def test_holes_and_padding_are_as_if_they_were_not_there(name, seed, holes, padding):
    """A sentence with holes has the energy, and the gradient, of the sentence without those tokens; padding changes nothing."""
    term = make(name)
    torch.manual_seed(seed)
    y = torch.softmax(torch.randn(1, 2, 6 + padding, K, dtype=torch.float64), -1)
    there = torch.tensor([[not hole for hole in holes] + [False] * padding])
    if not there.any():
        return
    mask = there.double().unsqueeze(-1)
    full, short = (y * mask.unsqueeze(1)).requires_grad_(), y[:, :, there[0]].detach().requires_grad_()
    squeezed_energy, plain = term(term.prepare(full[:, 0], mask), full), term(None, short)
    assert torch.allclose(squeezed_energy, plain, atol=1e-10)
    (a,) = torch.autograd.grad(squeezed_energy.sum(), full)
    (b,) = torch.autograd.grad(plain.sum(), short)
    assert torch.allclose(a[:, :, there[0]], b, atol=1e-10)


@pytest.mark.parametrize("masked", [False, True])
def test_closed_form_gradients(masked):
    torch.manual_seed(0)
    energy = SumEnergy(None, [LocalEnergy(4, K), make("chain"), make("skip")]).double()
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0]], dtype=torch.float64).unsqueeze(-1) if masked else None
    state = energy.prepare(torch.randn(2, 5, 4, dtype=torch.float64), mask)
    y = torch.softmax(torch.randn(2, 3, 5, K, dtype=torch.float64), -1).requires_grad_()
    value, gradient = energy.value_and_gradient(state, y)
    (slope,) = torch.autograd.grad(energy(state, y).sum(), y)
    assert torch.allclose(value, energy(state, y))
    assert torch.allclose(gradient.expand_as(slope), slope)


def test_squeezing_and_spreading():
    mask = torch.tensor([[0, 1, 1, 0, 1]]).unsqueeze(-1)
    places = tag_places(mask)
    assert places.tolist() == [[1, 2, 4, -1, -1]]
    y = torch.rand(1, 2, 5, K) * mask.unsqueeze(1)
    assert torch.equal(squeezed(y, places)[:, :, :3], y[:, :, [1, 2, 4]])
    assert torch.equal(spread(squeezed(y, places), places), y)


def test_the_language_model_learns_its_sequences_and_is_frozen():
    torch.manual_seed(0)
    model = TagLanguageModel(K, 16)
    losses = model.pretrain([torch.tensor([0, 1, 2, 0, 1, 2])] * 20, epochs=150, rate=0.02)
    assert losses[-1] < 0.1 < losses[0]
    assert not any(p.requires_grad for p in model.parameters())
    likely, unlikely = (torch.eye(K)[torch.tensor(s)].view(1, 1, 3, K) for s in ([0, 1, 2], [2, 2, 0]))
    term = TagLanguageEnergy(model)
    assert term(None, likely) < term(None, unlikely)
    with pytest.raises(DataError, match="at least one"):
        model.pretrain([])


def test_the_language_models_loss_is_the_mean_over_tags_and_ends():
    model = TagLanguageModel(K, 16).double()
    sequences = [[0, 1, 2], [2, 0]]
    log_p = [model(torch.eye(K, dtype=torch.float64)[tags].unsqueeze(0))[0] for tags in sequences]
    total = -sum(log_p[i][t, tag].item() for i, tags in enumerate(sequences) for t, tag in enumerate([*tags, K]))
    assert model.pretrain([torch.tensor(tags) for tags in sequences], epochs=1)[0] == pytest.approx(total / 7)


def test_bad_settings():
    with pytest.raises(ConfigError, match="distance"):
        ChainEnergy(K, 0)
    with pytest.raises(ConfigError, match="odd"):
        ConvEnergy(K, 5, 4)
