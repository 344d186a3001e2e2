"""Token numbers as rows of a CSR matrix of their own kind."""

import numpy as np

from enstruct.data.rows import Rows, as_indicator
from enstruct.data.tokens import TokenRows
from enstruct.estimators.label_rows import same_rows
from enstruct.training.batches import assemble, in_order, shuffled

TOKENS = [[5, 0, 7], [1], [5, 0, 7], [2, 2, 2, 2]]


def test_rows_stay_what_they_are():
    rows = TokenRows.of(TOKENS, 6)
    assert rows.shape == (4, 6)
    assert rows.lengths.tolist() == [3, 1, 3, 4]
    some = rows[np.array([3, 0])]
    assert isinstance(some, TokenRows)
    assert some.toarray().tolist() == [[3, 3, 3, 3, 0, 0], [6, 1, 8, 0, 0, 0]]
    assert TokenRows.of([], 6).shape == (0, 6)


def test_equal_texts_are_one_row():
    first, group = same_rows(Rows(TokenRows.of(TOKENS, 6), as_indicator(np.zeros((4, 2)))))
    assert len(first) == 3
    assert group[0] == group[2]


def test_batches_are_of_like_lengths_and_answers_in_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    rows = TokenRows.of([[1] * n for n in rng.integers(1, 40, size=300)], 40)
    batches = in_order(rows)
    assert sorted(np.concatenate(batches).tolist()) == list(range(300))
    spread = max(np.ptp(rows.lengths[batch]) for batch in batches)
    assert spread < 20
    answers = assemble(rows, [rows.lengths[batch][:, None].astype(float) for batch in batches])
    assert (answers[:, 0] == rows.lengths).all()
    assert sorted(np.concatenate(shuffled(rows, 16)).tolist()) == list(range(300))
