"""Candidates one label away from the truth."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.configured import configured

from enstruct import EnergyMultiLabelClassifier
from enstruct.errors import ConfigError
from enstruct.negatives import LabelFlips, Situation
from enstruct.spaces import LabelSpace, TagSpace

TRUTH = torch.tensor([[1.0, 0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]])


def drawn(source, truth=TRUTH, mask=None):
    space = LabelSpace(truth.shape[1])
    return source.build(space, truth.shape[1]).draw(Situation(torch.zeros_like(truth), truth, mask))


def test_every_label_is_flipped_once_where_no_number_is_given():
    candidates = drawn(LabelFlips())
    assert torch.equal((candidates.y - TRUTH.unsqueeze(1)).abs(), torch.eye(8).expand(3, -1, -1))
    assert torch.equal(candidates.weight, torch.ones(3, 8))
    assert torch.equal(drawn(LabelFlips(50)).y, candidates.y)


def test_drawn_flips_have_every_positive_and_distinct_negatives_that_stand_for_all():
    candidates = drawn(LabelFlips(4))
    changed = (candidates.y - TRUTH.unsqueeze(1)).abs()
    assert torch.equal(changed.sum(2), torch.ones(3, 4))
    assert changed.sum(1).max() == 1
    assert torch.equal((changed.sum(1) * TRUTH), TRUTH)
    positive = (changed * TRUTH.unsqueeze(1)).sum(2) > 0
    negatives = torch.tensor([6 / 2, 7 / 3, 8 / 4])
    assert torch.equal(candidates.weight, torch.where(positive, 1.0, negatives.unsqueeze(1)))


def test_the_weighted_sum_over_drawn_flips_is_right_in_expectation():
    torch.manual_seed(0)
    value = torch.rand(8)
    truth = TRUTH[:2].repeat(4000, 1)
    candidates = drawn(LabelFlips(4), truth)
    changed = (candidates.y - truth.unsqueeze(1)).abs()
    sums = (candidates.weight * (changed @ value)).sum(1).reshape(4000, 2).mean(0)
    torch.testing.assert_close(sums, value.sum().expand(2), atol=0.03, rtol=0)


def test_more_are_drawn_where_a_row_has_many_positives():
    truth = torch.zeros(2, 20)
    truth[0, :7] = 1
    assert drawn(LabelFlips(3), truth).y.shape == (2, 14, 20)
    truth[0, :12] = 1
    assert drawn(LabelFlips(3), truth).y.shape == (2, 20, 20)


def test_labels_that_do_not_exist_have_no_weight():
    mask = torch.ones_like(TRUTH)
    mask[:, 3] = 0
    for source in (LabelFlips(), LabelFlips(6)):
        candidates = drawn(source, mask=mask)
        flips_third = (candidates.y - TRUTH.unsqueeze(1)).abs()[:, :, 3] > 0
        assert flips_third[0].any()
        assert torch.equal(candidates.weight == 0, flips_third)


def test_flips_of_every_label_that_would_fill_the_memory_are_refused():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), (rng.random((40, 5000)) < 0.5).astype(int)
    model = configured(EnergyMultiLabelClassifier, "pl", negatives=LabelFlips(), hidden=4)
    with pytest.raises(ConfigError, match="candidates of a batch"):
        model.fit(X, Y)


def test_numbers_and_outputs_that_cannot_be_are_refused():
    with pytest.raises(ConfigError, match="n_samples"):
        LabelFlips(0)
    with pytest.raises(ConfigError, match="LabelFlips changes labels one by one"):
        replace(LabelFlips(), n=3).build(TagSpace(4), 4)
