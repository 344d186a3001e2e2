"""The scikit-learn face."""

from enstruct.estimators.auto import AutoMultiLabelClassifier as AutoMultiLabelClassifier
from enstruct.estimators.multilabel import EnergyMultiLabelClassifier as EnergyMultiLabelClassifier
from enstruct.estimators.segmenter import EnergySegmenter as EnergySegmenter
from enstruct.estimators.tagger import EnergySequenceTagger as EnergySequenceTagger
