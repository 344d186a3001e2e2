"""Label sets: any number of labels a row."""

from enstruct.data.kinds import ENDINGS
from enstruct.decisions.choose import RULES
from enstruct.energies import EnergySpec
from enstruct.energies.build import LABEL_TERMS
from enstruct.methods import METHODS
from enstruct.metrics import METRICS
from enstruct.spaces import LabelSpace
from enstruct.spaces.costs import COSTS
from enstruct.tasks.base import Batches, Budget, Length, Task

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
    budget=Budget(
        Length(200, 5000),
        Length(20, 500),
        full_size=180,
        cycle=Length(30, 300),
        enough=Length(10, 6000),
        batches=Batches(16, 32, 128, rate=1e-3, peak=1.5e-3),
    ),
    estimator="EnergyMultiLabelClassifier",
    endings=ENDINGS["labels"],
)
"""The full size: the training rows of 250 of which a fifth is held out, and some to spare."""
