"""Moves of several labels: each is its own way back, keeps what is told, and touches what follows alone."""

import itertools

import numpy as np
import pytest
import torch
from tests.rules.rule_truth import holds, random_rule

from enstruct.joint.moves import Moves
from enstruct.rules import AtMost, Exactly, Hierarchy, Implies, Not, RuleSystem, predicate, states
from enstruct.rules import system as systems

L = 6
EVERY = torch.tensor(list(itertools.product([0.0, 1.0], repeat=L))).T.unsqueeze(0)  # (1, labels, sets as chains)
ALL = torch.ones(1, L, dtype=torch.bool)


@pytest.fixture(autouse=True)
def no_list(monkeypatch):
    monkeypatch.setattr(systems, "legal_states", lambda A, least: states.legal_states(A, least, 0))


def moves_of(rules, n_labels=L):
    system = RuleSystem.of(rules, range(n_labels))
    (group,) = system.groups
    return Moves(system, group)


def changes(move, real=ALL):
    """(sets, labels of the move) before and after flipping, and whether it can be taken back."""
    y = EVERY[:, move.labels].transpose(1, 2)
    new, back = move.carried(y, 1 - y[..., : len(move.changed)], real[:, move.labels])
    return y[0], new[0], back[0]


def test_labels_that_are_alike_change_together_and_those_unlike_change_sides():
    moves = moves_of([Implies(0, 1), Implies(1, 0), Exactly(1, [1, 2])])
    (move,) = moves.drawn(torch.Generator().manual_seed(0))
    assert move.changed == [0]
    assert move.others == [1, 2]
    old, new, back = changes(move)
    legal = (old[:, 0] == old[:, 1]) & (old[:, 1] != old[:, 2])
    assert back[legal].all()
    assert torch.equal(new[legal], 1 - old[legal])


def test_the_labels_of_a_predicate_are_drawn_at_once():
    moves = moves_of([predicate(lambda some: len(some) in (0, 3), [0, 1, 2]), Implies(2, 3)])
    (table,) = moves.tables
    assert table.labels.tolist() == [0, 1, 2]
    assert table.states.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert moves.of([0, 1, 2]).others == [3]


def test_told_labels_are_followed_by_no_move():
    move = moves_of([Implies(0, 1), Implies(1, 0)]).of([0])
    real = ALL.clone()
    real[0, 1] = False
    old, new, back = changes(move, real)
    assert torch.equal(new[back], old[back]) or not back.any()
    assert not back[old[:, 0] == old[:, 1]].any()


def test_a_negated_label():
    move = moves_of([Implies(0, Not(1)), Implies(Not(1), 0)]).of([1])
    old, _, back = changes(move)
    assert back[old[:, 0] != old[:, 1]].all()


@pytest.mark.parametrize("seed", range(30))
def test_taking_a_move_twice_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    rules = [random_rule(rng, L) for _ in range(4)]
    system = RuleSystem.of(rules, range(L))
    if not any(all(holds(rule, y) for rule in rules) for y in itertools.product((0, 1), repeat=L)):
        return
    for group in system.groups:
        for move in Moves(system, group).drawn(torch.Generator().manual_seed(seed)):
            old, new, back = changes(move)
            again, also = move.carried(new.unsqueeze(0), 1 - new[None, :, : len(move.changed)], ALL[:, move.labels])
            assert torch.equal(again[0][back], old[back])
            assert also[0][back].all()


def test_a_sweep_touches_no_more_than_a_few_times_the_group():
    n = 60
    chain = Hierarchy(n, tuple((i, i + 1) for i in range(n - 1)))  # the last label implies all others
    moves = moves_of([chain, AtMost(n - 1, range(n))], n)
    touched = sum(len(move.labels) for move in moves.drawn(torch.Generator().manual_seed(0)))
    assert 0 < touched <= 8 * n
