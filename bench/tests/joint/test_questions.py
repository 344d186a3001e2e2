"""Questions until label sets are right."""

import numpy as np
import pytest

from enstruct_bench.joint.questions import questions_of, random_questions_of
from enstruct_bench.joint.sides import Marginal

Y = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=np.float32)


class Doubting(Marginal):
    """Marginals that hold every label absent, the later the less surely."""

    def marginals(self, X, known):
        return np.broadcast_to([0.1, 0.2, 0.3, 0.4], known.shape)


class Knowing(Doubting):
    """It would ask for labels that are there."""

    def worth_asking(self, X, known):
        return X


def test_labels_are_asked_for_from_the_most_uncertain_on_until_all_present_ones_are_told():
    assert questions_of(Doubting(), Y, Y).tolist() == [4, 0, 4]
    assert questions_of(Knowing(), Y, Y).tolist() == [2, 0, 4]


def test_a_random_order_takes_as_long_as_it_takes_to_meet_the_last_present_label():
    n, labels = 400, 9
    truth = np.zeros((n, labels), dtype=np.float32)
    truth[:, [2, 5]] = 1

    class Absent(Marginal):
        def marginals(self, X, known):
            return np.zeros(known.shape)

    counts = random_questions_of(Absent(), truth, truth, seed=0)
    assert counts.mean() == pytest.approx(2 * (labels + 1) / 3, abs=0.3)  # the later of two places of nine
    assert counts.min() == 2
