"""Every term against its formula, written out for one row and one vector at a time."""

import pytest
import torch
import torch.nn.functional as F

from enstruct.energies import (
    BeliefEnergy,
    ConditionalEnergy,
    ConditionalPairwiseEnergy,
    GlobalEnergy,
    LocalEnergy,
    ModuleEnergy,
    PairwiseEnergy,
    SumEnergy,
)
from enstruct.errors import ConfigError
from enstruct.spaces import LabelVectors

B, S, L, D = 3, 4, 5, 6
G = {"softplus": F.softplus, "relu": F.relu, "hardtanh": F.hardtanh}


@pytest.fixture
def features():
    return torch.randn(B, D)


@pytest.fixture
def y():
    return (torch.rand(B, S, L) < 0.4).float()


def by_rows(formula, features, y):
    return torch.stack([torch.stack([formula(features[b], y[b, s]) for s in range(S)]) for b in range(B)])


def test_local(features, y):
    term = LocalEnergy(D, L)
    b, d = term.scores.weight, term.scores.bias

    def formula(f, v):
        return sum(v[i] * (b[i] @ f + d[i]) for i in range(L))

    torch.testing.assert_close(term(term.prepare(features), y), by_rows(formula, features, y))


@pytest.mark.parametrize("name", G)
@pytest.mark.parametrize("layers", [1, 2])
def test_global(name, layers, features, y):
    term = GlobalEnergy(L, units=7, nonlinearity=name, layers=layers)
    m, g = term.measurements, G[name]

    def formula(f, v):
        z = g(m.matrix.T @ v + term.bias)
        if layers == 2:
            z = g(z @ m.second + m.second_bias)
        return m.weights @ z

    torch.testing.assert_close(term(term.prepare(features), y), by_rows(formula, features, y))


def test_conditional(features, y):
    term = ConditionalEnergy(D, L, units=7)
    m, linear = term.measurements, term.from_features

    def formula(f, v):
        joined = torch.cat([m.matrix.T, linear.weight], 1) @ torch.cat([v, f]) + linear.bias  # D [y; f]
        return m.weights @ F.softplus(joined)

    torch.testing.assert_close(term(term.prepare(features), y), by_rows(formula, features, y))


@pytest.mark.parametrize("rank", [3, None])
def test_pairwise(rank, features, y):
    term = PairwiseEnergy(L, rank=rank)
    with torch.no_grad():
        for p in term.parameters():
            p.normal_()
    s = term.interactions()
    torch.testing.assert_close(s, s.T)

    def formula(f, v):
        return v @ s @ v + term.linear @ v

    expected = by_rows(formula, features, y)
    torch.testing.assert_close(term(None, y), expected)
    torch.testing.assert_close(term(None, LabelVectors.from_dense(y)), expected)


def test_conditional_pairwise(features, y):
    term = ConditionalPairwiseEnergy(D, L, 3)
    torch.nn.init.normal_(term.scales.weight)
    u, linear = term.factor, term.scales

    def formula(f, v):
        s = u @ torch.diag(linear.weight @ f + linear.bias) @ u.T
        return sum(s[i, j] * v[i] * v[j] for i in range(L) for j in range(L) if i != j)

    torch.testing.assert_close(term(term.prepare(features), y), by_rows(formula, features, y))
    relaxed = torch.rand(B, S, L)
    torch.testing.assert_close(term(term.prepare(features), relaxed), by_rows(formula, features, relaxed))


def test_a_table_without_its_diagonal():
    term = PairwiseEnergy(L, None, diagonal=False)
    torch.nn.init.normal_(term.factor)
    assert (term.interactions().diagonal() == 0).all()
    assert (term.interactions() != 0).sum() == L * L - L
    with pytest.raises(ConfigError, match="diagonal"):
        PairwiseEnergy(L, 3, diagonal=False)


TERMS = {
    "local": lambda: LocalEnergy(D, L),
    **{f"global {name} {n}": lambda name=name, n=n: GlobalEnergy(L, 7, name, n) for name in [*G, "identity"] for n in (1, 2)},
    "global convex": lambda: GlobalEnergy(L, 7, layers=2, convex=True),
    "conditional": lambda: ConditionalEnergy(D, L, 7),
    "pairwise": lambda: PairwiseEnergy(L, 3),
    "pairwise convex": lambda: PairwiseEnergy(L, 3, convex=True),
    "pairwise full": lambda: PairwiseEnergy(L, None),
    "pairwise without its diagonal": lambda: PairwiseEnergy(L, None, diagonal=False),
    "beliefs": lambda: BeliefEnergy(L),
    "conditional-pairwise": lambda: ConditionalPairwiseEnergy(D, L, 3),
}


