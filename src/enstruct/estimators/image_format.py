"""The user's images and masks as arrays to train on, and class numbers back as the user's masks.

Images are (height, width) or (height, width, channels): whole numbers of 8 or 16 bits are taken as shares of their type's
largest value, all other numbers as they are; each channel is then standardised by the training images. Masks are (height,
width) of whole numbers, one for each class, in any numbering.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from enstruct.data.images import Images, Masks
from enstruct.data.rows import Rows
from enstruct.errors import ConfigError, DataError, shown
from enstruct.estimators.label_rows import proportional, row_weights
from enstruct.validation import check_series, check_whole

log = logging.getLogger("enstruct")
Grid = NDArray[Any]
MOST_PIXELS = 512 * 512
"""Of one image: beyond it training and prediction would fill the memory with feature maps."""
LEAST = -(2**31)
"""Value of a mask."""
MOST_CLASSES = 64
"""Values of a mask that are taken as classes without being told so."""


@dataclass(frozen=True)
class ImageFormat:
    """``mean`` and ``std`` of each channel of the training images, ``most`` their largest value; ``size`` to resize to."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    size: tuple[int, int] | None
    most: float = np.inf

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not self.mean or not all(std > 0 for std in self.std):
            raise ValueError(f"{len(self.mean)} means and {len(self.std)} deviations of channels, which must be positive")
        if self.size is not None and not all(0 < side < 2**31 for side in self.size):
            raise ValueError(f"images of the size {self.size}")

    @classmethod
    def fit(cls, images: Sequence[Grid], size: tuple[int, int] | None) -> ImageFormat:
        """DataError for images that cannot be trained on together."""
        channels = {image.shape[2] for image in images}
        if len(channels) > 1:
            raise DataError(f"Images must have the same number of channels; these have {sorted(channels)}.")
        plain = cls((0.0,), (1.0,), size)
        total, squares, count, most = 0.0, 0.0, 0, 0.0
        for image in images:  # in double precision: sums of many pixels leave float32 behind
            pixels = plain._resized(image).reshape(-1, image.shape[2]).astype(np.float64)
            total, squares, count = total + pixels.sum(0), squares + np.square(pixels).sum(0), count + len(pixels)
            most = max(most, float(pixels.max()))
        mean = np.asarray(total / count)
        std = np.sqrt(np.maximum(squares / count - mean**2, 0))
        means, stds = (values.astype(np.float32).tolist() for values in (mean, np.where(std > 1e-6, std, 1)))
        return cls(tuple(means), tuple(stds), size, most)

    @property
    def channels(self) -> int:
        return len(self.mean)

    def encode(self, images: Sequence[Grid]) -> NDArray[np.float32]:
        """(images, height, width, channels). DataError if they differ in size, or from the training images in channels."""
        for i, image in enumerate(images):
            if image.shape[2] != self.channels:
                raise DataError(
                    f"Image {i} has {image.shape[2]} channels; this model was trained on {self.channels}. (One image goes in a "
                    "list: [image].)"
                )
            largest = _shares(image.max())
            if largest > 10 * max(self.most, 1.0) or (_has_shares(image) and self.most > 1):
                raise DataError(
                    f"Image {i} holds {image.dtype} values, as numbers up to {largest:g}, the training images numbers up to "
                    f"{self.most:g}: give both in one type and scale."
                )
        ready = [self._standardised(self._resized(image)) for image in images]
        sizes = {image.shape[:2] for image in ready}
        if len(sizes) > 1:
            examples = ", ".join(f"{h}x{w}" for h, w in sorted(sizes)[:3])
            raise DataError(
                f"The images have {len(sizes)} different sizes ({examples}), and must be of one here: "
                "EnergySegmenter(size=(height, width)) resizes them."
            )
        return np.stack(ready)

    def channels_of(self, image: Grid) -> NDArray[np.float32]:
        """(height, width, channels) in the image's own size."""
        return self._standardised(_shares(image))

    def _standardised(self, image: NDArray[np.float32]) -> NDArray[np.float32]:
        mean, std = (np.array(values, dtype=np.float32) for values in (self.mean, self.std))
        return np.asarray((image - mean) / std, dtype=np.float32)

    def _resized(self, image: Grid) -> NDArray[np.float32]:
        height, width = image.shape[:2]
        if self.size is None and height * width > MOST_PIXELS:  # before memory is taken for its numbers
            raise DataError(
                f"An image has {height}x{width} pixels, more than {MOST_PIXELS}: pass size=(height, width), to which "
                "images are resized for the network; masks come back in the images' own size."
            )
        return _shares(image) if self.size is None else resize(_shares(image), self.size)


