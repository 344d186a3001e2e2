"""Masks: one of K classes at every pixel."""

from enstruct.data.kinds import ENDINGS
from enstruct.decisions.masks import MASK_RULES
from enstruct.energies import EnergySpec
from enstruct.energies.build import MASK_TERMS
from enstruct.methods import MASK_METHODS
from enstruct.methods.masks import SHAPE
from enstruct.metrics import MASK_METRICS
from enstruct.spaces import MaskSpace
from enstruct.spaces.masks import MASK_COSTS
from enstruct.tasks.base import Budget, Length, Task

MASKS = Task(
    name="masks",
    parts="images",
    methods=MASK_METHODS,
    default="seal-regression-s",
    space=MaskSpace,
    costs=tuple(MASK_COSTS),
    places=2,
    axes="height, width",
    terms=MASK_TERMS,
    energy=EnergySpec(**SHAPE),
    metrics=MASK_METRICS,
    rules=MASK_RULES,
    budget=Budget(Length(100, 2000), Length(20, 400), full_size=24),
    estimator="EnergySegmenter",
    endings=ENDINGS["masks"],
)
