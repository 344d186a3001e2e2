"""Masks at the workbench: painted pixels come back as painted, and the mask follows."""

import copy

import numpy as np
import pytest

from enstruct.data.image_folders import read_pictures
from enstruct.errors import DataError, SaveError
from enstruct.rules.masks import Within
from enstruct.workbench.masks import Masks, mask_of, runs_of, write_pictures


@pytest.fixture(scope="module")
def masks(segmenter_and_pictures):
    return Masks(*segmenter_and_pictures)


def stroke(*points, value=1, radius=1.5):
    return {"class": value, "radius": radius, "points": [list(point) for point in points]}


def test_painted_pixels_are_told(masks):
    told = masks.told(0, {"s0": stroke((3, 2), (3, 12)), "s1": stroke((3, 7), value=0)})
    assert told[3, 2] == told[3, 12] == 1
    assert told[3, 7] == 0  # later strokes lie above
    assert np.isnan(told[12]).all()
    assert masks.told(0, {"s1": stroke((3, 7), value=0), "s0": stroke((3, 2), (3, 12))})[3, 7] == 0


def test_the_mask_has_what_was_painted(masks, segmenter_and_pictures):
    cells = {"s0": stroke((2, 2), (2, 13)), "s1": stroke((12, 4), value=0)}
    mask = mask_of(masks.answers(1, cells, {})["runs"], (16, 16))
    told = masks.told(1, cells)
    np.testing.assert_array_equal(mask[~np.isnan(told)], told[~np.isnan(told)])
    model, pictures = segmenter_and_pictures
    np.testing.assert_array_equal(mask, model.predict([pictures.images[1]], known=[told])[0])


def test_runs_come_back():
    grid = np.random.default_rng(0).integers(0, 3, (5, 7))
    np.testing.assert_array_equal(mask_of(runs_of(grid), grid.shape), grid)
    assert runs_of(np.zeros((2, 3), dtype=int)) == [[0, 6]]


@pytest.mark.parametrize(
    ("cells", "done", "message"),
    [
        ({"s0": stroke((1, 1), value=7)}, False, "no class 7"),
        ({"s0": stroke((1, 1), radius=0)}, False, "a radius"),
        ({"s0": stroke()}, False, "points"),
        ({"s0": stroke((1, 1, 1))}, False, "pairs"),
        ({"s0": {"class": 1}}, False, "no stroke"),
        ({"t0": stroke((1, 1))}, False, "no stroke"),
        ({"mask": [[0, 5]]}, False, "16 x 16"),
        ({"mask": [[9, 256]]}, False, "classes that training has seen"),
        ({"mask": "all"}, False, "runs"),
        ({"s0": stroke((1, 1))}, True, "with its mask"),
    ],
)
def test_what_cannot_be_told(masks, cells, done, message):
    with pytest.raises(DataError, match=message):
        masks.check(0, cells, cells, done)


def test_finished_pictures_are_written_for_training(masks, tmp_path):
    grid = np.zeros((16, 16), dtype=int)
    grid[4:9, 5:12] = 1
    with pytest.raises(DataError, match="No picture is finished"):
        masks.write(tmp_path / "out", {0: {"s0": stroke((1, 1))}})
    masks.write(tmp_path / "out", {2: {"mask": runs_of(grid)}, 0: {"s0": stroke((1, 1))}})
    back = read_pictures(tmp_path / "out")
    assert back.names == ["p2"]
    np.testing.assert_array_equal(back.masks[0], grid)
    np.testing.assert_array_equal(back.images[0], masks.data.images[2])


def test_uncertainty_and_contents(masks):
    assert masks.uncertainty(np.array([0, 3])).shape == (2,)
    shown = masks.content(1)
    assert (shown["height"], shown["width"], shown["name"]) == (16, 16, "p1")
    assert shown["picture"].startswith("data:image/png;base64,")


def test_folders_that_hold_anything_else_are_never_replaced(segmenter_and_pictures, tmp_path):
    pictures = segmenter_and_pictures[1]
    shape = pictures.images[0].shape[:2]
    told = {0: {"mask": runs_of(np.zeros(shape, dtype=int))}}
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.txt").write_text("years")
    (tmp_path / "file").write_text("precious")
    for place in ("thesis", "file"):
        with pytest.raises(SaveError, match="no folder of ours"):
            write_pictures(tmp_path / place, pictures, told)
    assert (tmp_path / "thesis" / "thesis.txt").read_text() == "years"
    assert (tmp_path / "file").read_text() == "precious"
    for _ in range(2):  # its own is renewed
        write_pictures(tmp_path / "out", pictures, told)
    assert len([*(tmp_path / "out" / "masks").iterdir()]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "out", "thesis"]


@pytest.mark.parametrize(
    ("points", "radius"), [([(8, 8)], 2), ([(8.5, 8.5)], 3), ([(3.9, 3.9)], 1), ([(2, 3), (9.3, 12)], 1.7), ([(-4, 5)], 6)]
)
def test_what_is_told_is_what_is_painted(masks, points, radius):
    """The pixels whose middle the brush passes, which the page's canvas covers."""
    told = masks.told(0, {"s0": stroke(*points, radius=radius)})
    first, last = np.array(points[0]), np.array(points[-1])
    line = np.array([first + t * (last - first) for t in np.linspace(0, 1, 4001)])
    middle = np.stack(np.meshgrid(*(np.arange(n) + 0.5 for n in told.shape), indexing="ij"), axis=-1)
    nearest = np.sqrt(((middle[:, :, None] - line) ** 2).sum(-1)).min(2)
    clear = abs(nearest - radius) > 1e-3
    np.testing.assert_array_equal((told == 1)[clear], (nearest <= radius)[clear])


def test_strokes_that_a_rule_forbids_are_refused(segmenter_and_pictures):
    model, pictures = segmenter_and_pictures
    ruled = copy.copy(model)
    ruled.rules = Within(1, 0.5, 0, 1, 1)
    view, painted = Masks(ruled, pictures), {"s0": stroke((2, 8))}
    with pytest.raises(DataError, match="which breaks the rules 1 lies in 50 to 100%"):
        view.check(0, painted, painted, False)
    below = {"s0": stroke((12, 8))}
    view.check(0, below, below, False)
    view.answers(0, below, {})
