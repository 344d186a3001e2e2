"""enstruct: energy-based structured prediction. A learned loss for fast feed-forward predictors."""

from importlib.metadata import version

from enstruct.energies import EnergySpec as EnergySpec
from enstruct.estimators import AutoMultiLabelClassifier as AutoMultiLabelClassifier
from enstruct.estimators import EnergyMultiLabelClassifier as EnergyMultiLabelClassifier
from enstruct.estimators import EnergySegmenter as EnergySegmenter
from enstruct.estimators import EnergySequenceTagger as EnergySequenceTagger
from enstruct.methods import METHODS as METHODS
from enstruct.methods import Method as Method
from enstruct.metrics import example_f1 as example_f1
from enstruct.metrics import example_f1_scorer as example_f1_scorer
from enstruct.metrics import macro_f1 as macro_f1
from enstruct.metrics import macro_f1_scorer as macro_f1_scorer
from enstruct.metrics import micro_f1 as micro_f1
from enstruct.metrics import micro_f1_scorer as micro_f1_scorer
from enstruct.training.energy_loss import EnergyLoss as EnergyLoss

__version__ = version("enstruct")
