"""The method table for masks: the rows of :mod:`enstruct.methods` by the same names, with what is different about masks.

- Values in [0, 1] learn 1 - soft IoU, margins the squared difference over pixels or the same IoU.
- The energy is ``local`` + ``mask-conv`` (DVN's and SEAL's convolutions over [image, mask]) on features of its own.
- Sampling is dear: few samples, one energy update a batch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from enstruct.inference import Inference, ProjectedGradient
from enstruct.methods import METHODS, Method, PredictorLoss
from enstruct.negatives import PerturbedSamples, PredictorSamples, ValueTuples
from enstruct.negatives.predictor import PredictorPoint

IOU = "soft-iou"
SHAPE: dict[str, Any] = {"terms": ("local", "mask-conv"), "units": 16, "nonlinearity": "relu"}
GAME: dict[str, Any] = {"energy": SHAPE, "predictor_loss": PredictorLoss(energy_weight=0.1, warmup=100), "cost": IOU}
VALUE: dict[str, Any] = {**GAME, "predictor_loss": PredictorLoss(energy_weight=1.0, warmup=100)}
CLIMB = ProjectedGradient(0.5)


def _row(name: str, **changes: Any) -> Method:
    return replace(METHODS[name], **changes)


MASK_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _row("cross-entropy", cost=IOU),
        _row(
            "dvn",
            energy=SHAPE,
            cost=IOU,
            negatives=ValueTuples(Inference(CLIMB, starts=("zeros",), steps=10, as_value=True)),
            inference=Inference(CLIMB, starts=("zeros",), steps=30, as_value=True),
        ),
        _row("seal-margin", **GAME),
        _row("seal-regression", **VALUE),
        _row("seal-regression-s", negatives=PerturbedSamples(6, 1.0), **VALUE),
        _row("seal-nce", negatives=PredictorSamples(8), **GAME),
        _row("seal-ranking", negatives=PredictorSamples(8), **GAME),
        _row("infnet", energy=SHAPE, cost=IOU),
        _row("infnet+", energy=SHAPE, cost=IOU),
        _row("implicit-cd", negatives=PredictorSamples(8, "straight-through"), **GAME),
        _row("implicit-ssvm", negatives=PredictorPoint(), **GAME),
        _row("implicit-dvn", **VALUE),
    )
}
