"""Labels that only rules tie together, drawn at once where they share no inequality."""

import numpy as np
import pytest
import torch
from tests.joint.problems import L, random_logits
from tests.joint.test_ruled import SYSTEMS

from enstruct.joint.distribution import independent
from enstruct.joint.ruled import Compiled
from enstruct.rules import AtMost, Hierarchy, RuleSystem

TREE = [Hierarchy(40, tuple((i // 3, i) for i in range(1, 40)))]
LARGER = {name: (rules, L) for name, rules in SYSTEMS.items()} | {"tree": (TREE, 40), "apart": ([AtMost(2, range(5))], 30)}


@pytest.fixture(params=LARGER)
def system(request):
    rules, n_labels = LARGER[request.param]
    return RuleSystem.of(rules, range(n_labels))


def test_every_label_is_in_one_block_and_shares_no_inequality_with_others_there(system):
    blocks = Compiled(system).blocks
    assert sorted(label for block in blocks for label in block.labels.tolist()) == list(range(system.n_labels))
    for block in blocks:
        assert (np.abs(system.matrix[:, block.labels.numpy()]).sum(1) <= 1).all()


def test_a_tree_takes_as_many_steps_as_it_has_levels_from_below():
    blocks = Compiled(RuleSystem.of(TREE, range(40))).blocks
    assert len(blocks) == 5
    place = {label: k for k, block in enumerate(blocks) for label in block.labels.tolist()}
    assert all(place[i] < place[i // 3] for i in range(1, 40))


@torch.no_grad()
def test_log_odds_are_those_of_one_label_after_another(system):
    draws = torch.Generator().manual_seed(0)
    joint = independent(random_logits(3, system.n_labels), rules=system)
    known = torch.full((3, system.n_labels), torch.nan)
    known[:, ::4] = 0.0  # which change in no row
    problem = joint._problem(torch.arange(3), known, True, joint._start(known)[1])
    y = (torch.rand(3, system.n_labels, 5, generator=draws) < 0.5).float()
    together, single = problem.chains(y.clone()), problem.chains(y.clone())
    if len(Compiled(system).blocks) == system.n_labels:
        assert together.moving == [t for t in range(system.n_labels) if t % 4]  # which gains nothing: one after another
        return
    assert sorted(torch.cat(together.moving).tolist()) == [t for t in range(system.n_labels) if t % 4]
    for labels in [*together.moving, *together.moving]:
        odds = together.log_odds(labels)
        assert torch.allclose(odds, torch.stack([single.log_odds(t) for t in labels.tolist()]))
        values = (torch.rand(odds.shape, generator=draws) < 0.5).float()
        together.put(labels, values)
        for t, value in zip(labels.tolist(), values, strict=True):
            single.log_odds(t)
            single.put(t, value)
        assert torch.equal(together.y, single.y)
    assert torch.equal(together._reached, single._reached)
    assert torch.equal(together._reached, problem.rules.reached(together.y.transpose(0, 1)))


def test_answers_of_a_row_do_not_depend_on_the_others():
    """Also where few labels of a row are free, fewer than there are blocks."""
    rules = RuleSystem.of(Hierarchy(100, tuple((i, i + 1) for i in range(39))), range(100))
    joint = independent(random_logits(2, 100), rules=rules)
    known = torch.full((2, 100), torch.nan)
    known[0, 25:] = 0.0
    assert torch.equal(joint.marginals(known)[:1], joint.take(torch.tensor([0])).marginals(known[:1]))


def test_some_labels_of_a_block():
    block = Compiled(RuleSystem.of(TREE, range(40))).blocks[1]
    kept = torch.arange(40) % 2 == 0
    few, reached = block.among(kept), torch.randint(-2, 2, (39, 2, 3)).float()
    y = torch.ones(len(block.labels), 2, 3)
    assert torch.equal(few.odds(reached, y[: len(few.labels)]), block.odds(reached, y)[kept[block.labels]])
