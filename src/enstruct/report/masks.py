"""The report on a segmenter."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.estimators import EnergySegmenter
from enstruct.metrics import Counts, ratio
from enstruct.metrics.intervals import Counted, intervals
from enstruct.metrics.masks import class_iou, iou_counts
from enstruct.report.about import about_section
from enstruct.report.blocks import counted, paragraph, plain, share, table, whole
from enstruct.report.calibration import calibration_section
from enstruct.report.cost import cost_section
from enstruct.report.labels import put_together
from enstruct.report.landscape import TITLE, error_counts
from enstruct.report.markup import Markup, cut, element
from enstruct.report.page import Section
from enstruct.report.pictures import in_colours, in_grey, picture
from enstruct.report.reliability import BINS, Bins, binned
from enstruct.report.scores import scores_section
from enstruct.report.subject import Subject
from enstruct.report.ties import sampled

log = logging.getLogger("enstruct")

WORST, COMPARED = 8, 100
"""Images that are shown, and whose energies are compared."""


def masks_page(subject: Subject, images: Sequence[NDArray[Any]], truth: Sequence[NDArray[Any]], names: Sequence[str]) -> Markup:
    """``truth``: of each image class numbers (1, height, width), -1 where a pixel's class is not known; ``subject.predicted``
    likewise."""
    model, seed = subject.model, subject.seed
    log.info("probabilities")
    p = list(model.predict_proba(images))
    log.info("scores")
    sections = [
        about_section(_counts(subject, images, truth), [_classes(model, truth, subject.predicted)], model, subject.rule),
        scores_section(subject, "images", intervals({"log-loss (nats a pixel)": _loss(p, truth)}, seed), drawn="iou"),
        calibration_section(
            _bins(p, truth),
            "pixels",
            "The probability of each pixel's likeliest class, held against how often it is the true one.",
        ),
        _left_out(),
    ]
    log.info("energies")
    sections.append(_energies(model, images, truth, subject.predicted, subject.rule, seed))
    sections.append(_worst(model, images, truth, subject.predicted, p, names))
    log.info("cost")
    sections.append(cost_section(subject, lambda n: model.predict(images[:n]), len(images), "images"))
    return put_together(
        subject, "images", sections, f"{counted(len(images), 'image')}, {counted(len(model.classes_), 'class', 'classes')}"
    )


def _counts(subject: Subject, images: Sequence[NDArray[Any]], truth: Sequence[NDArray[Any]]) -> dict[str, Any]:
    sizes = sorted({image.shape[:2] for image in images})
    first, last = sizes[0], sizes[-1]
    unknown = sum(int((mask < 0).sum()) for mask in truth)
    return {
        "data": subject.source,
        "images": whole(len(images)),
        "size (height × width)": f"{first[0]} × {first[1]}" + (f" to {last[0]} × {last[1]}" if len(sizes) > 1 else ""),
        "pixels": whole(sum(mask.size for mask in truth)),
        "pixels unknown": whole(unknown) if unknown else None,
    }


def _classes(model: EnergySegmenter, truth: Sequence[NDArray[Any]], predicted: Sequence[NDArray[Any]]) -> Markup:
    n = len(model.classes_)
    flat = [np.concatenate([mask.ravel() for mask in masks])[None, None] for masks in (truth, predicted)]
    ious = class_iou(flat[0], flat[1], n)
    known = max(1, int((flat[0] >= 0).sum()))
    rows = []
    for k in range(n):
        iou = None if n == 2 and k == 0 else float(ious[k - (n == 2)])
        own, given = (int(((side == k) & (flat[0] >= 0)).sum()) / known for side in flat)
        rows.append([f"{model.classes_[k]}", share(own) + "%", share(given) + "%", share(iou)])
    return table(
        "Classes: of the known pixels, and the pooled IoU in percent.", ["class", "true", "predicted", "pooled IoU"], rows
    )


def _loss(p: Sequence[NDArray[Any]], truth: Sequence[NDArray[Any]]) -> Counted:
    """-log p of each known pixel's class, summed over an image, over its known pixels."""
    nats, n = [], []
    for each, mask in zip(p, truth, strict=True):
        own = np.take_along_axis(each, np.maximum(mask[0], 0)[..., None], axis=2)[..., 0]
        known = mask[0] >= 0
        nats.append(float(-np.log(np.clip(own[known], 1e-6, 1)).sum()))
        n.append(float(known.sum()))
    return Counted(Counts.of(nats, np.array(n)), empty=float("nan"))


