"""The scikit-learn face."""

from enstruct.estimators.multilabel import EnergyMultiLabelClassifier as EnergyMultiLabelClassifier
