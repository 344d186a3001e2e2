"""Looking ahead: the series from the optimum, the closed form from anywhere."""

import torch
from tests.hypergradients.problems import Quadratic, relative_error

from enstruct.hypergradients import (
    Implicit,
    Neumann,
    Unrolled,
)


def test_unrolling_from_the_optimum_is_the_series():
    """k steps of rate 1/c equal k terms of scale c (Lorraine et al. 2020)."""
    quadratic = Quadratic.random()
    for k in (1, 3, 7):
        unrolled = Unrolled(k, rate=0.2).gradient(quadratic.problem())
        series = Implicit(Neumann(k, scale=5.0)).gradient(quadratic.problem())
        torch.testing.assert_close(unrolled.gradient[0], series.gradient[0])


def test_unrolling_long_enough_reaches_the_closed_form_from_anywhere():
    quadratic = Quadratic.random()
    away = quadratic.optimum() + 1.0
    hypergradient = Unrolled(300, rate=0.2).gradient(quadratic.problem(away))
    assert relative_error(hypergradient.gradient[0], quadratic.exact()) < 1e-5
