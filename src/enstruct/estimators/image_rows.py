"""From images and masks to training rows: whole ones, or crops of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from enstruct.data.images import Images, Masks
from enstruct.data.rows import Rows
from enstruct.errors import DataError
from enstruct.estimators.image_format import Grid, ImageFormat, MaskFormat, as_images, as_masks
from enstruct.estimators.label_rows import proportional, row_weights

PLACES = 33
"""Places of training crops along a side at most: every crop is a row, and rows take memory."""
SHARES = (0.0, 0.25, 0.375, 0.5, 0.75, 1.0)
"""Where crops lie in answers, as shares of the room there is: DVN's offsets {0, 2, 3, 4, 6, 8} of 24 x 24 in 32 x 32."""
CORNERS = (0.0, 1.0)


class Pictures(NamedTuple):
    """Images, their masks, and weights (images,)."""

    images: list[Grid]
    masks: list[Grid]
    weight: NDArray[np.float64]

    def take(self, index: Sequence[int] | NDArray[np.intp]) -> Self:
        return self._replace(
            images=[self.images[i] for i in index],
            masks=[self.masks[i] for i in index],
            weight=self.weight[np.asarray(index, int)],
        )


def pictures(images: Any, masks: Any, sample_weight: Any = None) -> Pictures:
    """Those that have a weight above 0. DataError for images and masks that do not go together."""
    grids = as_images(images)
    weight = np.ones(len(grids)) if sample_weight is None else row_weights(sample_weight, grids)
    given = Pictures(grids, as_masks(masks, grids), weight)
    return given if (weight > 0).all() else given.take(np.flatnonzero(weight > 0).tolist())


def image_rows(
    given: Pictures, images: ImageFormat, masks: MaskFormat, crop: int | None, shares: Any, unit: float | None = None
) -> Rows:
    """Whole images, or their crops at these shares of the room; ``None``: every crop there is.

    Weights count relative to ``unit``; without one, to their mean.
    """
    pixels = images.encode(given.images)
    numbers = masks.encode(given.masks, pixels.shape[1:3])
    known = numbers >= 0
    X = Images.whole(pixels, known=None if known.all() else known)
    Y = Masks.whole(numbers, n_classes=len(masks.classes))
    weight = proportional(given.weight, unit)
    if crop is None:
        return Rows(X, Y, weight)
    size, offsets = crops(X.size, crop, shares)
    X = X.cropped(size, offsets)
    return Rows(X, Y.cropped(size, offsets), None if weight is None else weight[X.places[:, 0]])


def crops(whole: tuple[int, ...], crop: int, shares: tuple[float, ...] | None) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """(size, offsets) of crops in an image; ``shares`` of the room, or None for all, at most ``PLACES`` a side.

    DataError if crops do not cover the image.
    """
    room = [length - crop for length in whole]
    if min(room) < 0:
        raise DataError(f"An image of {whole[0]}x{whole[1]} is smaller than the crops of {crop}x{crop} the model looks at.")
    if max(whole) > 5 * crop:
        raise DataError(f"An image of {whole[0]}x{whole[1]} is more than five times a crop of {crop}: make crop= larger.")
    every = [share / (PLACES - 1) for share in range(PLACES)]
    steps = [
        range(r + 1) if shares is None and r < PLACES else sorted({round(share * r) for share in shares or every}) for r in room
    ]
    return (crop, crop), [(top, left) for top in steps[0] for left in steps[1]]
