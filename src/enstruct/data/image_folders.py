"""Images and masks as people keep them: two folders of files that go by the same names.

    FOLDER/images/NAME.jpg    FOLDER/masks/NAME.png    (or NAME_mask.png)

and, if the parts are given, FOLDER/train/images ..., FOLDER/val (or validation), FOLDER/test. What becomes of a file:

- images are turned as their camera says, and made RGB: grey ones three times the same, a palette by its colours, transparent ones
  laid over white; 16 bit become 8.
- masks are the numbers in the file: of a palette the indices, of greys (and of colours that are all grey) the grey values.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from enstruct.data.catalogue import PICTURES, data_root, not_passed_on
from enstruct.data.opening import is_folder
from enstruct.data.splits import places_60_20_20
from enstruct.errors import DataError, DatasetNotFoundError, EnstructError, ParseError, shortened

log = logging.getLogger("enstruct")

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")
"""Of Pillow's readers these alone, whatever a file's ending is: others begin programs, as that of PostScript does."""
MOST_PIXELS = 2**26
"""Of one file: beyond it images are refused by what their header says, before they are decoded."""
VALIDATION = ("validation", "val", "valid")


UNMARKED = 127
"""The grey of scribbles that marks nothing."""


@dataclass(frozen=True)
class Pictures:
    """``images`` (height, width, 3) uint8; ``masks`` (height, width) of whole numbers, or None where there are none.

    ``files``: what they were read from, of images and masks, whichever are taken of them. ``known``: for each (height, width)
    what a model is told, NaN where nothing.
    """

    names: list[str]
    images: list[NDArray[np.uint8]]
    masks: list[NDArray[np.int64]] | None
    name: str = ""
    files: tuple[Path, ...] = ()
    known: list[NDArray[np.float64]] | None = None

    def __len__(self) -> int:
        return len(self.images)

    def take(self, index: Sequence[int] | NDArray[Any]) -> Pictures:
        masks = None if self.masks is None else [self.masks[i] for i in index]
        return replace(self, names=[self.names[i] for i in index], images=[self.images[i] for i in index], masks=masks)

    def truth(self) -> list[NDArray[np.int64]]:
        """The masks; DataError if there are none."""
        if self.masks is None:
            raise DataError(f"{self.name or 'these images'} has no masks: they belong in a folder masks beside images.")
        return self.masks


@dataclass(frozen=True)
class PictureParts:
    train: Pictures
    validation: Pictures
    test: Pictures


def load_picture_parts(source: str, seed: int = 0) -> PictureParts:
    """The folders train, val and test of a set; of one without them 60/20/20 drawn by ``seed``. DataError."""
    if has_parts(source):
        return PictureParts(*(load_pictures(source, part) for part in ("train", "validation", "test")))
    data = read_pictures(_folder(source))
    return PictureParts(*(data.take(sorted(places)) for places in places_60_20_20(len(data), seed, source, "images")))


def load_pictures(source: str, part: str) -> Pictures:
    """A part of a set that has parts; of another the whole, whatever the part."""
    folder = _folder(source)
    if (folder / "images").is_dir():
        return read_pictures(folder)
    names = VALIDATION if part in VALIDATION else (part,)
    folders = [folder / name for name in names if (folder / name / "images").is_dir()]
    if not folders:
        raise DatasetNotFoundError(f"{folder} has neither a folder images nor a part {part} with one ({part}/images).")
    return replace(read_pictures(folders[0]), name=source)


def has_parts(source: str) -> bool:
    """Whether a set is in folders train, val and test, and not one of images with masks."""
    return not (_folder(source) / "images").is_dir()


def _folder(source: str) -> Path:
    root = data_root()
    if source in PICTURES and root is not None and (root / PICTURES[source]).is_dir():
        return root / PICTURES[source]
    if is_folder(source):
        return Path(source)
    if source in PICTURES:
        raise not_passed_on(source, PICTURES[source])
    raise DatasetNotFoundError(f"There is no folder {source}, and no set of masks of that name: {', '.join(PICTURES)}.")


def read_pictures(folder: Path | str, labelled: bool = True) -> Pictures:
    """FOLDER/images with FOLDER/masks; without ``labelled``, or without that folder, images alone, in FOLDER or FOLDER/images.

    ParseError for a file that is no image or has another size than its partner, DataError for files without a partner.
    """
    folder = Path(folder)
    if not is_folder(folder):
        raise DatasetNotFoundError(f"There is no folder {folder}.")
    place = folder / "images" if (folder / "images").is_dir() else folder
    images = _files(place)
    if not images:
        raise DataError(f"{folder} has no images ({', '.join(SUFFIXES)}); those in folders below it are not looked for.")
    below = [
        sub.name for sub in sorted(place.iterdir()) if sub.is_dir() and sub.name != "masks" and any(map(_is_image, sub.iterdir()))
    ]
    if below:
        log.warning("%s: images in folders below it are not read (%s)", place, ", ".join(below))
    beside = folder / "masks"
    theirs = folder.resolve().parent / "masks" if folder.resolve().name == "images" else beside  # of whom FOLDER is one half
    files = (*images.values(), *(path for half in {beside, theirs} if half.is_dir() for path in half.iterdir()))
    masks = _paired(_files(beside), images, folder) if labelled and beside.is_dir() else None
    names = sorted(images)
    grids = [read_image(images[name]) for name in names]
    if masks is None:
        return Pictures(names, grids, None, folder.name, files)
    numbers = [read_mask(masks[name]) for name in names]
    for name, grid, mask in zip(names, grids, numbers, strict=True):
        if grid.shape[:2] != mask.shape:
            sizes = f"is {mask.shape[0]}x{mask.shape[1]}, but its image {images[name].name} is {grid.shape[0]}x{grid.shape[1]}."
            raise ParseError(sizes, masks[name])
    return Pictures(names, grids, numbers, folder.name, files)


def read_image(path: Path) -> NDArray[np.uint8]:
    """(height, width, 3)."""
    with _opened(path) as (image, kind):
        if image.mode == "F" or (image.mode == "I" and kind != "PNG"):  # which has 16 bits at most
            raise ParseError("is an image of fractions, or of numbers of 32 bits. Save it with 8 or 16 bits a channel.", path)
        if image.mode.startswith("I;16") or image.mode == "I":
            grid = np.asarray(image, dtype=np.float32) / 257
            if 0 < grid.max() < 16:
                raise ParseError(
                    f"has 16 bits a pixel of which {round(257 * grid.max())} of 65535 is the most: in 8 bits it would be black. "
                    "Scale it to the whole range, or save it with 8 bits.",
                    path,
                )
            image = Image.fromarray(grid.round().clip(0, 255).astype(np.uint8))
        if "A" in image.getbands() or "transparency" in image.info:
            transparent = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), transparent)
        return np.asarray(image.convert("RGB"))


def read_mask(path: Path) -> NDArray[np.int64]:
    """(height, width). ParseError for a mask in colours: which class each of them is, nobody has said."""
    with _opened(path) as (file, _):
        if "A" in file.getbands() and np.ptp(np.asarray(file.getchannel("A"))) > 0:
            raise ParseError("is a mask with transparent parts: what they stand for is not said. Save it without.", path)
        if file.mode == "F":
            raise ParseError("is a mask of numbers with fractions. Save it as whole numbers, one for each class.", path)
        if file.mode in ("RGB", "RGBA", "LA", "PA", "CMYK", "YCbCr"):
            grid = np.asarray(file.convert("RGB"))
            if (grid != grid[..., :1]).any():
                colours = len(np.unique(grid.astype(np.int32) @ np.array([2**16, 2**8, 1], dtype=np.int32)))
                raise ParseError(
                    f"is a mask in {colours} colours. Save it with a palette, or as greys that number the classes 0, 1, 2, ...",
                    path,
                )
            return grid[..., 0].astype(np.int64)
        return np.asarray(file, dtype=np.int64)


def read_scribbles(folder: Path | str, data: Pictures) -> list[NDArray[np.float64]]:
    """For each image the grey values of FOLDER's file of its name where something is marked, NaN elsewhere: where the file is
    transparent, or of the grey UNMARKED, and everywhere where there is no file. ParseError for files in colours or of another
    size, DataError for those of no image, and where there is none at all.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DatasetNotFoundError(f"There is no folder {folder} of marked pixels.")
    files = _files(folder)
    lonely = sorted(set(files) - set(data.names))
    if lonely or not files:
        what = f"{files[lonely[0]].name} goes with no image" if lonely else "there is no file"
        raise DataError(f"{folder}: {what}: marks of an image have its name, as {data.names[0]}.png.")
    out = [np.full(image.shape[:2], np.nan) for image in data.images]
    for name, grid in zip(data.names, out, strict=True):
        if name not in files:
            continue
        with _opened(files[name]) as (file, _):
            shades = np.asarray(file.convert("RGBA"), dtype=np.float64)
            one_band = len(file.getbands()) == 1  # of a palette the numbers count, not its colours
            indexed = np.asarray(file, dtype=np.float64) if one_band else shades[..., 0]
        if not one_band and (shades[..., :3] != shades[..., :1]).any():
            raise ParseError("marks pixels in colours: use the greys of the training masks.", files[name])
        if indexed.shape != grid.shape:
            sizes = "has {} rows and {} columns, but its image {} and {}: save it in its image's size."
            raise ParseError(sizes.format(*indexed.shape, *grid.shape), files[name])
        marked = (shades[..., 3] > 0) & (indexed != UNMARKED)
        grid[marked] = indexed[marked]
    return out


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Image.Image, str | None]]:
    """An image, turned as its camera says, and its format.

    Whatever goes wrong with it in the block is a ParseError: of damaged files Pillow raises errors of many kinds, and of some
    of them only when pixels are converted.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # what follows is stricter
            file = Image.open(path, formats=FORMATS)
        with file:
            if file.width * file.height > MOST_PIXELS:
                raise ParseError(f"is {file.height}x{file.width}, more than {MOST_PIXELS} pixels. Save it smaller.", path)
            yield ImageOps.exif_transpose(file), file.format
    except EnstructError:
        raise
    except Exception as error:
        why = shortened(str(error) or type(error).__name__, 120)
        raise ParseError(f"cannot be read as an image ({why}).", path) from error


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def _files(folder: Path) -> dict[str, Path]:
    """Name without suffix -> image file; DataError if two share it."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if _is_image(path):
            if path.stem in files:
                raise DataError(f"{folder} has both {files[path.stem].name} and {path.name}: one name stands for one image.")
            files[path.stem] = path
    return files