@dataclass(frozen=True)
class MaskFormat:
    """``classes``: the values of the user's masks, in order; ``ignore``: the value of pixels whose class is not known.

    ``binarise``: values from it on are 1, those below 0 (grey edges, JPEG masks).
    """

    classes: tuple[int, ...]
    ignore: int | None = None
    binarise: int | None = None

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len({*self.classes} - {self.ignore}) < len(self.classes):
            raise ValueError(f"the classes {self.classes} are not two or more different values")

    @classmethod
    def fit(cls, masks: Sequence[Grid], classes: Sequence[int] | None, ignore: int | None, binarise: int | None) -> MaskFormat:
        """From training and validation masks. DataError for one class only, or greys nobody has explained; ConfigError for values
        that no mask holds."""
        named = {} if classes is None else {f"value {i} of classes": value for i, value in enumerate(classes)}
        for name, value in (named | {"ignore": ignore, "binarise": binarise}).items():
            if value is not None:
                check_whole(LEAST, **{name: value})
        if binarise is not None:
            if classes is not None:
                raise ConfigError("binarise= makes the two classes 0 and 1; leave classes= out.")
            return cls((0, 1), ignore, binarise)
        values = sorted({int(v) for mask in masks for v in np.unique(mask)} - {ignore})
        if classes is not None:
            if len(set(classes)) < 2 or len(set(classes)) < len(classes) or ignore in classes:
                raise ConfigError(
                    f"classes= must be at least two different values, without the ignored one, not {list(classes)}."
                )
            return cls(tuple(int(c) for c in classes), ignore)
        if len(values) > 2 and (len(values) > MOST_CLASSES or values[-1] >= MOST_CLASSES):
            examples = ", ".join(map(str, values[:6])) + (", ..." if len(values) > 6 else "")
            raise DataError(
                f"The masks hold {len(values)} values ({examples}). If these are grey edges, pass binarise=128; if each is a "
                f"class, pass classes=[...]; if {values[-1]} marks unknown pixels, pass ignore={values[-1]}."
            )
        if len(values) < 2:
            raise DataError(f"Every mask is {values[0] if values else 'unknown'} everywhere: there is nothing to learn.")
        return cls(tuple(values), ignore)

    def as_classes(self, greys: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of marks in the greys of training masks, NaN elsewhere: the classes that training took them for."""
        return np.where(np.isnan(greys), np.nan, self._cut(greys, ~np.isnan(greys)))

    def _cut(self, mask: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
        """Greys as classes. What holds 0 and 1 alone does so already: nobody means black and nearly black."""
        if self.binarise is None or (self.binarise > 1 and bool(np.isin(mask[known], (0, 1)).all())):
            return mask
        return (mask >= self.binarise).astype(np.int64)

    def told(self, known: Any, images: Sequence[Grid]) -> list[NDArray[np.int64]]:
        """Class numbers of the pixels that are told of each image, -1 elsewhere; ``known``: for each a mask with NaN where
        nothing is told, or None. DataError for other sizes, and for values that are no classes."""
        check_series("known", known, sized=False)
        if len(known) != len(images):
            raise DataError(f"There are {len(images)} images and {len(known)} in known: one for each, NaN where nothing is told.")
        out = []
        for i, (grid, image) in enumerate(zip(known, images, strict=True)):
            if grid is None:  # nothing is told of the image
                out.append(np.full(image.shape[:2], -1, dtype=np.int64))
                continue
            try:
                values = np.ma.filled(np.ma.asarray(grid, dtype=np.float64), np.nan)
            except (TypeError, ValueError):
                raise DataError(
                    f"known {i} must be a mask of numbers, NaN where nothing is told (or None), not {shown(grid)}."
                ) from None
            if values.shape != image.shape[:2]:
                raise DataError(
                    f"known {i} is {values.shape}, its image {image.shape[:2]}: both must have the same rows and columns."
                )
            numbers = np.full(values.shape, -1, dtype=np.int64)
            for k, value in enumerate(self.classes):
                numbers[values == value] = k
            if (odd := ~np.isnan(values) & (numbers < 0)).any():
                row, column = np.argwhere(odd)[0]
                raise DataError(
                    f"known {i} has {values[row, column]:g} at row {row}, column {column}, which is no class "
                    f"({', '.join(map(str, self.classes[:8]))}): give NaN where nothing is told."
                )
            out.append(numbers)
        return out

    def check_training(self, masks: Sequence[Grid]) -> None:
        """DataError unless two classes occur in these masks; a word about every class of several that does not."""
        counts = np.zeros(len(self.classes), dtype=np.int64)
        for i, mask in enumerate(masks):
            numbers = self._numbers(mask, i)
            counts += np.bincount(numbers[numbers >= 0], minlength=len(self.classes))
        missing = [self.classes[k] for k in np.flatnonzero(counts == 0)]
        if len(self.classes) - len(missing) < 2:
            least, most = (int(end([end(mask) for mask in masks])) for end in (np.min, np.max))
            above = f"The smallest value there is {least}: choose binarise= above it."
            hint = above if missing[0] == 0 else f"The largest value there is {most}: choose binarise= below it."
            hint = "" if self.binarise is None else f" {hint}"
            raise DataError(f"No training mask has a pixel of {', '.join(map(str, missing))}: there is nothing to learn.{hint}")
        if missing:
            log.warning("no training mask has a pixel of the classes %s", missing)

    def encode(self, masks: Sequence[Grid], size: tuple[int, int] | None = None, first: int = 0) -> NDArray[np.int64]:
        """(masks, height, width) class numbers, -1 where unknown; resized to ``size`` by the nearest pixel. DataError, in which
        masks count from ``first``."""
        numbers = [self._numbers(mask, i) for i, mask in enumerate(masks, first)]
        if size is not None:
            numbers = [_nearest(grid, size) for grid in numbers]
        return np.stack(numbers)

    def _numbers(self, mask: Grid, i: int) -> NDArray[np.int64]:
        unknown = np.zeros(mask.shape, dtype=bool) if self.ignore is None else mask == self.ignore
        values = self._cut(mask, ~unknown)
        order = np.argsort(self.classes)
        place = np.searchsorted(np.array(self.classes)[order], values).clip(max=len(self.classes) - 1)
        number = order[place]
        new = (np.array(self.classes)[number] != values) & ~unknown
        if new.any():
            raise DataError(f"Mask {i} holds the value {int(values[new][0])}, which is none of the classes {list(self.classes)}.")
        return np.where(unknown, -1, number)

    def decode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Class numbers as values of masks."""
        return np.array(self.classes)[numbers]

    def numbers(self, predicted: NDArray[Any]) -> NDArray[np.int64]:
        """The inverse of :meth:`decode`."""
        return np.asarray(sum(k * (predicted == value) for k, value in enumerate(self.classes)))


def as_images(images: Any) -> list[Grid]:
    """Each (height, width, channels). DataError for anything else, empty images and values that are not finite."""
    if isinstance(images, np.ndarray) and images.ndim == 3 and images.shape[2] in (1, 3, 4) and min(images.shape[:2]) > 4:
        raise DataError(
            f"The images are one array {images.shape}: one image goes in a list, [image]; grey images that are really "
            f"{images.shape[2]} pixels wide have an axis more, of one channel."
        )
    check_series("images", images, sized=False)
    out = []
    for i, image in enumerate(images):
        grid = np.asarray(image)
        if grid.ndim == 2:
            grid = grid[:, :, None]
        if grid.ndim != 3 or 0 in grid.shape or grid.dtype.kind not in "biuf":
            raise DataError(
                f"Image {i} must be (height, width) or (height, width, channels) numbers; it is {grid.shape} {grid.dtype}."
            )
        if grid.shape[0] <= 4 < grid.shape[2]:
            raise DataError(
                f"Image {i} is {grid.shape}: its channels seem to come first. Move them last, as image.transpose(1, 2, 0)."
            )
        if grid.dtype.kind == "f" and not np.isfinite(grid).all():
            raise DataError(f"Image {i} holds values that are not finite.")
        out.append(grid)
    if not out:
        raise DataError("There are no images.")
    return out


def as_masks(masks: Any, images: Sequence[Grid]) -> list[Grid]:
    """Each (height, width) of whole numbers, in the size of its image. DataError."""
    check_series("masks", masks, sized=False)
    out = [np.asarray(mask) for mask in masks]
    if len(out) != len(images):
        raise DataError(f"There are {len(images)} images and {len(out)} masks.")
    for i, (mask, image) in enumerate(zip(out, images, strict=True)):
        if mask.shape != image.shape[:2]:
            raise DataError(f"Mask {i} is {mask.shape}, its image {image.shape[:2]}: both must have the same rows and columns.")
        if mask.dtype.kind == "f" and np.isfinite(mask).all() and (mask == np.round(mask)).all():
            out[i] = mask.astype(np.int64)
        elif mask.dtype.kind not in "biu":
            raise DataError(f"Mask {i} must hold whole numbers, one for each class; it holds {mask.dtype} values.")
    return [mask.astype(np.int64) for mask in out]


def resize(grid: NDArray[Any], size: tuple[int, ...]) -> NDArray[np.float32]:
    """(height, width, channels) to ``size``, bilinear, averaged where it shrinks."""
    if grid.shape[:2] == tuple(size):
        return grid.astype(np.float32)
    first = torch.from_numpy(np.ascontiguousarray(grid.astype(np.float32))).permute(2, 0, 1).unsqueeze(0)
    small = F.interpolate(first, size=tuple(size), mode="bilinear", align_corners=False, antialias=True)
    return np.ascontiguousarray(small.squeeze(0).permute(1, 2, 0).numpy())


def _nearest(grid: NDArray[np.int64], size: tuple[int, int]) -> NDArray[np.int64]:
    rows = ((np.arange(size[0]) + 0.5) * grid.shape[0] / size[0]).astype(int)
    columns = ((np.arange(size[1]) + 0.5) * grid.shape[1] / size[1]).astype(int)
    return grid[rows][:, columns]


def _has_shares(image: Grid) -> bool:
    """Whether its numbers are shares of their type's largest value: of wider types nobody fills the range."""
    return image.dtype.kind in "iu" and image.dtype.itemsize <= 2


def _shares(image: Grid) -> NDArray[np.float32]:
    if _has_shares(image):
        return np.divide(image, np.iinfo(image.dtype).max, dtype=np.float32)
    return image.astype(np.float32)


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
    labelled = Pictures(grids, as_masks(masks, grids), weight)
    return labelled if (weight > 0).all() else labelled.take(np.flatnonzero(weight > 0).tolist())


def image_rows(
    labelled: Pictures,
    images: ImageFormat,
    masks: MaskFormat,
    crop: int | None,
    shares: Any,
    unit: float | None = None,
    augment: bool = False,
) -> Rows:
    """Whole images, or their crops at these shares of the room; ``None``: every crop there is.

    ``augment``: shown in another view every time. Weights count relative to ``unit``; without one, to their mean.
    """
    pixels = images.encode(labelled.images)
    numbers = masks.encode(labelled.masks, pixels.shape[1:3])
    known = numbers >= 0
    X = Images.whole(pixels, known=None if known.all() else known, varied=augment)
    Y = Masks.whole(numbers, n_classes=len(masks.classes))
    weight = proportional(labelled.weight, unit)
    if crop is not None:
        size, offsets = crops(X.size, crop, shares)
        X, Y = X.cropped(size, offsets), Y.cropped(size, offsets)
    return Rows(X, Y, None if weight is None else weight[X.places[:, 0]])


def crops(whole: tuple[int, ...], crop: int, shares: tuple[float, ...] | None) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """(size, offsets) of crops in an image; ``shares`` of the room, or None for all, at most ``PLACES`` a side.

    DataError if crops do not cover the image.
    """
    room = [length - crop for length in whole]
    if min(room) < 0:
        raise DataError(f"An image of {whole[0]}x{whole[1]} is smaller than the crops of {crop}x{crop} the model looks at.")
    if max(whole) > 5 * crop:
        raise DataError(f"An image of {whole[0]}x{whole[1]} is more than five times a crop of {crop}: make crop= larger.")
    steps = [_steps(length, shares) for length in room]
    return (crop, crop), [(top, left) for top in steps[0] for left in steps[1]]


def _steps(room: int, shares: tuple[float, ...] | None) -> list[int]:
    """Offsets at these shares of the room; None: all of them, at most ``PLACES``."""
    if shares is None and room < PLACES:
        return list(range(room + 1))
    every = [share / (PLACES - 1) for share in range(PLACES)]
    return sorted({round(share * room) for share in shares or every})
