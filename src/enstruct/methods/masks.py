"""The method table for masks: the rows of :mod:`enstruct.methods.labels` by the same names, with what is different about masks.

- The cost is 1 - soft IoU.
- The energy is ``local`` + ``mask-conv`` (DVN's and SEAL's convolutions over [image, mask]) on features of its own.
- Weights are small and rise slowly: the supervised loss is a mean over pixels, and the first energies know no shapes.
- Sampling is dear: one energy update a batch, on at most eight samples but for ``dvn``, whose candidates cost no convolution.
- Perturbed samples vary in patches, and strongly: an energy that has seen soft candidates only takes crispness for truth, and
  drives the predictor to be sure of nothing but background.
- DVN's value network is an overlap, and learns from mixtures of every value. With convolutions and dense layers over image and
  mask inference from the uniform start does not find the optimum at masks (docs/masks.md); DVN's three candidates put it
  elsewhere.
- Its inference takes Adam's steps from the uniform distribution: a gradient step on one number an image hardly moves a pixel.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from enstruct.hypergradients import Implicit, Neumann
from enstruct.inference import AdamOnLogits, Inference, MeanOfDraws
from enstruct.methods.columns import SAMPLE_GRADIENT
from enstruct.methods.labels import METHODS
from enstruct.methods.method import Method, PredictorLoss
from enstruct.methods.stages import ENERGY_ALONE
from enstruct.negatives import InferencePoint, Normalised, PerturbedSamples, PredictorSamples, ValueMixtures
from enstruct.objectives import LIKELIHOOD

IOU = "soft-iou"
SHAPE: dict[str, Any] = {"terms": ("local", "mask-conv"), "units": 16, "nonlinearity": "relu"}
WARMUP = 300
NATS = {"energy": SHAPE, "predictor_loss": PredictorLoss(energy_weight=0.001, warmup=WARMUP), "cost": IOU}
"""An energy that is a log-density counts pixels, the supervised loss is their mean: a weight of about one pixel of 32 x 32."""
MARGIN = {"energy": SHAPE, "predictor_loss": PredictorLoss(energy_weight=0.03, warmup=WARMUP), "cost": IOU}
DIVERGENCE = {**MARGIN, "predictor_loss": PredictorLoss(energy_weight=0.003, warmup=WARMUP)}
VALUE: dict[str, Any] = {"energy": SHAPE, "predictor_loss": PredictorLoss(energy_weight=0.05, warmup=WARMUP), "cost": IOU}
"""Log-odds of a value go on rising where the value has long been 1: at ten times the weight two points of IoU were lost."""
CLIP = 10.0
CLIMB = AdamOnLogits(0.5)
REACTION = Implicit(Neumann(2), hvp="finite-difference")
"""Two terms by differences, as for tags: exact products through convolutions cost several times as much."""


def _row(name: str, **changes: Any) -> Method:
    return replace(METHODS[name], energy_clip=CLIP, **changes)


MASK_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _row("cross-entropy", cost=IOU),
        _row(
            "dvn",
            energy={"terms": ("overlap",)},
            cost=IOU,
            negatives=ValueMixtures(Inference(CLIMB, starts=("uniform",), steps=10, as_value=True), n=48),
            inference=Inference(CLIMB, starts=("uniform",), steps=20, as_value=True),
        ),
        _row("seal-margin", **MARGIN),
        _row("seal-regression", **VALUE),
        _row("seal-regression-s", negatives=PerturbedSamples(6, 3.0), **VALUE),
        _row("seal-nce", negatives=PredictorSamples(8), **NATS),
        _row("seal-ranking", negatives=PredictorSamples(8), **NATS),
        _row("infnet", energy=SHAPE, cost=IOU),
        _row("infnet+", energy=SHAPE, cost=IOU),
        _row(
            "alen",
            negatives=InferencePoint(Inference(CLIMB, starts=("predictor",), steps=5)),
            inference=Inference(CLIMB, starts=("predictor",), steps=5),
            **MARGIN,
        ),
        Method(
            "cglow",
            negatives=Normalised(),
            objective=LIKELIHOOD,
            stages=ENERGY_ALONE,
            energy={"terms": ("flow",), "units": 32},
            energy_clip=None,
            cost=IOU,
            inference=MeanOfDraws(16),
            watch_inference=True,
        ),
        _row("implicit-cd", negatives=PredictorSamples(8, SAMPLE_GRADIENT), coupling=REACTION, **DIVERGENCE),
        _row("implicit-ssvm", coupling=REACTION, **MARGIN),
        _row("implicit-dvn", coupling=REACTION, **VALUE),
    )
}
