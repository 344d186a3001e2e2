"""Dense and CSR inputs give the same features; what supports a second derivative."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct.encoders import MLP, LinearPredictor, Predictor, SparseLinear
from enstruct.encoders.sparse_mlp import csr_batch, twice_differentiable
from enstruct.errors import ConfigError


@pytest.fixture
def rows():
    return sparse.random(6, 20, density=0.2, random_state=0, format="csr")


@pytest.mark.parametrize("double_backward", [False, True])
def test_sparse_linear_equals_dense_product(rows, double_backward):
    layer = SparseLinear(20, 3).double()
    layer.double_backward = double_backward
    expected = torch.from_numpy(rows.toarray()) @ layer.weight + layer.bias
    out = layer(csr_batch(rows, torch.float64))
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(layer(torch.from_numpy(rows.toarray())), expected)
    (sparse_gradient,) = torch.autograd.grad(out.square().sum(), layer.weight)
    (dense_gradient,) = torch.autograd.grad(expected.square().sum(), layer.weight)
    torch.testing.assert_close(sparse_gradient, dense_gradient)


def second_derivative(layer, x):
    (g,) = torch.autograd.grad(layer(x).pow(3).sum(), layer.weight, create_graph=True)
    return torch.autograd.grad(g.sum(), layer.weight)[0]


def test_csr_product_has_a_double_backward_and_the_bag_says_it_has_none(rows):
    x, dense = csr_batch(rows, torch.float64), torch.from_numpy(rows.toarray())
    layer = SparseLinear(20, 3).double()
    with twice_differentiable(layer):
        torch.testing.assert_close(second_derivative(layer, x), second_derivative(layer, dense))
    with pytest.raises(RuntimeError, match="not implemented"):
        second_derivative(SparseLinear(20, 3).double(), x)


def test_empty_rows_give_the_bias():
    layer = SparseLinear(5, 2)
    torch.testing.assert_close(layer(csr_batch(sparse.csr_matrix((3, 5)))), layer.bias.expand(3, 2))


def test_mlp_is_the_published_one():
    """Softplus on every layer, dropout after all but the last, zero biases at the start."""
    net = MLP(4, 5, 2, dropout=0.0)
    x = torch.randn(3, 4)
    first, second = net.linears
    expected = torch.nn.functional.softplus(second(torch.nn.functional.softplus(first(x))))
    torch.testing.assert_close(net(x), expected)
    assert not first.bias.any()
    assert net.out_features == 5


def test_dropout_on_the_input_and_after_the_last_layer():
    """Of CSR rows and of dense ones alike: a share of the values, the others as much larger; none in evaluation."""
    x = sparse.random(200, 30, 0.5, "csr", dtype=np.float32, random_state=0)
    net = MLP(30, 8, 0, 0.0, sparse=True, input_dropout=0.25)
    dropped = net(csr_batch(x)).to_dense()
    kept = dropped != 0
    assert kept.sum() / x.nnz == pytest.approx(0.75, abs=0.05)
    torch.testing.assert_close(dropped[kept], torch.from_numpy(x.toarray())[kept] / 0.75)
    assert torch.equal(net.eval()(csr_batch(x)).to_dense(), torch.from_numpy(x.toarray()))
    assert (MLP(30, 8, 0, 0.0, input_dropout=0.25)(torch.ones(200, 30)) == 0).float().mean() == pytest.approx(0.25, abs=0.05)
    last = MLP(30, 50, 1, 0.0, last_dropout=0.5)
    assert (last(torch.randn(200, 30)) == 0).float().mean() == pytest.approx(0.5, abs=0.05)
    with pytest.raises(ConfigError, match="0 <= dropout < 1"):
        MLP(3, 2, 1, input_dropout=1.0)


def test_predictor_and_linear_predictor():
    predictor = Predictor(MLP(4, 5, 1, 0.0), 3)
    assert predictor(torch.randn(2, 4)).shape == (2, 3)
    weights, biases = torch.randn(3, 4), torch.randn(3)
    x = torch.randn(2, 4)
    torch.testing.assert_close(LinearPredictor(weights, biases)(x), x @ weights.T + biases)


def test_unknown_nonlinearity():
    with pytest.raises(ConfigError, match="Did you mean 'softplus'"):
        MLP(3, 2, 1, nonlinearity="softpluss")
