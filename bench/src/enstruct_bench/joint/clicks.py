"""Interactive segmentation: clicks until an image's mask has 90% IoU.

    enstruct-bench joint weizmann32 --seeds 3 --json results/clicks-weizmann32.json

A click is simulated in the middle of the largest error, the pixel of it that is farthest from its edge, and tells the true class
of what lies within 1/64 of the image's side there. All sides see the same kind of clicks, MOST at most, which also count for
images that do not get there ("NoC@90" of the literature). Sides:

    field          a cross-entropy U-Net, and what told pixels say of others (``EnergySegmenter.predict(known=)``)
    field-pl       the same network and field, whose numbers are learnt by pseudo-likelihood
    field-gibbs    the same network and field, answered by blocked Gibbs sampling (:mod:`enstruct_bench.joint.field_variants`)
    painted        the same network, clicks changing nothing but themselves
    grabcut        OpenCV's GrabCut (Rother et al. 2004), which knows the clicks alone, in the better of two ways to say that of
                   validation images: what is not clicked is probably background, or probably object; of images of fewer than
                   ENOUGH pixels a side it sees enlargements, as its mixtures of colours need pixels
    grabcut+box    the same, told the object's bounding box first, which counts as two clicks
    grabcut+net    the same, begun at the network's mask
    walker         scikit-image's random walker (Grady 2006), beta chosen among three on validation images
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from enstruct.data.image_folders import Pictures, load_pictures
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.estimators import EnergySegmenter
from enstruct.files import write_json
from enstruct.joint.pixels import fit_field
from enstruct.metrics import Counts
from enstruct.validation import one_of
from enstruct_bench.comparison.bootstrap import paired_difference
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.field_variants import gibbs_marginals, pseudo_likelihood
from enstruct_bench.joint.kept_rows import kept_rows, say_figures

MOST, WANTED = 20, 0.9
Array = NDArray[Any]
Answer = Callable[[int, Array], Array]
"""(number of the image, told (height, width) of 0, 1 and -1) -> its mask of 0 and 1."""
BETAS = (50.0, 130.0, 500.0)
PROBABLY, FEW, ENOUGH = (2, 3), 5, 128
"""OpenCV's marks of what is probably background, and object; pixels of either side that its mixtures need; pixels a side."""


def iou(mask: Array, truth: Array) -> float:
    union = (mask | truth).sum()
    return float((mask & truth).sum() / union) if union else 1.0


def clicked(told: Array, mask: Array, truth: Array) -> Array:
    """``told`` with one more click, in the middle of the largest error."""
    best, at = 0, (0, 0)
    for wrong in (truth & ~mask, mask & ~truth):
        parts, n = ndimage.label(wrong)
        if not n:
            continue
        sizes = np.bincount(parts.ravel())[1:]
        if sizes.max() > best:
            inside = np.pad(parts == sizes.argmax() + 1, 1)
            depth = ndimage.distance_transform_edt(inside)[1:-1, 1:-1]
            best, at = int(sizes.max()), tuple(np.unravel_index(depth.argmax(), depth.shape))
    radius = max(truth.shape) // 64
    rows, columns = np.ogrid[: truth.shape[0], : truth.shape[1]]
    disk = ((rows - at[0]) ** 2 + (columns - at[1]) ** 2 <= radius**2) & (truth == truth[at])
    return np.where(disk, truth[at].astype(np.int64), told)


def clicks(answer: Answer, i: int, truth: Array) -> tuple[int, list[float]]:
    """How many an image takes, and the IoU before each and at the end."""
    told, path = np.full(truth.shape, -1), []
    for n in range(MOST + 1):
        mask = answer(i, told).astype(bool)
        path.append(iou(mask, truth))
        if path[-1] >= WANTED or n == MOST:
            return n, path
        told = clicked(told, mask, truth)
    raise AssertionError


def of_field(model: EnergySegmenter, data: Pictures) -> Answer:
    def answer(i: int, told: Array) -> Array:
        known = np.where(told < 0, np.nan, told)[None]
        return np.asarray(model.predict([data.images[i]], known=known, decision="greedy")[0])

    return answer


