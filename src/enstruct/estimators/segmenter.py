"""``EnergySegmenter``: a class for every pixel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from torch import nn

from enstruct.data.images import Images
from enstruct.data.rows import Rows
from enstruct.data.splits import holdout_places
from enstruct.decisions.masks import MASK_RULES, at_threshold, best_threshold, evened, greedy
from enstruct.decisions.monitors import mask_monitor
from enstruct.encoders import FCN, UNet
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.base import EnergyEstimator, Training, has_passes, seed_of
from enstruct.estimators.image_format import (
    CORNERS,
    SHARES,
    Grid,
    ImageFormat,
    MaskFormat,
    Pictures,
    as_images,
    crops,
    image_rows,
    pictures,
    resize,
)
from enstruct.estimators.label_rows import row_weights
from enstruct.estimators.networks import Pair, check_places, make_networks, own_encoder
from enstruct.estimators.parameters import PIXELS
from enstruct.estimators.persistence import Weights
from enstruct.estimators.renamed import refuse_renamed
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.saved_header import OfSegmenter
from enstruct.joint.pixels import Field, fit_field, marginals
from enstruct.methods import Method
from enstruct.metrics import Counts, ratio
from enstruct.metrics.masks import get_mask_metric
from enstruct.rules.masks import MaskRules
from enstruct.tasks import MASKS
from enstruct.training.batches import to_inputs
from enstruct.validation import both_or_neither, one_of


class EnergySegmenter(EnergyEstimator):
    """A convolutional network trained with a learned energy as its loss: a class for every pixel in one forward pass.

    Minimises, over the network F and an energy network E that learns beside it,

        CE(F(x), y) + w E(x, F(x)),        E(x, y) = sum_p y_p . u(x, p) + E_conv(x, y)

    so that what is a plausible shape is learnt at training time. ``method="cross-entropy"`` is the network alone.

    Parameters
    ----------
    method : str or Method, default="seal-regression-s"
        A row of ``enstruct.MASK_METHODS``, or one with other columns (:meth:`enstruct.Method.with_`; in searches
        ``method__energy_weight``): "cross-entropy", "seal-margin", "seal-regression", "seal-regression-s", "seal-nce",
        "seal-ranking"; by inference "dvn", "cglow"; inference networks "infnet", "infnet+", "alen"; bilevel "implicit-cd",
        "implicit-ssvm", "implicit-dvn".
    metric : str, default="iou"
        What is watched and decided for: "iou" (mean over images), "pooled-iou", "accuracy"; see :mod:`enstruct.metrics.masks`.
    decision : str, default="auto"
        "greedy" (each pixel's most probable class), "threshold" (two classes: the best on validation images), or "auto": the
        better of them there.
    classes : list of int, default=None
        The values masks may hold; by default those of the training and validation masks. With two, the second is the object.
    ignore : int, default=None
        The value of pixels whose class is not known: they count nowhere; "cglow" alone learns them as the first class.
    binarise : int, default=None
        Mask values from it on are the object (1), those below not (0): for grey edges and JPEG masks.
    rules : a rule of :mod:`enstruct.rules.masks`, or a list of them, default=None
        Boxes, sizes and connectedness of classes, that no predicted mask breaks; ``Soft(rule, weight)`` is one that a mask
        breaks where the best one found that keeps it costs more than its weight in nats. Probabilities heed boxes and sizes.
    size : (int, int), default=None
        (height, width) that images are resized to for the network; answers come back in the images' own size. None needs
        training images of one size, and takes images of any size afterwards.
    crop : int, default=None
        Train on random square crops of this size, each image once an epoch, and answer by the mean over 36 crops (DVN's protocol
        for 24 in 32). None trains on whole images.
    augment : bool, default=False
        Show training images in another view and light at every pass: mirrored half of the time, turned, scaled and shifted a
        little, brighter or darker (:mod:`enstruct.training.augmentation`). Answers are the mean of an image's and its mirror
        image's. Not where left and right differ, as in writing.
    network : str, default="unet"
        "unet" or "fcn" (:mod:`enstruct.encoders.unet`, :mod:`enstruct.encoders.conv`), ``width`` channels wide; ``levels`` of the
        U-Net; ``dropout`` on its features.
    encoder : nn.Module or callable(n_channels) -> nn.Module, default=None
        Your own images (batch, height, width, channels) -> features (batch, height, width, ``out_features``), with that
        attribute.
    energy_network : EnergySpec or nn.Module, default=None
        The energy's terms ("local", "mask-conv", "overlap", "potts", "flow"), units, whose features; or your own module
        (x, y) -> (batch, samples).
    learning_rate, weight_decay, clip, optimizer, batch_size, max_epochs, n_iter_no_change, tol
        As for :class:`~enstruct.EnergyMultiLabelClassifier`; "auto" is 100 epochs a stage at most and patience 20, more on few
        images (:class:`enstruct.tasks.Budget`). The supervised loss is averaged over pixels.
    validation_fraction : float, default=0.2
        Part of the images held out when ``fit`` gets no validation images.
    random_state, verbose, device, callbacks
        As usual.
    warm_start : bool, default=False
        ``fit`` goes on with the networks that are there, with their classes and the scaling of their first images.

    Attributes
    ----------
    classes_ : ndarray of (classes,)
        The values of masks.
    predictor_, energy_ : nn.Module
        The networks; ``energy_`` is None where the method has none.
    threshold_ : float or None
        The best on validation images, for two classes.
    field_ : enstruct.joint.pixels.Field
        What told pixels say of others.
    history_, n_iter_, updates_, decision_, decision_scores_
        As in :class:`~enstruct.EnergyMultiLabelClassifier`.
    """

    @refuse_renamed
    def __init__(
        self,
        method: Any = "seal-regression-s",
        *,
        metric: str = "iou",
        decision: str = "auto",
        classes: list[int] | None = None,
        ignore: int | None = None,
        binarise: int | None = None,
        rules: Any = None,
        size: tuple[int, int] | None = None,
        crop: int | None = None,
        augment: bool = False,
        network: str = "unet",
        width: int = 16,
        levels: int = 3,
        dropout: float = 0.0,
        encoder: Any = None,
        energy_network: Any = None,
        learning_rate: float = 2e-3,
        weight_decay: float = 1e-5,
        clip: float | None = 10.0,
        batch_size: int = 16,
        optimizer: str = "adamw",
        max_epochs: int | str = "auto",
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-4,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        device: str = "cpu",
        callbacks: Any = None,
    ) -> None:
        self._store(locals())

    _task = MASKS
    _parameters = PIXELS
    _header = OfSegmenter
    _of_networks = ("network", "width", "levels", "dropout")

    images_: ImageFormat
    masks_: MaskFormat
    threshold_: float | None
    field_: Field

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True  # images, and a mask for each
        tags.target_tags.required, tags.target_tags.single_output, tags.target_tags.multi_output = True, False, True
        return tags

    # -- fitting ----------------------------------------------------------------------------------

    @refuse_renamed
    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Train on images X and masks y: arrays (images, height, width[, channels]) and (images, height, width), or lists.

        ``X_val, y_val`` serve early stopping and the decision; without them a part of the images is held out.
        Validation images must be of one size as well. ``sample_weight``: of the images. Raises DataError for unusable images or
        masks, ConfigError for unknown settings, DivergenceError.
        """
        method = self._check_parameters()
        validates = both_or_neither(X_val=X_val, y_val=y_val)
        train = pictures(X, y, sample_weight)
        if self.size is not None:
            self._check_maps(method, len(train.images), *self.size)
        start, goes_on = seed_of(self.random_state), self._goes_on(method)
        if validates:
            held_out = pictures(X_val, y_val)
        else:
            kept, out = holdout_places(len(train.images), self.validation_fraction, start, "images")
            train, held_out = train.take(kept), train.take(out)
        if not goes_on:
            self._learn_formats(train, [*train.masks, *held_out.masks], self.classes)
        self.masks_.check_training(train.masks)
        self._check_rules(train)
        if self.ignore is not None and all((mask == self.ignore).all() for mask in held_out.masks):
            raise DataError("Every pixel of the validation masks is ignored: nothing tells when training should end.")
        if self.decision == "threshold" and len(self.classes_) > 2:
            raise ConfigError(f"decision='threshold' needs two classes; there are {len(self.classes_)}.")
        rows, validation = self._rows(train, None, augment=self.augment), self._rows(held_out, SHARES)
        watched = validation
        if self.crop is not None and max(validation.X.grids.shape[1:3]) <= 2 * self.crop:
            watched = self._rows(held_out, CORNERS)  # they show every pixel, at a ninth of the cost of an answer
        self._forget_passes()
        monitor, first = mask_monitor(self.metric), len(method.stages) - 1 if goes_on else 0
        build = partial(self._build_for, method, rows)
        self._train(Training(method, rows, watched, monitor, start, build, first, refresh=not goes_on))
        self._choose_decision(validation)
        self._learn_field(held_out, start)
        return self

    @available_if(has_passes)
    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One pass over these images, by the method's first stage.

        A new segmenter's first call fixes the classes (``classes``, or the parameter, names those that it does not show) and the
        scaling, and decides greedily; later ones go on with them, as on a fitted or loaded segmenter.
        """
        new, method = not hasattr(self, "predictor_"), self._check_parameters()
        PIXELS["classes"]("classes", classes)
        batch = pictures(X, y, sample_weight)
        if new:
            self._learn_formats(batch, batch.masks, self.classes if classes is None else classes)
            self._check_rules(batch)
            self.history_, self.threshold_, self.decision_, self.decision_scores_ = [], None, "greedy", {}
            self.field_ = Field.before()
        rows = self._rows(batch, None, self._weight_unit(batch.weight), augment=self.augment)
        start = 0 if hasattr(self, "partial_game_") else seed_of(self.random_state)
        build = partial(self._build_for, method, rows)
        self._train_one_pass(Training(method, rows, None, mask_monitor(self.metric), start, build), new)
        return self

    def _learn_formats(self, train: Pictures, masks: Sequence[Grid], classes: Any) -> None:
        size = None if self.size is None else (int(self.size[0]), int(self.size[1]))
        self.images_ = ImageFormat.fit(train.images, size)
        self.masks_ = MaskFormat.fit(masks, classes, self.ignore, self.binarise)
        self.classes_ = np.array(self.masks_.classes)

    def _check_rules(self, train: Pictures) -> None:
        """ConfigError for rules that no mask of these sizes meets, DataError for one that these masks break often."""
        rules = MaskRules.of(self.rules, self.masks_.classes)
        if rules is not None:
            rules.check_possible(mask.shape for mask in train.masks)
            rules.check_masks([self.masks_.encode([mask], first=i)[0] for i, mask in enumerate(train.masks)])

    def _rows(
        self, labelled: Pictures, shares: tuple[float, ...] | None, unit: float | None = None, augment: bool = False
    ) -> Rows:
        """Whole images, or with ``crop`` their crops at these shares of the room; ``None``: every crop there is."""
        return image_rows(labelled, self.images_, self.masks_, self.crop, shares, unit, augment)

    def _check_maps(self, method: Method, n_images: int, height: int, width: int) -> None:
        """ConfigError where those of a batch would fill the memory."""
        n_classes = 2 if self.classes is None else len(self.classes)  # at least, before the masks are read
        channels = 1 if self.encoder is not None else self.width
        self._check_batch(method, n_images, height * width, channels, n_classes, "size=, crop=, width=")

    def _build_for(self, method: Method, rows: Rows) -> Pair:
        """Networks for these rows: their sizes and an own encoder checked."""
        self._check_maps(method, len(rows), *rows.X.size)
        predictor, energy = self._build(method)
        if self.encoder is not None:
            x = to_inputs(rows.take(np.arange(1)).X).x
            check_places(cast(nn.Module, predictor.encoder), x, tuple(x.shape[:-1]), f"pixels as {tuple(x.shape)} of {x.dtype}")
        return predictor, energy

    def _build(self, method: Method) -> Pair:
        """(predictor, energy or None), newly initialised."""
        channels = self.images_.channels

        def fresh() -> nn.Module:
            if self.encoder is not None:
                return own_encoder(self.encoder, channels, sized=True)
            if self.network == "fcn":
                return FCN(channels, self.width, self.width, dropout=self.dropout)
            return UNet(channels, self.width, self.levels, dropout=self.dropout)

        sizes = "width= or levels=" if self.encoder is None else None
        return make_networks(method, MASKS, fresh, len(self.masks_.classes), self.energy_network, sizes)

    def _choose_decision(self, validation: Rows) -> None:
        p, truth, n_classes = (
            self._networks().answer(self._both_ways(validation.X)),
            validation.Y.classes(),
            len(self.masks_.classes),
        )
        metric = get_mask_metric(self.metric)
        self.threshold_ = best_threshold(p, truth, self.metric) if n_classes == 2 else None
        masks = {rule: np.stack([self._judged(one, rule) for one in p]) for rule in self.rules_}
        self._decide_best({rule: metric(truth, numbers, n_classes=n_classes) for rule, numbers in masks.items()})

    def _judged(self, p: NDArray[Any], rule: str) -> NDArray[np.int64]:
        """As :meth:`_decided`; of an image that the rules leave no mask, which prediction refuses, without them."""
        try:
            return self._decided(p, rule)
        except DataError:
            return self._by_rule(p, rule)

    def _learn_field(self, held_out: Pictures, seed: int) -> None:
        """What told pixels say of others, on validation images in their own sizes."""
        p = self._by_image(held_out.images)
        truth = [self.masks_.encode([mask], first=i)[0] for i, mask in enumerate(held_out.masks)]
        self.field_ = fit_field(p, [self.images_.channels_of(image) for image in held_out.images], truth, seed)

    # -- answers ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any, *, refine: int | None = None, known: Any = None) -> Any:
        """(images, height, width, classes), the classes as in ``classes_``; a list where the images differ in size. Boxes and
        sizes of ``rules`` weigh in them (:mod:`enstruct.rules.mask_marginals`).

        refine : first move the network's answer by so many steps of inference on the learned energy. ConfigError where there is
            none.
        known : for each image a mask with NaN where nothing is told (a masked array too), as scribbles, clicks, or the outside of
            a box. Told pixels come back as told and speak for others (:mod:`enstruct.joint.pixels`); images of which nothing is
            told are answered as without it. DataError for other sizes, and for values that are no classes.
        """
        given, rules = self._given(X, refine, known), MaskRules.of(self.rules, self.masks_.classes)
        if rules is None:
            return _stacked([p for p, _ in given])
        legal = []
        for i, (p, told) in enumerate(given):
            with _of_image(i):
                legal.append(rules.marginals(p, told).astype(np.float32))
        return _stacked(legal)

    def predict(self, X: Any, *, decision: str | None = None, refine: int | None = None, known: Any = None) -> Any:
        """Masks (images, height, width) in the values of training; a list where the images differ in size.

        ``decision``: "greedy" or "threshold" instead of the one in force; ``refine``, ``known``: see :meth:`predict_proba`.
        """
        self._networks()  # first, as it asks whether the segmenter is fitted
        rule = self.decision_ if decision is None else decision
        one_of("decision rule", MASK_RULES)("decision", rule)
        masks = []
        for i, (p, told) in enumerate(self._given(X, refine, known)):
            with _of_image(i):
                masks.append(self.masks_.decode(self._decided(p, rule, told)))
        return _stacked(masks)

    def _given(self, X: Any, refine: int | None, known: Any) -> list[tuple[NDArray[np.float32], NDArray[np.int64] | None]]:
        """Of each image its probabilities, and what was told of it, None where nothing was."""
        p = self._by_image(X, refine)
        if known is None:
            return [(each, None) for each in p]
        images = as_images(X)
        out: list[tuple[NDArray[np.float32], NDArray[np.int64] | None]] = []
        for each, image, told in zip(p, images, self.masks_.told(known, images), strict=True):
            if (told >= 0).any():
                out.append((marginals(self.field_, each, self.images_.channels_of(image), told), told))
            else:
                out.append((each, None))
        return out

    def _decided(self, p: NDArray[Any], rule: str, told: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """(height, width) of one image, under the rules."""
        numbers, rules = self._by_rule(p, rule), MaskRules.of(self.rules, self.masks_.classes)
        if rules is None:
            return numbers
        if rule == "threshold":  # what a pixel is worth is counted from there
            p = evened(p, cast(float, self.threshold_))
        return rules.kept(numbers, p, told)

    def _by_rule(self, p: NDArray[Any], rule: str) -> NDArray[np.int64]:
        if rule == "greedy":
            return greedy(p)
        if self.threshold_ is None:
            raise ConfigError("decision='threshold' needs two classes.")
        return at_threshold(p, self.threshold_)

    @property
    def rules_(self) -> tuple[str, ...]:
        """The decisions that apply to this segmenter."""
        return MASK_RULES if self.threshold_ is not None else ("greedy",)

    def _by_image(self, X: Any, refine: int | None = None) -> list[NDArray[np.float32]]:
        """Probabilities (height, width, classes) of each, images of one size together."""
        networks, images = self._networks(), as_images(X)
        p: list[Any] = [None] * len(images)
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, image in enumerate(images):
            groups[image.shape[:2] if self.images_.size is None else self.images_.size].append(i)
        for members in groups.values():
            inputs = Images.whole(self.images_.encode([images[i] for i in members]))
            if self.crop is not None:
                inputs = inputs.cropped(*crops(inputs.size, self.crop, SHARES))
            for i, answer in zip(members, networks.answer(self._both_ways(inputs), refine), strict=True):
                p[i] = resize(answer, images[i].shape[:2])
        return p

    def _both_ways(self, X: Images) -> Images:
        """With mirror images beside them, where training shows such."""
        return X.mirrored() if self.augment else X

    def _inference_inputs(self, X: Any) -> Images:
        self._networks()
        return Images.whole(self.images_.encode(as_images(X)))

    def energy(self, X: Any, y: Any) -> NDArray[np.float64]:
        """(images,) E(x, y) of given masks; lower is better. With ``crop``, its mean over the image's crops.

        ConfigError if there is no energy, DataError for values that are no classes.
        """
        networks = self._networks()
        networks.needed_energy()
        labelled = pictures(X, y)
        singles = (self._rows(labelled.take([i]), SHARES) for i in range(len(labelled.images)))  # one by one: sizes may differ
        return np.array([float(networks.energies(rows).mean()) for rows in singles])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``metric`` of :meth:`predict` at the masks' own size; ignored pixels do not count."""
        self._networks()
        labelled, metric, n_classes = pictures(X, y), get_mask_metric(self.metric), len(self.masks_.classes)
        weight = None if sample_weight is None else row_weights(sample_weight, labelled.images)
        decided = (self._decided(p, self.decision_)[None] for p in self._by_image(labelled.images))
        truth = (self.masks_.encode([mask], first=i) for i, mask in enumerate(labelled.masks))
        counts = [metric.counts(true, numbers, n_classes=n_classes) for true, numbers in zip(truth, decided, strict=True)]
        return ratio(Counts.joined(counts), weight)

    # -- saving -----------------------------------------------------------------------------------

    def _record(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        record = {"images": asdict(self.images_), "masks": asdict(self.masks_), "threshold": self.threshold_}
        return record, self.field_.tensors()

    def _restore(self, header: OfSegmenter, weights: Weights) -> None:
        self.images_, self.masks_, self.threshold_ = header.images, header.masks, header.threshold
        self.classes_ = np.array(self.masks_.classes)
        self.field_ = Field.parse(self._load_networks(weights, lambda: self._build(self._method())))


@contextmanager
def _of_image(i: int) -> Iterator[None]:
    """What rules leave of an image is said with its number."""
    try:
        yield
    except DataError as error:
        raise DataError(f"Image {i}: {error}") from error


def _stacked(grids: list[NDArray[Any]]) -> Any:
    return np.stack(grids) if len({grid.shape for grid in grids}) == 1 else grids