def _paired(masks: dict[str, Path], images: dict[str, Path], folder: Path) -> dict[str, Path]:
    """The masks by their images' names: NAME_mask goes with NAME too. DataError for two of one image, or what has no partner."""
    paired: dict[str, Path] = {}
    for name, path in masks.items():
        image = name if name in images else name.removesuffix("_mask")
        if image in paired:
            raise DataError(f"{folder} has two masks of the image {image}: {paired[image].name} and {path.name}.")
        paired[image] = path
    lonely = sorted(set(images) - set(paired)), sorted(set(paired) - set(images))
    for names, what, other in zip(lonely, ("images", "masks"), ("mask", "image"), strict=True):
        if names:
            first = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise DataError(f"{folder}: {len(names)} {what} have no {other} of their name: {first}.")
    return paired


def near_duplicate_pictures(parts: PictureParts, similarity: float = 0.99) -> list[dict[str, Any]]:
    """Pairs of images in different parts, or in the same, whose small grey versions correlate at least so much; best first.

    Each: first, second (names), their parts, similarity. A mirrored copy counts as well.
    """
    names = [(name, part) for part, data in vars(parts).items() for name in data.names]
    images = [image for data in vars(parts).values() for image in data.images]
    small = np.stack([_thumbnail(image) for image in images])
    mirrored = np.stack([_thumbnail(image[:, ::-1]) for image in images])
    alike = np.maximum(small @ small.T, small @ mirrored.T)
    first, second = np.nonzero(np.triu(alike >= similarity, 1))
    order = np.argsort(-alike[first, second], kind="stable")
    heads = ("first", "in", "second", "also in", "similarity")
    pairs = zip(first[order], second[order], strict=True)
    return [dict(zip(heads, (*names[i], *names[j], round(float(alike[i, j]), 4)), strict=True)) for i, j in pairs]


def _thumbnail(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Grey, small, with mean 0 and length 1, so that products are correlations."""
    small = Image.fromarray(np.ascontiguousarray(image)).convert("L").resize((16, 16), Image.Resampling.BOX)
    values = np.asarray(small, dtype=np.float64).ravel()
    values -= values.mean()
    return values / max(float(np.linalg.norm(values)), 1e-12)
