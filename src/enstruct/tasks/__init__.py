"""The kinds of output that there are."""

from enstruct.tasks.base import Batches as Batches
from enstruct.tasks.base import Budget as Budget
from enstruct.tasks.base import Length as Length
from enstruct.tasks.base import Task as Task
from enstruct.tasks.labels import LABELS as LABELS
from enstruct.tasks.masks import MASKS as MASKS
from enstruct.tasks.tags import TAGS as TAGS

TASKS = {task.name: task for task in (LABELS, TAGS, MASKS)}
"""By name."""
