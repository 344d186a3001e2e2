"""Sentences kept as their text answer as lists of lists do."""

import pickle

import numpy as np
import pytest

from enstruct.data.token_rows import TokenRows

ROWS = [["a", "bé"], ["c d"], ["", "e\r", "f"]]


def kept(rows=ROWS, are_tuples=False):
    out = TokenRows(are_tuples)
    for row in rows:
        for item in row:
            out.append(item if are_tuples else [item])
        out.close()
    return out


@pytest.mark.parametrize("index", [0, 1, 2, -1, -3, np.int64(1), slice(None), slice(1, None), slice(None, None, -2), slice(5, 9)])
def test_rows_are_those_of_a_list(index):
    assert kept()[index] == ROWS[index]


@pytest.mark.parametrize("index", [3, -4])
def test_there_is_nothing_beyond_the_rows(index):
    with pytest.raises(IndexError):
        kept()[index]


def test_it_goes_through_as_a_list_does():
    assert (len(kept()), [*kept()], [*map(len, kept())]) == (3, ROWS, [2, 1, 3])
    assert ["c d"] in kept()
    assert kept().index(["c d"]) == 1


def test_items_of_several_cells_are_tuples():
    rows = [[("a", "N", ""), ("b", "V", "x")], [("c", "", "")]]
    assert kept(rows, are_tuples=True) == rows


def test_it_equals_what_has_the_same_rows():
    assert kept() == ROWS
    assert ([*ROWS] == kept()) is True
    assert kept() == kept()
    assert pickle.loads(pickle.dumps(kept())) == ROWS
    assert kept() != ROWS[:2]
    assert kept() != [["a"], ["bé", "c d"], ["", "e\r", "f"]]
    assert kept() != "abc"
    assert kept([]) == []


def test_a_row_is_open_until_it_is_closed():
    rows = TokenRows()
    assert not rows.is_open
    rows.append([""])
    assert (rows.is_open, len(rows)) == (True, 0)
    rows.close()
    rows.close()
    assert (rows.is_open, [*rows]) == (False, [[""]])


def test_a_row_is_the_caller_s_own():
    rows = kept()
    rows[0].append("more")
    assert rows[0] == ROWS[0]
