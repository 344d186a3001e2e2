"""``EnergySegmenter``: a class for every pixel."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
from torch import nn

from enstruct.data.rows import Rows
from enstruct.data.splits import holdout_places
from enstruct.decisions.masks import at_threshold, best_threshold, greedy
from enstruct.decisions.monitors import MaskMonitor
from enstruct.encoders import FCN, UNet
from enstruct.energies.build import MASK_TERMS
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.image_format import ImageFormat, MaskFormat, as_images, as_masks
from enstruct.estimators.mask_predictions import SHARES, MaskPredictions
from enstruct.estimators.networks import check_places, own_encoder, place_networks
from enstruct.estimators.parameters import MASKS, Table, check_parameters
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.sizes import bounded
from enstruct.mask_methods import MASK_METHODS
from enstruct.mask_metrics import MASK_METRICS
from enstruct.methods import Method
from enstruct.tag_metrics import ratio
from enstruct.training.batches import to_inputs
from enstruct.training.settings import Settings

CORNERS = (0.0, 1.0)


class EnergySegmenter(MaskPredictions):
    """A convolutional network trained with a learned energy as its loss: a class for every pixel in one forward pass.

    Minimises, over the network F and an energy network E that learns beside it,

        CE(F(x), y) + w E(x, F(x)),        E(x, y) = sum_p y_p . u(x, p) + E_conv(x, y)

    so that what is a plausible shape is learnt at training time. ``method="cross-entropy"`` is the network alone.

    Parameters
    ----------
    method : str or Method, default="seal-regression-s"
        A row of ``enstruct.mask_methods.MASK_METHODS``: "cross-entropy", "seal-margin", "seal-regression", "seal-regression-s",
        "seal-nce", "seal-ranking"; by inference "dvn"; inference networks "infnet", "infnet+"; implicit bilevel training
        "implicit-cd", "implicit-ssvm", "implicit-dvn".
    metric : str, default="iou"
        What is watched and decided for: "iou" (mean over images), "pooled-iou", "accuracy"; see :mod:`enstruct.mask_metrics`.
    decision : str, default="auto"
        "greedy" (each pixel's most probable class), "threshold" (two classes: the best on validation images), or "auto": the
        better of them there.
    classes : list of int, default=None
        The values masks may hold; by default those of the training and validation masks. With two, the second is the object.
    ignore : int, default=None
        The value of pixels whose class is not known: they count nowhere.
    binarise : int, default=None
        Mask values from it on are the object (1), those below not (0): for grey edges and JPEG masks.
    size : (int, int), default=None
        (height, width) that images are resized to for the network; answers come back in the images' own size. None needs
        training images of one size, and takes images of any size afterwards.
    crop : int, default=None
        Train on random square crops of this size, each image once an epoch, and answer by the mean over 36 crops (DVN's protocol
        for 24 in 32). None trains on whole images.
    network : str, default="unet"
        "unet" or "fcn" (:mod:`enstruct.encoders.unet`, :mod:`enstruct.encoders.conv`), ``width`` channels wide; ``levels`` of the
        U-Net; ``dropout`` on its features.
    encoder : nn.Module or callable(n_channels) -> nn.Module, default=None
        Your own images (batch, height, width, channels) -> features (batch, height, width, ``out_features``), with that
        attribute.
    energy_network : EnergySpec or nn.Module, default=None
        The energy's terms ("local", "mask-conv", "potts"), units, whose features; or your own module (x, y) -> (batch, samples).
    energy_weight, supervised_weight, supervised, warmup, entropy_weight, anchor_weight, negatives, n_samples, cost, \
inference, hypergradient, sample_gradient, energy_steps, predictor_steps, repeats, first
        Columns of the method's row to change, as in :class:`~enstruct.EnergyMultiLabelClassifier`; None keeps them. The
        supervised loss is averaged over pixels.
    learning_rate, energy_learning_rate, weight_decay, clip, energy_clip, optimizer, batch_size
        As there.
    max_iter, n_iter_no_change, tol
        ``max_iter`` epochs at most a stage, fewer once ``metric`` on validation images has not risen by ``tol`` for
        ``n_iter_no_change`` epochs. "auto": 100 and 20, more on few images (at least 2000 and 400 updates;
        of fewer than 24 less of both).
    validation_fraction : float, default=0.2
        Part of the images held out when ``fit`` gets no validation images.
    random_state, verbose, device, callbacks
        As usual.

    Attributes
    ----------
    classes_ : ndarray of (classes,)
        The values of masks.
    predictor_, energy_ : nn.Module
        The networks; ``energy_`` is None where the method has none.
    threshold_ : float or None
        The best on validation images, for two classes.
    history_, n_iter_, updates_, decision_, decision_scores_
        As in :class:`~enstruct.EnergyMultiLabelClassifier`.
    """

    _methods: ClassVar[dict[str, Method]] = MASK_METHODS
    _parameters: ClassVar[Table] = MASKS
    _most_epochs, _most_updates = 100, 2000
    _patience_epochs, _patience_updates = 20, 400
    _full_size = 24

    def __init__(
        self,
        method: Any = "seal-regression-s",
        *,
        metric: str = "iou",
        decision: str = "auto",
        classes: list[int] | None = None,
        ignore: int | None = None,
        binarise: int | None = None,
        size: tuple[int, int] | None = None,
        crop: int | None = None,
        network: str = "unet",
        width: int = 16,
        levels: int = 3,
        dropout: float = 0.0,
        encoder: Any = None,
        energy_network: Any = None,
        energy_weight: float | None = None,
        supervised_weight: float | None = None,
        supervised: str | None = None,
        warmup: int | None = None,
        entropy_weight: float | None = None,
        anchor_weight: float | None = None,
        negatives: Any = None,
        n_samples: int | None = None,
        cost: str | None = None,
        inference: Any = None,
        hypergradient: Any = None,
        sample_gradient: str | None = None,
        energy_steps: int | None = None,
        predictor_steps: int | None = None,
        repeats: int | None = None,
        first: str | None = None,
        learning_rate: float = 2e-3,
        energy_learning_rate: float | None = None,
        weight_decay: float = 1e-5,
        clip: float | None = 10.0,
        energy_clip: float | None = 10.0,
        batch_size: int = 16,
        optimizer: str = "adamw",
        max_iter: int | str = "auto",
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-4,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        verbose: int = 0,
        device: str = "cpu",
        callbacks: Any = None,
    ) -> None:
        self._store(locals())

    @restore_on_failure
    def fit(self, images: Any, masks: Any, images_val: Any = None, masks_val: Any = None) -> EnergySegmenter:
        """Train on images and their masks: arrays (images, height, width[, channels]) and (images, height, width), or lists.

        ``images_val, masks_val`` serve early stopping and the decision; without them a part of the images is held out.
        Validation images must be of one size as well. Raises DataError for unusable images or masks, ConfigError for unknown
        settings, DivergenceError.
        """
        self._check_choices()
        if (images_val is None) != (masks_val is None):
            raise ConfigError("Pass both images_val and masks_val, or neither.")
        grids = as_images(images)
        given = as_masks(masks, grids)
        if self.size is not None:
            self._check_maps(len(grids), *self.size)
        seed = self._seed()
        if images_val is None:
            train, held = holdout_places(len(grids), self.validation_fraction, seed, "images")
            kept = [grids[i] for i in held], [given[i] for i in held]
            grids, given = [grids[i] for i in train], [given[i] for i in train]
        else:
            validation = as_images(images_val)
            kept = validation, as_masks(masks_val, validation)
        self.images_ = ImageFormat.fit(grids, None if self.size is None else (int(self.size[0]), int(self.size[1])))
        self.masks_ = MaskFormat.fit([*given, *kept[1]], self.classes, self.ignore, self.binarise)
        self.classes_ = np.array(self.masks_.classes)
        self.masks_.check_training(given)
        if self.ignore is not None and all((mask == self.ignore).all() for mask in kept[1]):
            raise DataError("Every pixel of the validation masks is ignored: nothing tells when training should end.")
        if self.decision == "threshold" and len(self.classes_) > 2:
            raise ConfigError(f"decision='threshold' needs two classes; there are {len(self.classes_)}.")
        self._n_images = len(grids)
        rows = self._rows_of(grids, given, None)
        watched = self._rows_of(*kept, SHARES)
        if self.crop is not None and max(watched.X.grids.shape[1:3]) <= 2 * self.crop:
            watched = self._rows_of(*kept, CORNERS)  # they show every pixel, at a ninth of the cost of an answer
        self._train(rows, watched, MaskMonitor(self.metric), None, seed)
        self._choose_decision(self._rows_of(*kept, SHARES))
        return self

    def _settings(self, n_rows: int) -> Settings:
        return super()._settings(self._n_images)  # an epoch takes each image once, however many crops it has

    def _check_choices(self) -> None:
        check_parameters(self, MASKS)

    def _check_maps(self, n_images: int, height: int, width: int) -> None:
        """ConfigError where those of a batch would fill the memory."""
        n_classes = 2 if self.classes is None else len(self.classes)  # at least, before the masks are read
        channels = 1 if self.encoder is not None else self.width
        self._check_batch(n_images, height * width, channels, n_classes, "size=, crop=, width=")

    def _new_networks(self, method: Method, train: Rows) -> tuple[nn.Module, nn.Module | None]:
        self._check_maps(len(train), *train.X.size)
        predictor, energy = self._blank_networks(method)
        if self.encoder is not None:
            x = to_inputs(train.take(np.arange(1)).X).x
            check_places(cast(nn.Module, predictor.encoder), x, tuple(x.shape[:-1]), f"pixels as {tuple(x.shape)} of {x.dtype}")
        return predictor, energy

    def _blank_networks(self, method: Method) -> tuple[nn.Module, nn.Module | None]:
        return place_networks(method, self._fresh_encoder, len(self.masks_.classes), self.energy_network, MASK_TERMS)

    def _fresh_encoder(self) -> nn.Module:
        channels = self.images_.channels
        if self.encoder is None:
            return bounded(lambda: self._network(channels), "width= or levels=")
        return own_encoder(self.encoder, channels, sized=True)

    def _network(self, channels: int) -> nn.Module:
        if self.network == "fcn":
            return FCN(channels, self.width, self.width, dropout=self.dropout)
        return UNet(channels, self.width, self.levels, dropout=self.dropout)

    def _choose_decision(self, validation: Rows) -> None:
        p, truth, n_classes = self._answers(validation.X), validation.Y.classes(), len(self.masks_.classes)
        metric = MASK_METRICS[self.metric]
        self.threshold_ = best_threshold(p, truth, self.metric) if n_classes == 2 else None
        found = {"greedy": greedy(p)} | ({} if self.threshold_ is None else {"threshold": at_threshold(p, self.threshold_)})
        self.decision_scores_ = {rule: ratio(metric(truth, numbers, n_classes)) for rule, numbers in found.items()}
        best = max(self.decision_scores_, key=self.decision_scores_.__getitem__)
        self.decision_ = best if self.decision == "auto" else self.decision
