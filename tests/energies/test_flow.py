"""The flow against its Jacobian, its way back, and what it can learn of a distribution that is known."""

import pytest
import torch
import torch.nn.functional as F

from enstruct.energies.flow import FlowEnergy
from enstruct.randomness import seeded


def a_flow(classes: int = 2, features: int = 5):
    torch.manual_seed(0)
    term = FlowEnergy(features, classes, units=6).double().eval()
    for name, p in term.named_parameters():
        if not name.endswith("mix"):  # a rotation of random size could hardly be undone
            torch.nn.init.normal_(p, std=0.3)
    return term


def through(term, v, features):
    """(z, log |det dz/dv|) of one image's v (channels, height, width)."""
    outs, log_det, v = [], torch.zeros((), dtype=v.dtype), v.unsqueeze(0)
    for level, seen in zip(term.levels, term._scales(features), strict=True):
        v = F.pixel_unshuffle(v, 2)
        for step in level:
            v, grown = step(v, seen)
            log_det = log_det + grown.squeeze(0)
        v, out = v.chunk(2, 1)
        outs.append(out.flatten())
    return torch.cat([*outs, v.flatten()]), log_det


@pytest.mark.parametrize("classes", [2, 3])
def test_the_volume_is_that_of_the_jacobian(classes):
    term, features = a_flow(classes), torch.randn(1, 4, 8, 5, dtype=torch.float64)
    shape = (classes - 1, 4, 8)
    v = torch.randn(shape, dtype=torch.float64).flatten()
    jacobian = torch.autograd.functional.jacobian(lambda at: through(term, at.view(shape), features)[0], v)
    torch.testing.assert_close(torch.linalg.slogdet(jacobian).logabsdet, through(term, v.view(shape), features)[1])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_energy_is_the_density_of_masks_in_the_middle_of_their_bins(classes):
    term, features = a_flow(classes), torch.randn(2, 8, 4, 5, dtype=torch.float64)
    y = F.one_hot(torch.randint(classes, (2, 3, 8, 4)), classes).double()
    for b in range(2):
        for s in range(3):
            z, log_det = through(term, y[b, s, :, :, 1:].movedim(-1, 0) - 0.5, features[b : b + 1])
            expected = -(torch.distributions.Normal(0.0, 1.0).log_prob(z).sum() + log_det)
            torch.testing.assert_close(term(term.prepare(features), y)[b, s], expected)


def test_a_step_is_undone():
    term, features = a_flow(), torch.randn(3, 4, 4, 5, dtype=torch.float64)
    step, seen, v = term.levels[0][0], term._scales(features)[0], torch.randn(3, 4, 2, 2, dtype=torch.float64)
    torch.testing.assert_close(step.back(step(v, seen)[0], seen), v)


def test_images_of_any_size_and_rows_by_themselves():
    term, features = a_flow(3), torch.randn(2, 7, 5, 5, dtype=torch.float64)
    with seeded(0):
        masks = term.draw(features, 4)
    assert masks.shape == (2, 4, 7, 5, 3)
    assert torch.equal(masks.sum(-1), torch.ones(2, 4, 7, 5, dtype=torch.float64))
    with seeded(0):
        torch.testing.assert_close(term.draw(features[1:], 4), masks[1:])
    assert term(features, masks).shape == (2, 4)


def test_beyond_the_edge_there_is_noise_too_so_that_the_energy_is_a_bound():
    """Fair coins of 5 x 5 pixels have an entropy of 25 log 2, which no density comes below on average."""
    torch.manual_seed(0)
    term, features = FlowEnergy(1, 2, units=8), torch.zeros(32, 5, 5, 1)
    optimizer, losses = torch.optim.Adam(term.parameters(), 0.01), []
    for _ in range(120):
        on = (torch.rand(32, 1, 5, 5) < 0.5).float()
        optimizer.zero_grad()
        loss = term(features, torch.stack([1 - on, on], -1)).mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert torch.tensor(losses[-30:]).mean() > 25 * 0.6931


def test_training_noise_changes_the_value_and_evaluation_does_not():
    term, features = a_flow(), torch.randn(1, 4, 4, 5, dtype=torch.float64)
    y = F.one_hot(torch.randint(2, (1, 1, 4, 4)), 2).double()
    assert torch.equal(term(features, y), term(features, y))
    term.train()
    assert not torch.equal(term(features, y), term(features, y))


@pytest.mark.parametrize("size", [8, 6])
def test_what_is_learnt_is_drawn(size):
    """Two masks, one of them three times as often, and which rows are bright depends on the features; also where the sides are no
    multiples of four."""
    torch.manual_seed(0)
    term = FlowEnergy(1, 2, units=16)
    optimizer = torch.optim.Adam(term.parameters(), 0.01)
    corner = torch.zeros(size, size)
    corner[:4, :4] = 1
    features = torch.tensor([1.0, -1.0]).view(2, 1, 1, 1).expand(2, size, size, 1)
    for _ in range(150):
        which = torch.arange(32) % 2
        often = torch.rand(32, 1, 1) < 0.75
        on = torch.where(which.view(-1, 1, 1) == 0, corner, corner.flip(0)) * often
        y = torch.stack([1 - on, on], -1).unsqueeze(1)
        optimizer.zero_grad()
        term(features[which], y).mean().backward()
        optimizer.step()
    with torch.no_grad():
        drawn = term.eval().draw(features, 200)[..., 1].mean(1)
    assert drawn[0, :4, :4].mean().item() == pytest.approx(0.75, abs=0.12)
    assert drawn[1, -4:, :4].mean().item() == pytest.approx(0.75, abs=0.12)
    assert drawn[0, 4:].mean() < 0.1
    assert drawn[1, :-4].mean() < 0.1
