"""Which row comes next."""

import numpy as np
import pytest

from enstruct.workbench.row_order import EVERY, RowOrder


def test_as_they_stand():
    order = RowOrder(5, "given")
    assert [order.next("me", {1}, after) for after in (-1, 0, 2, 4)] == [0, 2, 3, 0]
    assert order.at_random.all()


def test_the_uncertain_first_and_every_fourth_drawn():
    order = RowOrder(40, "teaching", seed=3)
    worth = np.arange(40.0)
    order.rank(lambda rows: worth[rows]).join()
    served, finished = [], set()
    for _ in range(40):
        served.append(order.next("me", finished))
        finished.add(served[-1])
    assert sorted(served) == list(range(40))
    assert order.next("me", finished) is None
    drawn = [row for k, row in enumerate(served) if k % EVERY == EVERY - 1 and k < 39]
    assert order.at_random[drawn].all()
    assert order.at_random.sum() == 10
    taught = [row for k, row in enumerate(served[:36]) if k % EVERY != EVERY - 1]
    assert taught == sorted(taught, reverse=True)
    assert not order.at_random[taught].any()


def test_two_people_are_given_different_rows():
    order = RowOrder(3, "given")
    assert order.next("me", set()) == 0
    assert order.next("you", set()) == 1
    assert order.next("me", set(), after=0) == 2
    assert order.next("you", {0}, after=1) == 1  # nothing else is free: it stays


def test_what_is_skipped_comes_again_when_nothing_else_is_left():
    order = RowOrder(20, "teaching")
    order.rank(lambda rows: np.arange(20.0)[rows]).join()
    row, seen = order.next("me", set()), []
    for _ in range(20):
        seen.append(row)
        row = order.next("me", set(), row)
    assert sorted(seen) == list(range(20))
    assert row in seen


def test_rows_that_somebody_left_are_given_out_at_last():
    order = RowOrder(2, "given")
    assert [order.next("closed", set()), order.next("closed", set(), 0)] == [0, 1]
    assert order.next("me", set()) == 0
    assert order.next("me", {0}, 0) == 1
    assert order.next("me", {0, 1}, 1) is None


def test_claims_end(monkeypatch):
    order = RowOrder(2, "given")
    order.claim("me", 0)
    assert order.next("you", set()) == 1
    monkeypatch.setattr("enstruct.workbench.row_order.CLAIMED", -1.0)
    assert order.next("you", set()) == 0


def test_unranked_rows_come_too():
    order = RowOrder(10, "teaching")
    first = order.next("me", set())
    assert first is not None
    order.rank(lambda rows: None).join()  # no model: nothing is known of any row
    assert order.next("me", {first}) not in (None, first)


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_to_judge_by_are_drawn_evenly(seed):
    order = RowOrder(4000, "teaching", seed=seed)
    assert order.at_random.sum() == 1000
    assert abs(np.flatnonzero(order.at_random).mean() - 2000) < 150


def test_at_random_each_row_comes_once():
    order, finished = RowOrder(30, "random", seed=1), set()
    served = []
    for _ in range(30):
        served.append(order.next("me", finished))
        finished.add(served[-1])
    assert sorted(served) == list(range(30))
    assert served != sorted(served)
    assert order.at_random.all()
    assert [RowOrder(30, "random", seed=1).next("me", set())] == served[:1]
