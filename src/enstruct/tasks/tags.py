"""Tag sequences: one of K tags at every token."""

from enstruct.data.kinds import ENDINGS
from enstruct.decisions.tag_sequences import TAG_RULES
from enstruct.energies import EnergySpec
from enstruct.energies.build import TAG_TERMS
from enstruct.methods import TAG_METHODS
from enstruct.metrics import TAG_METRICS
from enstruct.spaces import TagSpace
from enstruct.spaces.simplex import COSTS
from enstruct.tasks.base import Budget, Length, Task

TAGS = Task(
    name="tags",
    parts="sentences",
    methods=TAG_METHODS,
    default="seal-nce",
    space=TagSpace,
    costs=tuple(COSTS),
    places=1,
    axes="time",
    terms=TAG_TERMS,
    energy=EnergySpec(("local", "chain")),
    metrics=TAG_METRICS,
    rules=TAG_RULES,
    budget=Budget(Length(40, 5000), Length(5, 500), full_size=90),
    estimator="EnergySequenceTagger",
    endings=ENDINGS["tags"],
)
