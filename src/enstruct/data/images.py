"""Images and their masks as rows to train on: patches, so that a whole image and a crop of it are the same kind of row.

    Patches    grids (images, height, width, ...); size (height, width);
               places (rows, 4): number of the image, top, left, and 1 where left and right are exchanged
    Images     patches of pixels (images, height, width, channels), with ``known`` (images, height, width): False where ignored;
               ``varied``: shown in another view every time (:mod:`enstruct.training.augmentation`)
    Masks      patches of class numbers (images, height, width), -1 where the class is not known

Whole images are one patch each. Under the crop protocol of DVN (Gygli et al. 2017) every crop of an image is a row: an epoch
takes each image once, at a random place, and answers for an image are the average of those for its crops, or for it and its
mirror image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Patches:
    grids: NDArray[Any]
    places: NDArray[np.int64]
    size: tuple[int, int]

    @classmethod
    def whole(cls, grids: NDArray[Any], **more: Any) -> Self:
        """Every image as it is."""
        n, height, width = grids.shape[:3]
        places = np.zeros((n, 4), dtype=np.int64)
        places[:, 0] = np.arange(n)
        return cls(grids, places, (height, width), **more)

    def cropped(self, size: tuple[int, int], offsets: Sequence[tuple[int, int]]) -> Self:
        """All crops of ``size`` at these offsets (top, left) of every image."""
        images, corners = np.unique(self.places[:, 0]), np.array(offsets, dtype=np.int64)
        number, as_it_is = np.repeat(images, len(corners))[:, None], np.zeros((len(images) * len(corners), 1), dtype=np.int64)
        return replace(self, places=np.hstack([number, np.tile(corners, (len(images), 1)), as_it_is]), size=size)

    def mirrored(self) -> Self:
        """These rows, and each of them with left and right exchanged."""
        return replace(self, places=np.concatenate([self.places, self.places ^ np.array([0, 0, 0, 1])]))

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, height, width)."""
        return len(self.places), *self.size

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Self:
        """Some rows, by slice or array of numbers."""
        return replace(self, places=self.places[index])

    @property
    def images(self) -> NDArray[np.int64]:
        """Numbers of the images that rows are patches of, each once."""
        return np.unique(self.places[:, 0])

    def patches(self, grids: NDArray[Any] | None = None) -> NDArray[Any]:
        """(rows, height, width, ...), of these grids or of others in their place."""
        grids = self.grids if grids is None else grids
        height, width = self.size
        image, top, left, mirrored = (column[:, None, None] for column in self.places.T)
        if not mirrored.any() and self.size == grids.shape[1:3]:
            return grids[self.places[:, 0]]
        columns = np.where(mirrored, np.arange(width)[::-1], np.arange(width))
        return grids[image, top + np.arange(height)[:, None], left + columns]

    def one_a_time(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of the rows in this order the first of every image, in the order in which they come."""
        _, first = np.unique(self.places[order, 0], return_index=True)
        return order[np.sort(first)]

    def averaged(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows (rows, height, width, ...) as those of the images: the mean over the patches that show a pixel.

        NaN where none does.
        """
        images = self.images
        values = np.where(self.places[:, 3].reshape(-1, *[1] * (values.ndim - 1)), values[:, :, ::-1], values)
        if len(images) == len(self) and self.size == self.grids.shape[1:3]:
            return values[np.argsort(self.places[:, 0])]
        total = np.zeros((len(images), *self.grids.shape[1:3], *values.shape[3:]), dtype=np.float64)
        seen = np.zeros(total.shape[:3])
        height, width = self.size
        numbers = np.searchsorted(images, self.places[:, 0])
        for value, image, (top, left) in zip(values, numbers, self.places[:, 1:3], strict=True):
            total[image, top : top + height, left : left + width] += value
            seen[image, top : top + height, left : left + width] += 1
        with np.errstate(invalid="ignore"):
            return (total / seen.reshape(*seen.shape, *[1] * (values.ndim - 3))).astype(values.dtype)


@dataclass(frozen=True)
class Images(Patches):
    known: NDArray[np.bool_] | None = None
    varied: bool = False


@dataclass(frozen=True)
class Masks(Patches):
    n_classes: int = 2

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, classes), as label sets have (rows, labels)."""
        return len(self.places), self.n_classes

    def classes(self) -> NDArray[Any]:
        """(images, height, width) class numbers of the whole images that rows are patches of."""
        return self.grids[self.images]
