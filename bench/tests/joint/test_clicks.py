"""Simulated clicks, and their section of the page."""

import numpy as np
import pytest

from enstruct.files import write_json
from enstruct_bench.joint.clicks import MOST, boxes, chosen, clicked, clicks, grabcut, iou, painted
from enstruct_bench.reports.clicks import clicks_section


def test_a_click_is_in_the_middle_of_the_largest_error():
    truth = np.zeros((9, 9), dtype=bool)
    truth[1:6, 1:6], truth[7, 7] = True, True
    nothing, mask = np.full((9, 9), -1), np.zeros((9, 9), dtype=bool)
    told = clicked(nothing, mask, truth)
    assert (told >= 0).sum() == 1
    assert told[3, 3] == 1
    mask[:] = True
    told = clicked(told, mask, truth)
    assert told[3, 3] == 1
    assert (told == 0).sum() == 1  # where the answer has too much


def test_clicks_are_counted_until_the_mask_is_right_enough():
    truth = np.zeros((4, 4), dtype=bool)
    truth[0, :3] = True
    assert clicks(painted([truth.astype(int)]), 0, truth) == (0, [1.0])
    n, path = clicks(painted([np.zeros((4, 4), dtype=int)]), 0, truth)
    assert n == 3
    np.testing.assert_allclose(path, [0, 1 / 3, 2 / 3, 1])
    assert clicks(lambda i, told: np.zeros((4, 4), dtype=int), 0, truth)[0] == MOST
    assert iou(truth, ~truth) == 0
    assert iou(truth & False, truth & False) == 1
    sides = [lambda i, told: np.zeros((4, 4), dtype=int), painted([np.zeros((4, 4), dtype=int)])]
    assert chosen(sides, [truth]) == 1
    assert boxes([truth])[0].tolist()[0] == [3, 3, 3, 0]


def test_grabcut_finds_a_disk_in_a_small_image():
    """Told its box, and one pixel of either class, which come back as told."""
    pytest.importorskip("cv2")
    rows, columns = np.indices((32, 32))
    disk = (rows - 12) ** 2 + (columns - 18) ** 2 < 60
    rng = np.random.default_rng(0)
    image = (np.where(disk, 180, 60)[..., None] + rng.integers(-15, 16, (32, 32, 3))).astype(np.uint8)
    told = np.full((32, 32), -1)
    told[12, 18], told[28, 4] = 1, 0
    answer = grabcut([image], boxes([disk]))
    assert iou(answer(0, told).astype(bool), disk) > 0.95
    told[12, 18] = 0
    assert answer(0, told)[12, 18] == 0


def test_the_section(tmp_path):
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    row = {"seed": 0, "reached": 0.5, "iou_before": 0.8, "iou_after_5": 0.9, "seconds_an_answer": 0.01, "fit_seconds": 1.0}
    rows = [
        row | {"side": "field", "clicks": 4.0, "more_than_field": [0.0, 0.0, 0.0]},
        row | {"side": "walker", "clicks": 9.0, "more_than_field": [5.0, 4.0, 6.0]},
    ]
    content = {"data": "horses", "size": None, "epochs": 3, "wanted": 0.9, "most": 20, "commit": "c", "environment": env}
    write_json(tmp_path / "clicks-horses.json", content | {"rows": rows})
    section = clicks_section(tmp_path / "clicks-horses.json")
    assert "| walker | 9.00 | +5.00 [+4.00, +6.00] | 50.0 | 80.0 | 90.0 | 10.0 | 1 |" in section
