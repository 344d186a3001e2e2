"""How the energy learns: pure functions of energies, costs and noise log-probabilities."""

from enstruct.objectives.base import Density as Density
from enstruct.objectives.base import Objective as Objective
from enstruct.objectives.base import Scores as Scores
from enstruct.objectives.margin import MARGIN as MARGIN
from enstruct.objectives.margin import MARGIN_PERCEPTRON as MARGIN_PERCEPTRON
from enstruct.objectives.margin import RANK_MARGIN as RANK_MARGIN
from enstruct.objectives.pseudo_likelihood import PSEUDO_LIKELIHOOD as PSEUDO_LIKELIHOOD
from enstruct.objectives.ranking import CONDITIONAL_NCE as CONDITIONAL_NCE
from enstruct.objectives.ranking import CONTRASTIVE_DIVERGENCE as CONTRASTIVE_DIVERGENCE
from enstruct.objectives.ranking import LIKELIHOOD as LIKELIHOOD
from enstruct.objectives.ranking import NCE as NCE
from enstruct.objectives.ranking import RANKING as RANKING
from enstruct.objectives.regression import END_TO_END as END_TO_END
from enstruct.objectives.regression import REGRESSION as REGRESSION