@pytest.mark.parametrize("name", TERMS)
def test_sparse_equals_dense_in_value_and_gradient(name, features, y):
    term = TERMS[name]()
    gradients = []
    for form in (y, LabelVectors.from_dense(y)):
        term.zero_grad()
        energies = term(term.prepare(features), form)
        energies.square().sum().backward()
        gradients.append([energies.detach(), *(p.grad.clone() for p in term.parameters() if p.grad is not None)])
    for dense, sparse in zip(*gradients, strict=True):
        # beliefs stay a little inside of 0 and 1, and their table's steps are long
        torch.testing.assert_close(dense, sparse, rtol=1e-4, atol=2e-4 if name == "beliefs" else 1e-5)


@pytest.mark.parametrize(
    "term",
    [
        lambda: GlobalEnergy(L, 7, convex=True),
        lambda: GlobalEnergy(L, 7, "relu", layers=2, convex=True),
        lambda: ConditionalEnergy(D, L, 7, convex=True),
        lambda: PairwiseEnergy(L, 3, convex=True),
    ],
)
def test_convex_option_is_convex_in_y(term, features):
    term = term()
    with torch.no_grad():
        for p in term.parameters():
            p.normal_(std=2)
    state = term.prepare(features)
    a, b = torch.rand(B, 200, L), torch.rand(B, 200, L)
    t = torch.rand(B, 200, 1)
    middle = term(state, t * a + (1 - t) * b)
    chord = t.squeeze(-1) * term(state, a) + (1 - t.squeeze(-1)) * term(state, b)
    assert (middle <= chord + 1e-4 * chord.abs()).all()


def test_convex_with_hardtanh_is_refused():
    with pytest.raises(ConfigError, match="convex"):
        GlobalEnergy(L, 3, "hardtanh", convex=True)
    with pytest.raises(ConfigError, match="rank"):
        PairwiseEnergy(L, None, convex=True)


def test_parameters_grow_linearly_in_labels():
    def count(n):
        terms = [LocalEnergy(D, n), GlobalEnergy(n, 7), ConditionalEnergy(D, n, 7), PairwiseEnergy(n, 3)]
        return sum(p.numel() for term in terms for p in term.parameters())

    assert count(300) - count(200) == count(200) - count(100)


def test_sum_prepares_x_once_and_masks_y(features, y):
    calls = []

    class Encoder(torch.nn.Module):
        out_features = D

        def forward(self, x):
            calls.append(1)
            return x

    energy = SumEnergy(Encoder(), [LocalEnergy(D, L), GlobalEnergy(L, 7)])
    mask = torch.ones(B, L)
    mask[:, 0] = 0
    state = energy.prepare(features, mask)
    flipped = y.clone()
    flipped[..., 0] = 1 - flipped[..., 0]
    torch.testing.assert_close(energy(state, y), energy(state, flipped))
    torch.testing.assert_close(energy(state, LabelVectors.from_dense(y)), energy(state, y))
    assert len(calls) == 1


def test_a_users_module_joins_the_protocol(features, y):
    class Mine(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x, candidates):
            return self.scale * candidates.sum(-1) * x.sum(-1, keepdim=True)

    energy = ModuleEnergy(Mine())
    state = energy.prepare(features)
    expected = y.sum(-1) * features.sum(-1, keepdim=True)
    torch.testing.assert_close(energy(state, LabelVectors.from_dense(y)), expected)


@pytest.mark.parametrize("name", TERMS)
def test_values_and_gradients_by_closed_form_are_those_of_the_formula(name, features):
    """With every parameter away from the zeros that it may begin at."""
    term = TERMS[name]().double()
    for p in term.parameters():
        torch.nn.init.normal_(p)
    prepared = term.prepare(features.double())
    y = torch.rand(B, S, L, dtype=torch.float64).requires_grad_()
    value, gradient = term.value_and_gradient(prepared, y)
    torch.testing.assert_close(value, term(prepared, y))
    (slope,) = torch.autograd.grad(term(prepared, y).sum(), y)
    torch.testing.assert_close(gradient.expand_as(y), slope)
