"""Rules over masks: no answer breaks one, told pixels stay, and what can be met at the least cost is."""

import itertools

import numpy as np
import pytest
import torch
from scipy import ndimage

from enstruct.errors import ConfigError, DataError
from enstruct.rules import Soft
from enstruct.rules.masks import Connected, MaskRules, Size, Within


def random_case(rng, n_classes=2):
    height, width = rng.integers(3, 9, 2)
    p = rng.dirichlet(np.ones(n_classes), size=(height, width))
    if rng.random() < 0.5:  # as smooth as masks are
        p = np.stack([ndimage.gaussian_filter(p[..., k], 1) for k in range(n_classes)], axis=2)
    return p / p.sum(2, keepdims=True)


def random_rules(rng):
    low, high = np.sort(rng.random(2))
    a, b = np.sort(rng.random(2))
    every = [
        Size(1, round(low, 2), round(high, 2)),
        Connected(1, int(rng.integers(1, 3))),
        Within(1, round(a / 2, 2), 0, 1, round(0.6 + b / 3, 2)),
    ]
    return [rule for rule in every if rng.random() < 0.7] or [every[1]]


def test_no_answer_breaks_a_rule_whatever_is_told():
    rng, answered = np.random.default_rng(0), 0
    for _ in range(1500):
        p = random_case(rng, int(rng.integers(2, 4)))
        rules = MaskRules.of(random_rules(rng), range(p.shape[2]))
        told = np.where(rng.random(p.shape[:2]) < rng.choice([0, 0.05, 0.2]), rng.integers(0, p.shape[2], p.shape[:2]), -1)
        numbers = np.where(told >= 0, told, p.argmax(2))
        try:
            found = rules.kept(numbers, p, told)
        except DataError:  # what is told leaves none
            continue
        answered += 1
        assert rules.are_kept(found)
        assert (found == told)[told >= 0].all()
        if rules.are_kept(numbers):
            assert np.array_equal(found, numbers)
    assert answered > 700


@pytest.mark.parametrize("seed", range(30))
def test_sizes_and_boxes_are_met_at_the_least_cost(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(2), size=(3, 3))
    rules = MaskRules.of([Size(1, 0.3, 0.6), Within(1, 0, 0, 0.8, 1)], (0, 1))
    log_p = np.log(p)

    def value(mask):
        return sum(log_p[i, j, mask[i, j]] for i, j in itertools.product(range(3), range(3)))

    legal = [m for bits in itertools.product((0, 1), repeat=9) if rules.are_kept(m := np.array(bits).reshape(3, 3))]
    found = rules.kept(p.argmax(2), p)
    assert value(found) == pytest.approx(max(map(value, legal)))


def test_the_piece_worth_most_is_kept_and_told_pieces_are_joined():
    p = np.full((5, 7, 2), 0.5)
    p[..., 0], p[..., 1] = 1 - 1e-5, 1e-5
    p[1:4, :3], p[1:3, 5:] = [0.1, 0.9], [0.2, 0.8]
    rules, numbers = MaskRules.of(Connected(1), (0, 1)), p.argmax(2)
    found = rules.kept(numbers, p)
    assert found[:, :3].sum() == 9
    assert found[:, 3:].sum() == 0
    told = np.full((5, 7), -1)
    told[1, 6] = 1
    assert rules.kept(numbers, p, told)[:, :3].sum() == 0  # the piece that is told stays
    told[2, 0] = 1
    joined = rules.kept(numbers, p, told)
    assert ndimage.label(joined)[1] == 1
    assert joined.sum() == 9 + 4 + 2  # by the shortest way
    told[:, 4] = 0
    with pytest.raises(DataError, match="leaves no mask that keeps the rules 1 is in 1 piece at most"):
        rules.kept(numbers, p, told)


def test_what_is_told_outside_of_a_box_is_refused():
    rules, told = MaskRules.of(Within(1, 0, 0, 0.5, 1), (0, 1)), np.full((4, 4), -1)
    told[3, 2] = 1
    with pytest.raises(
        DataError, match="known tells 1 at row 3, column 2, which breaks the rules 1 lies in 0 to 50% of the rows"
    ):
        rules.kept(np.zeros((4, 4), dtype=int), np.full((4, 4, 2), 0.5), told)
    told[:] = 0
    with pytest.raises(DataError, match="leaves no mask that keeps the rules 1 is 50 to 100% of the image"):
        MaskRules.of(Size(1, 0.5), (0, 1)).kept(np.zeros((4, 4), dtype=int), np.full((4, 4, 2), 0.5), told)
    none = np.full((1, 1), -1)
    with pytest.raises(DataError, match="No mask of 1 x 1 pixels keeps the rules 1 is 30 to 60% of the image: mend a rule"):
        MaskRules.of(Size(1, 0.3, 0.6), (0, 1)).kept(np.zeros((1, 1), dtype=int), np.full((1, 1, 2), 0.5), none)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Connected(2), r"The rule Connected\(value=2, pieces=1\): Unknown class '2'"),
        (Connected(1, 0), "at least one piece"),
        (Size(1, 0.5, 0.2), "shares from 0 to 1"),
        (Within(1, 0, 0, 2, 1), "shares from 0 to 1"),
        ([Connected(0), Connected(1)], "Every class has a rule"),
        ("connected", "enstruct.rules.masks"),
        (Connected(torch.tensor([1.0, 2.0])), "Unknown class"),
        (Connected(1, 1.5), "at least one piece"),
        (Size(1, "0", 1.0), "shares are numbers"),
    ],
)
def test_what_is_no_rule_is_refused(rules, message):
    with pytest.raises(ConfigError, match=message):
        MaskRules.of(rules, (0, 1))
    assert MaskRules.of(None, (0, 1)) is None
    assert MaskRules.of([], (0, 1)) is None