def _bins(p: Sequence[NDArray[Any]], truth: Sequence[NDArray[Any]]) -> Bins:
    """Image by image, as their pixels are many."""
    counts, means, shares = np.zeros(BINS), np.zeros(BINS), np.zeros(BINS)
    for each, mask in zip(p, truth, strict=True):
        known = mask[0] >= 0
        one = binned(each.max(-1)[known].astype(np.float64), (each.argmax(-1) == mask[0])[known])
        counts += one.counts
        means += np.nan_to_num(one.means) * one.counts
        shares += np.nan_to_num(one.shares) * one.counts
    with np.errstate(invalid="ignore"):
        return Bins(counts.astype(np.int64), means / counts, shares / counts)


def _left_out() -> Section:
    said = (
        "Ties between classes and given pixels that may be wrong are not shown: energies over masks tie each pixel to its "
        "surroundings, which no graph of a few labels holds, and the images below, answered worst, are those whose masks to look "
        "at."
    )
    return Section("ties", "Ties and suspects", [paragraph(said)])


def _energies(
    model: EnergySegmenter,
    images: Sequence[NDArray[Any]],
    truth: Sequence[NDArray[Any]],
    predicted: Sequence[NDArray[Any]],
    rule: str,
    seed: int,
) -> Section:
    if model.energy_ is None:
        return Section("energy", TITLE, [paragraph("This model has no energy of its own, so that there is none to compare.")])
    usable = [i for i, mask in enumerate(truth) if (mask >= 0).all()]
    rows = [usable[k] for k in sampled(len(usable), COMPARED, seed)]
    if not rows:
        return Section(
            "energy", TITLE, [paragraph("No image has a mask without unknown pixels, so that there is nothing to compare.")]
        )
    few = [images[i] for i in rows]
    true, guess = (model.energy(few, [model.masks_.decode(side[i][0]) for i in rows]) for side in (truth, predicted))
    wrong = np.array([bool((truth[i] != predicted[i]).any()) for i in rows])
    said = f"Predictions are those of the rule {rule}. The energies are those of the learned energy alone."
    return Section("energy", TITLE, [error_counts("image", true, guess, wrong, len(usable)), paragraph(said)])


def _worst(
    model: EnergySegmenter,
    images: Sequence[NDArray[Any]],
    truth: Sequence[NDArray[Any]],
    predicted: Sequence[NDArray[Any]],
    p: Sequence[NDArray[Any]],
    names: Sequence[str],
) -> Section:
    n = len(model.classes_)
    scores = np.array([ratio(iou_counts(t, g, n), empty=np.nan) for t, g in zip(truth, predicted, strict=True)])
    order = [int(i) for i in np.argsort(scores, kind="stable") if not np.isnan(scores[i])][:WORST]
    cases = []
    for i in order:
        pixels = np.asarray(images[i])
        pixels = np.asarray(pixels if pixels.dtype == np.uint8 else np.clip(255 * pixels, 0, 255), dtype=np.uint8)
        if pixels.ndim == 3 and pixels.shape[2] not in (3, 4):
            pixels = pixels[..., 0]
        name = cut(names[i], 60)
        shown = [
            ("image", picture(pixels, f"Image {name}")),
            ("truth", picture(in_colours(truth[i][0]), f"True mask of {name}", grid=True)),
            ("prediction", picture(in_colours(predicted[i][0]), f"Predicted mask of {name}", grid=True)),
            ("1 − max p", picture(in_grey((1 - p[i].max(-1)) * n / (n - 1)), f"Where the model is unsure in {name}: dark")),
        ]
        own = [element("figure", drawn, element("figcaption", said)) for said, drawn in shown]
        cases.append(
            element(
                "li",
                element("h3", f"Image {i}: {name}"),
                element("p", f"IoU {plain(100 * float(scores[i]), 1)}", class_="quiet small"),
                element("div", *own, class_="pictures"),
            )
        )
    blocks = [paragraph("Those of the lowest IoU. Unknown pixels are grey in the truth."), element("ol", *cases, class_="cases")]
    return Section("worst", "The images answered worst", blocks, leaf=True)