def by_pseudo_likelihood(model: EnergySegmenter, valid: Pictures, seed: int) -> EnergySegmenter:
    """The same network with another field."""
    out = copy.copy(model)
    p = list(model.predict_proba(valid.images))
    truth = [out.masks_.encode([mask], first=i)[0] for i, mask in enumerate(valid.truth())]
    out.field_ = fit_field(p, [model.images_.channels_of(image) for image in valid.images], truth, seed, pseudo_likelihood)
    return out


def by_gibbs(model: EnergySegmenter, data: Pictures) -> Answer:
    p = list(model.predict_proba(data.images))
    x = [model.images_.channels_of(image) for image in data.images]

    def answer(i: int, told: Array) -> Array:
        m = gibbs_marginals(model.field_, p[i], x[i], told) if (told >= 0).any() else p[i]
        return np.asarray(m.argmax(2), dtype=np.int64)

    return answer


def painted(masks: list[Array]) -> Answer:
    return lambda i, told: np.where(told < 0, masks[i], told)


def grabcut(images: list[Array], begun: list[Array]) -> Answer:
    """``begun``: for each image OpenCV's marks of what is not clicked."""
    import cv2

    def answer(i: int, told: Array) -> Array:
        times = max(1, -(-ENOUGH // max(told.shape)))
        marks = np.where(told == 1, cv2.GC_FGD, np.where(told == 0, cv2.GC_BGD, begun[i])).astype(np.uint8)
        mask = marks.repeat(times, 0).repeat(times, 1)
        inside = np.isin(mask, (cv2.GC_FGD, cv2.GC_PR_FGD))
        if min(inside.sum(), (~inside).sum()) < FEW:
            return np.isin(marks, (cv2.GC_FGD, cv2.GC_PR_FGD)).astype(np.int64)
        cv2.setRNGSeed(0)
        image = cv2.resize(np.ascontiguousarray(images[i][..., :3]), mask.shape[::-1], interpolation=cv2.INTER_CUBIC)
        cv2.grabCut(image, mask, (0, 0, 1, 1), np.zeros((1, 65)), np.zeros((1, 65)), 5, cv2.GC_INIT_WITH_MASK)
        found = np.isin(mask, (cv2.GC_FGD, cv2.GC_PR_FGD)).reshape(told.shape[0], times, told.shape[1], times)
        return np.where(told < 0, found.mean((1, 3)) >= 0.5, told).astype(np.int64)

    return answer


def boxes(truth: list[Array]) -> list[Array]:
    """Background for certain outside of the objects' bounding box, probably object inside."""
    out = []
    for mask in truth:
        marks = np.zeros(mask.shape, dtype=np.int64)
        if mask.any():
            rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
            marks[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = PROBABLY[1]
        out.append(marks)
    return out


def walker(images: list[Array], beta: float) -> Answer:
    from skimage.segmentation import random_walker

    def answer(i: int, told: Array) -> Array:
        if not ((told == 0).any() and (told == 1).any()):
            return np.full(told.shape, int((told == 1).any()))
        image = images[i][..., :3].astype(np.float64) / 255
        return np.asarray(
            random_walker(image, told + 1, beta=beta, channel_axis=-1, mode="cg_j", prob_tol=1) == 2, dtype=np.int64
        )

    return answer


def chosen(sides: list[Answer], data: list[Array], most: int = 12) -> int:
    """The number of the side that takes the fewest clicks on a few validation images."""
    few = range(0, len(data), max(1, len(data) // most))
    return int(np.argmin([np.mean([clicks(side, i, data[i])[0] for i in few]) for side in sides]))


def measured(name: str, seed: int, size: int | None, epochs: int, wanted: Sequence[str]) -> list[dict[str, Any]]:
    train, valid, test = (load_pictures(name, part) for part in ("train", "validation", "test"))
    settings: dict[str, Any] = {"binarise": 128, "size": None if size is None else (size, size), "max_epochs": epochs}
    begin = time.perf_counter()
    model = EnergySegmenter("cross-entropy", random_state=seed, **settings)
    model.fit(train.images, train.truth(), X_val=valid.images, y_val=valid.truth())
    fitted = time.perf_counter() - begin
    masks = [np.asarray(mask) for mask in model.predict(test.images)]
    inside, outside = ([_rgb(image) for image in part.images] for part in (valid, test))
    truth, truth_inside = ([mask >= 128 for mask in part.truth()] for part in (test, valid))

    def cut() -> Answer:
        ways = [grabcut(inside, [np.full(mask.shape, mark) for mask in truth_inside]) for mark in PROBABLY]
        mark = PROBABLY[chosen(ways, truth_inside)]
        return grabcut(outside, [np.full(mask.shape, mark) for mask in truth])

    def walked() -> Answer:
        return walker(outside, BETAS[chosen([walker(inside, each) for each in BETAS], truth_inside)])

    makers: dict[str, Callable[[], Answer]] = {
        "field": lambda: of_field(model, test),
        "field-pl": lambda: of_field(by_pseudo_likelihood(model, valid, seed), test),
        "field-gibbs": lambda: by_gibbs(model, test),
        "painted": lambda: painted(masks),
        "grabcut": cut,
        "grabcut+box": lambda: grabcut(outside, boxes(truth)),
        "grabcut+net": lambda: grabcut(outside, [np.where(mask > 0, *PROBABLY[::-1]) for mask in masks]),
        "walker": walked,
    }
    sides = {side: makers[side]() for side in wanted}
    out: list[dict[str, Any]] = []
    counts: dict[str, list[int]] = {}
    for side, answer in sides.items():
        begin = time.perf_counter()
        runs = [clicks(answer, i, truth[i]) for i in range(len(truth))]
        seconds, asked = time.perf_counter() - begin, sum(len(path) for _, path in runs)
        counts[side] = [min(n + 2, MOST) if side == "grabcut+box" else n for n, _ in runs]
        out.append(
            {
                "side": side,
                "seed": seed,
                "clicks": float(np.mean(counts[side])),
                "reached": float(np.mean([path[-1] >= WANTED for _, path in runs])),
                "iou_before": float(np.mean([path[0] for _, path in runs])),
                "iou_after_5": float(np.mean([path[min(5, len(path) - 1)] for _, path in runs])),
                "seconds_an_answer": seconds / asked,
                "fit_seconds": fitted,
                "counts": counts[side],
                "more_than_field": list(paired_difference([Counts.of(counts["field"])], [Counts.of(counts[side])])),
            }
        )
        say_figures(out[-1])
    return out


def _rgb(image: Array) -> Array:
    return np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else np.asarray(image)


SIDES = ("field", "painted", "grabcut", "grabcut+box", "grabcut+net", "walker")
OTHERS = ("field-pl", "field-gibbs")
"""Sides that are measured where they are named."""


def clicks_on_masks(data: str, seeds: int, size: int | None, epochs: int, out: Path | None, sides: Sequence[str] = SIDES) -> None:
    """Figures of every side, to a file of their own. EnstructError."""
    for side in sides:
        one_of("side", (*SIDES, *OTHERS))("sides", side)
    if "field" not in sides:
        raise ConfigError("The other sides are held against field: name it too (--sides field,...).")
    named = None if tuple(sides) == SIDES else list(sides)
    rows = kept_rows(out, data=Path(data).name, size=size, epochs=epochs, sides=named)
    for seed in range(seeds):
        if any(row["seed"] == seed for row in rows):
            continue
        rows += measured(data, seed, size, epochs, sides)
        settings = {"size": size, "epochs": epochs, "wanted": WANTED, "most": MOST, "sides": named}
        content = {"data": Path(data).name, **settings, "rows": rows, "commit": present_commit()}
        if out is not None:
            write_json(out, {**content, "environment": environment()})
