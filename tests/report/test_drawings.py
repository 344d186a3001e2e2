"""Drawings: what they hold, and that nothing in them is left to chance."""

import re

import numpy as np
import pytest
from tests.html_checks import Page

from enstruct.report.heat import heat_table
from enstruct.report.pictures import in_colours, in_grey, picture
from enstruct.report.reliability import binned, reliability_diagram
from enstruct.report.tie_graph import Tie, circle_order, strongest, tie_graph
from enstruct.report.walks import walk
from enstruct.report.whiskers import Whisker, interval_bar, round_numbers, whiskers


def two_groups():
    """Labels 0, 2, 4 attract one another, and 1, 3, 5; the groups repel each other."""
    side = np.arange(6) % 2
    table = np.where(side[:, None] == side, 2.0, -1.0)
    np.fill_diagonal(table, 0)
    return table


def test_bins_count_every_decision_once():
    rng = np.random.default_rng(0)
    p = np.append(rng.random(500), [0.0, 1.0])
    there = rng.random(502) < p
    of = binned(p, there, 10)
    assert of.counts.sum() == 502
    for b in range(10):
        inside = (p >= b / 10) & ((p < (b + 1) / 10) | (b == 9))
        assert of.means[b] == pytest.approx(p[inside].mean())
        assert of.shares[b] == pytest.approx(there[inside].mean())


def test_a_bin_without_decisions_is_not_drawn():
    drawn = reliability_diagram("r", binned(np.array([0.05, 0.95]), np.array([False, True])), "labels")
    assert len(re.findall("<circle", drawn)) == 2
    assert "nan" not in drawn
    Page(reliability_diagram("r", binned(np.zeros(0), np.zeros(0, dtype=bool)), "labels"))


def test_labels_that_attract_each_other_are_neighbours_on_the_circle():
    order = circle_order(two_groups())
    assert sorted(order) == list(range(6))
    assert {label % 2 for label in order[:3]} in ({0}, {1})
    assert order == circle_order(two_groups())


def test_the_strongest_ties_are_drawn_by_sign_and_strength():
    ties = strongest(two_groups(), 7)
    assert [abs(tie.strength) for tie in ties] == [2.0] * 6 + [1.0]
    assert strongest(np.zeros((3, 3)), 5) == []
    names = [f"<{i}>" for i in range(6)]
    drawn = tie_graph("g", "graph", names, range(6), [Tie(0, 2, 2.0), Tie(0, 1, -1.0)], "nats")
    page = Page(drawn)
    attracts, repels = sorted(page.of("path"), key=lambda path: path["class"])
    assert (attracts["class"], repels["class"]) == ("first", "second")
    assert "stroke-dasharray" in repels
    assert "stroke-dasharray" not in attracts
    assert float(attracts["stroke-width"]) > float(repels["stroke-width"])
    assert "<0> and <2>: +2.00 nats" in page.words()


@pytest.mark.parametrize("n", [1, 2, 40])
def test_graphs_of_few_and_of_many_labels(n):
    Page(tie_graph("g", "graph", ["a label of a long name"] * n, range(n), [], "nats"))


def test_axes_hold_what_is_drawn():
    for low, high in ((0.0, 0.0), (56.3, 67.9), (-1.0, 0.004), (99.9, 100.0), (0.0, 1e6)):
        ticks = round_numbers(low, high)
        assert ticks[0] <= low <= high <= ticks[-1] + 1e-9
        assert len(ticks) <= 8
        assert len(set(ticks)) == len(ticks)
    Page(whiskers("w", "t", [Whisker("a", 0.0, 0.0, 0.0), Whisker("b", 0.0, np.nan, np.nan)]))


def test_intervals_on_one_side_of_zero_are_told_by_colour():
    kinds = [
        re.search(r'<circle[^>]* class="([\w-]+)"', interval_bar("b", "t", (low + high) / 2, low, high, -3, 3))[1]
        for low, high in ((1, 2), (-2, -1), (-1, 1))
    ]
    assert kinds == ["of-first", "of-second", "of-faint"]


def test_squares_are_full_above_zero_and_hollow_below():
    drawn = heat_table("h", "t", ["a"], ["b", "c"], np.array([[4.0, -4.0]]), [["four", "minus four"]], ("row", "column"))
    kinds = [attributes["class"] for attributes in Page(drawn).of("rect")]
    assert kinds == ["grid", "of-first", "grid", "second"]


def test_a_walk_is_relative_to_its_start():
    words = Page(walk("w", "t", [5.0, 6.5, 4.0])).words()
    assert "+0.00, +1.50, −1.00" in words
    Page(walk("w", "t", [1.0]))


def test_pictures_lie_within_the_page():
    mask = np.array([[0, 1], [-1, 9]])
    assert in_colours(mask).shape == (2, 2, 3)
    assert tuple(in_colours(mask)[1, 0]) == (190, 190, 190)
    assert in_grey(np.array([[0.0, 1.0, 2.0]])).tolist() == [[255, 0, 0]]
    drawn = picture(np.zeros((600, 300, 3), np.uint8), 'of "<x>"')
    (attributes,) = Page(drawn).of("img")
    assert attributes["src"].startswith("data:image/png;base64,")
    assert (attributes["width"], attributes["height"], attributes["alt"]) == ("128", "256", 'of "<x>"')