@pytest.mark.parametrize("seed", range(20))
def test_the_best_mask_under_preferences_is_the_enumerated_one(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(2), size=(3, 3))
    soft = [Soft(Size(1, 0.6, 0.8), float(rng.uniform(0.2, 4))), Soft(Within(1, 0, 0, 0.5, 1), float(rng.uniform(0.2, 4)))]
    rules, told = MaskRules.of([*soft, Size(1, 0.1, 0.9)], (0, 1)), np.full((3, 3), -1)
    told[0, 0] = seed % 3 - 1
    middle = np.array([[True, True, True], [True, True, True], [False, False, False]])  # rows whose middle lies in the upper half

    def value(mask):
        broken = [not 6 <= mask.sum() <= 7, (mask.astype(bool) & ~middle).any()]
        return np.log(np.where(mask == 1, p[..., 1], p[..., 0])).sum() - sum(
            s.weight for s, b in zip(soft, broken, strict=True) if b
        )

    every = (np.array(bits).reshape(3, 3) for bits in itertools.product((0, 1), repeat=9))
    legal = [mask for mask in every if 1 <= mask.sum() <= 8 and (told[0, 0] < 0 or mask[0, 0] == told[0, 0])]
    found = rules.kept(np.where(told >= 0, told, p.argmax(2)), p, told)
    assert value(found) == pytest.approx(max(map(value, legal)))
    assert found[0, 0] == told[0, 0] or told[0, 0] < 0


def test_a_second_piece_stays_where_it_is_worth_more_than_the_preference():
    p = np.full((5, 7, 2), 0.5)
    p[..., 0], p[..., 1] = 1 - 1e-5, 1e-5
    p[1:4, :3], p[1:3, 5:] = [0.1, 0.9], [0.2, 0.8]  # the smaller one is worth 4 log 4 = 5.5 nats
    numbers = p.argmax(2)
    assert np.array_equal(MaskRules.of([Soft(Connected(1), 5.0)], (0, 1)).kept(numbers, p), numbers)
    only_the_larger = MaskRules.of([Soft(Connected(1), 6.0)], (0, 1)).kept(numbers, p)
    assert only_the_larger.sum() == 9
    told = np.full((5, 7), -1)
    told[1, 6], told[:, 4] = 1, 0
    told[2, 0] = 1  # no mask keeps it: it is broken
    kept = MaskRules.of([Soft(Connected(1), 50.0)], (0, 1)).kept(np.where(told < 0, numbers, told), p, told)
    assert ndimage.label(kept)[1] == 2


def test_preferences_are_counted_and_refuse_nothing():
    masks = [np.eye(4, dtype=np.int64)] * 5
    rules = MaskRules.of([Soft(Connected(1), 2.0), Size(1, 0, 0.5)], (0, 1))
    assert rules.counts(masks) == [(str(rules.rules[0]), 0, 5), ("2 nats: 1 is in 1 piece at most", 5, 5)]
    rules.check_masks(masks)
    with pytest.raises(DataError, match="5 of the 5 training masks that it is about break the rule"):
        MaskRules.of(Connected(1), (0, 1)).check_masks(masks)
    with pytest.raises(ConfigError, match="7 preferences over masks: 6 at most"):
        MaskRules.of([Soft(Size(1, 0, 0.1 * k), 1.0) for k in range(1, 8)], (0, 1))
    with pytest.raises(ConfigError, match="Every class has a rule"):
        MaskRules.of([Soft(Connected(0), 1.0), Connected(1)], (0, 1))
    with pytest.raises(ConfigError, match=r"enstruct\.rules\.masks"):
        MaskRules.of(Soft("connected", 1.0), (0, 1))


def test_a_piece_that_is_worth_the_way_to_it_is_joined():
    p = np.full((3, 9, 2), 0.5)
    p[..., 0], p[..., 1] = 0.99, 0.01
    p[:, :4] = p[:, 5:] = [0.01, 0.99]
    p[1, 4] = [0.55, 0.45]
    numbers = p.argmax(2)
    for rules in (Connected(1), Soft(Connected(1), 1.0)):
        found = MaskRules.of(rules, (0, 1)).kept(numbers, p)
        assert np.argwhere(found != numbers).tolist() == [[1, 4]]
    assert np.array_equal(MaskRules.of(Soft(Connected(1), 0.1), (0, 1)).kept(numbers, p), numbers)  # the way costs 0.2


def test_preferences_that_pay_together_alone_are_kept_together():
    """Nats lost: 1.7 by neither, 1.4 by the size alone, 1.5 by the box alone, 1.3 by three pixels in the box."""
    gain = np.array([[1.0, -0.1, -0.1, -0.1, -0.1, -0.1]])
    p = np.stack([1 / (1 + np.exp(gain)), 1 / (1 + np.exp(-gain))], axis=2)
    size, box = Soft(Size(1, 0.5, 1.0), 0.5), Soft(Within(1, 0, 0.5, 1, 1), 1.2)
    assert MaskRules.of([size, box], (0, 1)).kept(p.argmax(2), p).tolist() == [[0, 0, 0, 1, 1, 1]]
    assert MaskRules.of(box, (0, 1)).kept(p.argmax(2), p).sum() == 0
