"""One of several classes: all answers against label sets under the rule that one is there, enumerated."""

import itertools

import numpy as np
import pytest
import torch

from enstruct.errors import DataError
from enstruct.joint.asking import drop_in_entropy
from enstruct.joint.classes import Classes, follow_classes
from enstruct.joint.distribution import independent
from enstruct.rules import Exactly, RuleSystem

K, ROWS = 4, 5
HOLE = np.nan


@pytest.fixture
def logits():
    return torch.from_numpy(np.random.default_rng(0).normal(0, 1.5, (ROWS, K))).float().log_softmax(1)


@pytest.fixture
def enumerated(logits):
    """Label sets of these weights, of which those of one label alone are legal."""
    return independent(logits, rules=RuleSystem.of([Exactly(1, list(range(K)))], list(range(K))))


@pytest.mark.parametrize("told", [[HOLE] * K, [HOLE, 0, HOLE, HOLE], [0, 0, HOLE, HOLE], [HOLE, HOLE, 1, HOLE], [0, 0, 0, HOLE]])
def test_against_enumeration(logits, enumerated, told):
    known = torch.tensor([told] * ROWS, dtype=torch.float32)
    own = Classes(logits)
    torch.testing.assert_close(own.marginals(known), enumerated.marginals(known), atol=1e-5, rtol=1e-4)
    for part in itertools.product((0, 1, HOLE), repeat=K):
        y = torch.tensor([part] * ROWS, dtype=torch.float32)
        if np.nansum(part) > 1:
            assert np.isneginf(own.log_probability(y, known).value).all()
            continue
        wanted = enumerated.log_probability(y, known).value
        np.testing.assert_allclose(own.log_probability(y, known).value, wanted, atol=1e-4)


def test_density_and_samples(logits, enumerated):
    own, every = Classes(logits, seed=3), torch.eye(K).expand(ROWS, K, K)
    torch.testing.assert_close(own.log_density(every).exp().sum(1), torch.ones(ROWS))
    torch.testing.assert_close(own.log_density(every), enumerated.log_density(every), atol=1e-5, rtol=1e-4)
    assert torch.isneginf(own.log_density(torch.ones(ROWS, 2, K))).all()
    known = torch.full((ROWS, K), HOLE)
    known[:, 1] = 0
    drawn = own.sample(4000, known)
    assert (drawn.sum(-1) == 1).all()
    torch.testing.assert_close(drawn.mean(1), own.marginals(known), atol=0.03, rtol=0)
    assert torch.equal(drawn, Classes(logits, seed=3).sample(4000, known))
    assert own.take(torch.tensor([], dtype=torch.long)).sample(3).shape == (0, 3, K)


def test_which_class_to_ask(logits):
    """Of two classes that share a row the answer to either tells both; it is worth most where they are level."""
    own = Classes(torch.tensor([[0.5, 0.5, 1e-6, 1e-6], [0.9, 0.1, 1e-6, 1e-6]]).log())
    drop = drop_in_entropy(own, torch.full((2, K), HOLE), marginals=Classes.marginals)
    assert drop[0].argmax() in (0, 1)
    assert drop[0, 0] == pytest.approx(2 * np.log(2), abs=0.02)
    assert drop[0, 0] > drop[1, 0] > drop[1, 2]


def test_what_follows():
    known = np.array([[HOLE, 1, HOLE], [0, HOLE, HOLE], [0, 0, HOLE]], dtype=np.float32)
    np.testing.assert_array_equal(follow_classes(known, list("abc")), [[0, 1, 0], [0, HOLE, HOLE], [0, 0, 1]])
    with pytest.raises(DataError, match=r"row 1 more than one class: \['a', 'c'\].*one of"):
        follow_classes(np.array([[HOLE] * 3, [1, HOLE, 1]], dtype=np.float32), list("abc"))
    with pytest.raises(DataError, match="row 0 no class, and"):
        follow_classes(np.zeros((1, 3), dtype=np.float32), list("abc"))


def test_what_a_row_is_answered_does_not_depend_on_others_unless_rows_are_apart(logits):
    own = Classes(logits[:1].expand(300, K), seed=3)
    assert torch.equal(own.sample(4), own.take(torch.tensor([7])).sample(4).expand(300, -1, -1))
    apart = own.apart().sample(4)
    assert len(apart.argmax(-1).unique(dim=0)) > 20
    torch.testing.assert_close(apart.mean((0, 1)), own.marginals()[0], atol=0.05, rtol=0)
