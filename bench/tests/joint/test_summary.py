"""Tables and pictures of cells."""

import numpy as np
import pytest

from enstruct.metrics import Counts
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.joint.picture import draw, gains
from enstruct_bench.joint.summary import COLUMNS, differences_of, rows_of, summarise


def cell(method, seed, lift):
    rng = np.random.default_rng(seed)
    shared = rng.random(80 + seed)
    rows = {f"f1@{share:g}": Counts.of(shared + lift * share) for share in (0, 0.25, 0.5, 0.75)}
    rows["nll"] = Counts.of(shared - lift)
    return Cell({"method": method, "seed": seed, "average_precision": {"0.5": 0.4}, "fit_seconds": 2.0}, rows)


CELLS = {(m, s): cell(m, s, lift) for m, lift in (("base", 0.0), ("joint", 0.2)) for s in (0, 1)}


def test_gains_are_points_above_the_base():
    points = gains(CELLS, "joint", "base")
    assert points[:, 0] == pytest.approx([0, 5, 10, 15])
    assert (points[:, 1] <= points[:, 0] + 1e-9).all()


def test_a_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw(CELLS, "base", "blocks", tmp_path / "gains.png")
    assert (tmp_path / "gains.png").read_bytes().startswith(b"\x89PNG")


def test_a_summary_has_means_and_differences():
    said = summarise(CELLS, "base")
    assert said["joint"]["f1@0.5"]["difference"] == pytest.approx([10, 10, 10])
    assert said["joint"]["nll"]["difference"] == pytest.approx([-0.2, -0.2, -0.2])
    assert said["joint"]["average_precision@0.5"] == {"mean": 40, "spread": 0, "seeds": 2}
    assert "difference" not in said["base"]["nll"]
    assert "exact" not in said["base"]


def test_sides_of_fewer_splits_say_so():
    more = CELLS | {("joint", 2): cell("joint", 2, 0.2)}
    assert [row[0] for row in rows_of(more)] == ["base (2 of 3 splits)", "joint"]
    assert [row[0] for row in differences_of(more, "joint")] == ["base (2 of 3 splits)"]


def test_rows_have_a_place_for_every_column():
    rows = rows_of(CELLS)
    assert [row[0] for row in rows] == ["base", "joint"]
    assert {len(row) for row in rows} == {1 + len(COLUMNS)}
    assert str(rows[1][1 + list(COLUMNS).index("exact")]) == "–"
    (row,) = differences_of(CELLS, "base")
    assert str(row[4]) == "+10.00 [+10.00, +10.00]"
