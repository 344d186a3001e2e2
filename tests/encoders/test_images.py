"""Encoders of images: sizes, second derivatives, and what a pixel's features may depend on."""

import pytest
import torch

from enstruct.encoders import FCN, UNet
from enstruct.errors import ConfigError

ENCODERS = [lambda **k: FCN(3, 4, 5, **k), lambda **k: UNet(3, 5, levels=2, **k)]


@pytest.mark.parametrize("make", ENCODERS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 12), (32, 32)])
def test_features_stand_at_every_pixel(make, shape):
    encoder = make()
    assert encoder(torch.randn(2, *shape, 3)).shape == (2, *shape, encoder.out_features)


@pytest.mark.parametrize("make", ENCODERS)
def test_images_of_a_batch_do_not_see_each_other(make):
    encoder, x = make(), torch.randn(3, 9, 9, 3)
    assert torch.allclose(encoder(x)[1], encoder(x[1:2])[0], atol=1e-6)


@pytest.mark.parametrize("make", ENCODERS)
def test_a_second_derivative_exists(make):
    encoder, x = make(nonlinearity="softplus").double(), torch.randn(1, 6, 6, 3, dtype=torch.float64)
    weights = list(encoder.parameters())
    first = torch.autograd.grad(encoder(x).square().sum(), weights, create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in first), weights)
    assert all(torch.isfinite(g).all() for g in second)


@pytest.mark.parametrize("make", ENCODERS)
def test_dropout_is_for_training(make):
    encoder, x = make(dropout=0.5), torch.randn(1, 8, 8, 3)
    assert not torch.equal(encoder(x), encoder(x))
    encoder.eval()
    assert torch.equal(encoder(x), encoder(x))


@pytest.mark.parametrize("make", ENCODERS)
def test_unknown_nonlinearity(make):
    with pytest.raises(ConfigError, match="softplus"):
        make(nonlinearity="softplas")
