"""Pseudo-likelihood of a field, and Gibbs sampling of it, against enumeration of every mask."""

import itertools

import numpy as np
import torch

from enstruct.joint.pixels import Field, Grids, Pictures
from enstruct_bench.joint import field_variants
from enstruct_bench.joint.field_variants import gibbs_marginals, pseudo_likelihood

HEIGHT, WIDTH = 3, 3


def problem():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1.0, 1.0], size=(HEIGHT, WIDTH)).astype(np.float32)
    x, told = rng.normal(size=(HEIGHT, WIDTH, 2)).astype(np.float32), np.full((HEIGHT, WIDTH), -1)
    told[0, 1], told[2, 2] = 1, 0
    return p, x, told


def every(grids, told):
    """(masks that agree with what is told, their -E)."""
    masks = torch.tensor(list(itertools.product((0, 1), repeat=HEIGHT * WIDTH))).view(-1, HEIGHT, WIDTH)
    masks = masks[((masks == torch.from_numpy(told)) | torch.from_numpy(told < 0)).all((1, 2))]
    value = grids.scores[0].expand(len(masks), -1, -1, -1).gather(3, masks.unsqueeze(3)).sum((1, 2, 3))
    value += (grids.across[0, ..., 0] * (masks[:, :, 1:] == masks[:, :, :-1])).sum((1, 2))
    return masks, value + (grids.down[0, ..., 0] * (masks[:, 1:] == masks[:, :-1])).sum((1, 2))


def test_pixels_given_all_others():
    p, x, told = problem()
    seen, field = Pictures(p[None], x[None], told[None]), Field.before()
    masks, value = every(Grids.of(field, seen), np.full_like(told, -1))
    by_mask = {tuple(mask.flatten().tolist()): float(one) for mask, one in zip(masks, value, strict=True)}
    truth = masks[117]
    found = pseudo_likelihood(field, seen, truth.unsqueeze(0))[0]
    for at in itertools.product(range(HEIGHT), range(WIDTH)):
        values = []
        for k in (0, 1):
            other = truth.clone()
            other[at] = k
            values.append(by_mask[tuple(other.flatten().tolist())])
        np.testing.assert_allclose(found[at], torch.log_softmax(torch.tensor(values), 0), atol=1e-4)


def test_blocked_gibbs(monkeypatch):
    monkeypatch.setattr(field_variants, "CHAINS", 200)
    monkeypatch.setattr(field_variants, "SWEEPS", 60)
    p, x, told = problem()
    masks, value = every(Grids.of(Field.before(), Pictures(p[None], x[None], told[None])), told)
    weight = torch.softmax(value, 0)
    expected = torch.stack([(weight[:, None, None] * (masks == k)).sum(0) for k in (0, 1)], 2)
    np.testing.assert_allclose(gibbs_marginals(Field.before(), p, x, told), expected, atol=0.02)
