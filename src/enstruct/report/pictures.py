"""Pictures within a page: arrays as PNG in a ``data:`` address, small enough to be looked at."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from enstruct.report.markup import Markup, element

LONGEST = 256
"""Pixels of a picture's longer side; larger ones are made smaller."""
CLASSES = (
    (247, 247, 244),
    (29, 95, 158),
    (176, 68, 28),
    (47, 112, 80),
    (140, 110, 30),
    (110, 70, 140),
    (60, 130, 150),
    (90, 90, 90),
)
"""Colours of the classes of a mask, over again where there are more; the first is the ground's."""
UNKNOWN = (190, 190, 190)


def picture(pixels: NDArray[np.uint8], alt: Any, grid: bool = False) -> Markup:
    """``pixels`` (height, width[, 3]); ``grid``: of classes, whose colours are not mixed."""
    image: Image.Image = Image.fromarray(pixels)
    if max(image.size) > LONGEST:
        share = LONGEST / max(image.size)
        size = (max(1, round(image.width * share)), max(1, round(image.height * share)))
        image = image.resize(size, Image.Resampling.NEAREST if grid else Image.Resampling.BOX)
    content = io.BytesIO()
    image.save(content, format="PNG", optimize=True)
    source = "data:image/png;base64," + base64.b64encode(content.getvalue()).decode("ascii")
    return element("img", src=source, alt=alt, width=image.width, height=image.height)


def in_colours(numbers: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    """A mask of class numbers (height, width), -1 where nothing is known -> (height, width, 3)."""
    table = np.array([*CLASSES, UNKNOWN], dtype=np.uint8)
    return table[np.where(numbers < 0, len(CLASSES), numbers % len(CLASSES))]


def in_grey(shares: NDArray[Any]) -> NDArray[np.uint8]:
    """Numbers in [0, 1] (height, width), dark where large."""
    return np.asarray(255 * (1 - np.clip(shares, 0, 1)), dtype=np.uint8)
