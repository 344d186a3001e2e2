"""What an output is: relax, sample, log-probability, cost, supervised loss."""

from enstruct.spaces.base import RelaxedSpace as RelaxedSpace
from enstruct.spaces.label_vectors import LabelVectors as LabelVectors
from enstruct.spaces.labels import LabelSpace as LabelSpace
from enstruct.spaces.masks import MaskSpace as MaskSpace
from enstruct.spaces.tags import TagSpace as TagSpace
