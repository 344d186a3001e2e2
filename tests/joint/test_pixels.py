"""The field of pixels against its formula and against enumeration of small grids."""

import itertools

import numpy as np
import pytest
import torch

from enstruct.data.synthetic import ellipses
from enstruct.joint.pixels import Field, Pictures, clicked, fit_field, marginals, mean_field

H, W, K = 2, 3, 2


def field(**numbers):
    return Field.before()._replace(**{name: torch.tensor(float(np.log(value))) for name, value in numbers.items()})


def picture(seed=0, k=K):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), size=(H, W)).astype(np.float32)
    return p, rng.normal(size=(H, W, 2)).astype(np.float32)


def energy(numbers, p, x, told, y):
    """E of one mask by the formula."""
    value = {name: float(part.exp()) for name, part in numbers._asdict().items()}
    total = -value["scale"] * sum(np.log(max(p[i, j, y[i, j]], 1e-4)) for i in range(H) for j in range(W))
    for i, j in itertools.product(range(H), range(W)):
        for a, b in ((i, j + 1), (i + 1, j)):
            if a < H and b < W and y[i, j] != y[a, b]:
                apart = ((x[i, j] - x[a, b]) ** 2).sum()
                total += value["smooth"] * np.exp(-0.5 * apart / value["contrast"] ** 2) + value["least"]
        near, alike = [0.0], [0.0]
        for a, b in np.argwhere(told == y[i, j]):
            away = ((i - a) ** 2 + (j - b) ** 2) / W**2
            unlike = ((x[i, j] - x[a, b]) ** 2).sum()
            wide = away / value["alike_width"] ** 2 + unlike / value["colour_width"] ** 2
            near.append(value["near"] * np.exp(-0.5 * away / value["near_width"] ** 2))
            alike.append(value["alike"] * np.exp(-0.5 * wide))
        total -= max(near) + max(alike)
    return total


def exact(numbers, p, x, told):
    """(height, width, classes) by going through every mask that has what is told."""
    out, k = np.zeros(p.shape), p.shape[2]
    for flat in itertools.product(range(k), repeat=H * W):
        y = np.array(flat).reshape(H, W)
        if ((told >= 0) & (told != y)).any():
            continue
        out += np.exp(-energy(numbers, p, x, told, y)) * np.eye(k)[y]
    return out / out.sum(2, keepdims=True)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("smooth", "tolerance"), [(1e-9, 1e-5), (0.05, 0.01), (0.3, 0.06)])
def test_marginals_are_those_of_enumeration_where_couplings_are_weak(k, smooth, tolerance):
    numbers = field(smooth=smooth, least=smooth / 10, near_width=0.3, alike_width=0.5, colour_width=1.5, scale=0.7)
    p, x = picture(1, k)
    told = np.full((H, W), -1)
    told[0, 1], told[1, 2] = 1, 0
    found = marginals(numbers, p, x, told)
    np.testing.assert_allclose(found, exact(numbers, p, x, told), atol=tolerance)
    assert (found[0, 1] == np.eye(k)[1]).all()


def test_turns_end_where_each_pixel_answers_its_neighbours():
    """A fixed point: log m_p = scores + what neighbours push, by the formula."""
    numbers, (p, x) = field(smooth=0.4), picture(2)
    m = mean_field(numbers, Pictures(p[None], x[None], np.full((1, H, W), -1)))[0].exp().numpy()
    for i, j in itertools.product(range(H), range(W)):
        scores = np.log(np.maximum(p[i, j], 1e-4))
        for a, b in ((i, j + 1), (i + 1, j), (i, j - 1), (i - 1, j)):
            if 0 <= a < H and 0 <= b < W:
                apart = ((x[i, j] - x[a, b]) ** 2).sum()
                scores = scores + (0.4 * np.exp(-0.5 * apart / 0.5**2) + 0.05) * m[a, b]
        np.testing.assert_allclose(m[i, j], np.exp(scores) / np.exp(scores).sum(), atol=1e-3)


def test_images_answered_together_are_answered_as_alone():
    pairs = [picture(seed) for seed in range(3)]
    told = np.full((3, H, W), -1)
    told[1, 0, 0] = 1
    together = mean_field(Field.before(), Pictures(*(np.stack(side) for side in zip(*pairs, strict=True)), told))
    for i, (p, x) in enumerate(pairs):
        torch.testing.assert_close(mean_field(Field.before(), Pictures(p[None], x[None], told[i : i + 1]))[0], together[i])


def test_clicks_tell_the_truth_and_first_where_the_answer_is_wrong():
    rng, truth = np.random.default_rng(0), np.zeros((6, 6), dtype=np.int64)
    truth[2:4, 2:4], truth[0] = 1, -1
    p = np.stack([np.ones((6, 6)), np.zeros((6, 6))], axis=2).astype(np.float32)
    told = clicked(p, truth, 5, rng)
    assert (told[told >= 0] == truth[told >= 0]).all()
    assert (told == 1).sum() >= 3
    assert (clicked(p, truth, 0, rng) == -1).all()
    assert (clicked(p, truth, 500, rng)[0] == -1).all()  # of which no class is known


def test_learnt_numbers_are_better_than_those_before_on_new_images():
    images, masks = ellipses(30, 16, 0.3, seed=0)
    rng = np.random.default_rng(1)
    logits = (2 * masks - 1) * 1.0 + 2.5 * rng.standard_normal(masks.shape)  # an overconfident, noisy segmenter
    inside = 1 / (1 + np.exp(-3 * logits))
    p = np.stack([1 - inside, inside], axis=3).astype(np.float32)
    x = ((images - images.mean()) / images.std())[..., None].astype(np.float32)
    learnt = fit_field(list(p[:20]), list(x[:20]), list(masks[:20]), 0)

    def nats(numbers):
        told = np.stack([clicked(p[i], masks[i], 3, np.random.default_rng(i)) for i in range(20, 30)])
        log_m = mean_field(numbers, Pictures(p[20:], x[20:], told)).numpy()
        return -np.take_along_axis(log_m, masks[20:, ..., None], 3)[told < 0].mean()

    assert nats(learnt) < 0.8 * nats(Field.before())
    assert float(learnt.scale.exp()) < 0.7


def test_numbers_of_a_model_file():
    numbers = field(near=2.0)
    assert Field.parse(numbers.tensors()) == numbers
    assert Field.parse({}) == Field.before()
    with pytest.raises(ValueError, match="not whole"):
        Field.parse({"field/near": torch.zeros(())})
    with pytest.raises(ValueError, match="not whole"):
        Field.parse({**numbers.tensors(), "field/near": torch.zeros(2)})
