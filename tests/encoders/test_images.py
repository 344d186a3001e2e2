"""Encoders of images: sizes, second derivatives, and what a pixel's features may depend on."""

import pytest
import torch

from enstruct.encoders import FCN, UNet
from enstruct.errors import ConfigError

ENCODERS = [lambda **k: FCN(3, 4, 5, **k), lambda **k: UNet(3, 5, levels=2, **k)]


@pytest.mark.parametrize("make", ENCODERS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 12), (32, 32)])
def test_features_stand_at_every_pixel(make, shape):
    torch.manual_seed(0)
    encoder = make()
    x = torch.randn(2, *shape, 3)
    features = encoder(x)
    assert features.shape == (2, *shape, encoder.out_features)
    x[0, -1, 0] += 3  # the lower left one
    changed = (encoder(x) - features).abs().amax(-1)
    assert changed[0, -1, 0] > 1e-5
    assert (changed[1] == 0).all()


@pytest.mark.parametrize("make", ENCODERS)
def test_images_of_a_batch_do_not_see_each_other(make):
    encoder, x = make(), torch.randn(3, 9, 9, 3)
    assert torch.allclose(encoder(x)[1], encoder(x[1:2])[0], atol=1e-6)


@pytest.mark.parametrize("make", ENCODERS)
def test_a_second_derivative_exists(make):
    encoder, x = make(nonlinearity="softplus").double(), torch.randn(1, 6, 6, 3, dtype=torch.float64)
    weights = tuple(encoder.parameters())
    direction = [torch.randn_like(w) for w in weights]

    def slopes(**how):
        return torch.autograd.grad(encoder(x).square().sum(), weights, **how)

    def slopes_at(step):
        with torch.no_grad():
            for w, d in zip(weights, direction, strict=True):
                w += step * d
        return slopes()

    along = sum((g * d).sum() for g, d in zip(slopes(create_graph=True), direction, strict=True))
    second = torch.autograd.grad(along, weights)
    ahead, behind = slopes_at(1e-6), slopes_at(-2e-6)
    for product, a, b in zip(second, ahead, behind, strict=True):
        torch.testing.assert_close(product, (a - b) / 2e-6, rtol=1e-4, atol=1e-4)


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


def test_the_scales_of_the_convolutional_encoder_are_whole_half_and_quarter():
    encoder = FCN(3, 4)
    h = torch.randn(1, 3, 8, 12)
    shapes = [tuple((h := scale(h)).shape[1:]) for scale in encoder.scales]
    assert shapes == [(4, 8, 12), (8, 4, 6), (8, 2, 3)]
