"""Label sets: any number of labels a row."""

from enstruct.data.kinds import ENDINGS
from enstruct.decisions.choose import RULES
from enstruct.energies import EnergySpec
from enstruct.energies.build import LABEL_TERMS
from enstruct.methods import METHODS
from enstruct.metrics import METRICS
from enstruct.spaces import LabelSpace
from enstruct.spaces.costs import COSTS
from enstruct.tasks.base import Budget, Task

LABELS = Task(
    name="labels",
    parts="rows",
    methods=METHODS,
    default="seal-nce",
    space=LabelSpace,
    costs=tuple(COSTS),
    places=0,
    axes="",
    terms=LABEL_TERMS,
    energy=EnergySpec(),
    metrics=METRICS,
    rules=tuple(RULES),
    budget=Budget(epochs=200, updates=5000, patience_epochs=20, patience_updates=500, full_size=180),
    estimator="EnergyMultiLabelClassifier",
    endings=ENDINGS["labels"],
)
"""The full size: the training rows of 250 of which a fifth is held out, and some to spare."""
