"""Prediction by energy minimisation over the relaxed output space."""

from enstruct.inference.chain_solver import Chain as Chain
from enstruct.inference.draws import MeanOfDraws as MeanOfDraws
from enstruct.inference.exact import Exact as Exact
from enstruct.inference.minimise import Inference as Inference
from enstruct.inference.minimise import Solution as Solution
from enstruct.inference.minimise import Solver as Solver
from enstruct.inference.minimise import minimise as minimise
from enstruct.inference.rules import AdamOnLogits as AdamOnLogits
from enstruct.inference.rules import MirrorDescent as MirrorDescent
from enstruct.inference.rules import ProjectedAdam as ProjectedAdam
from enstruct.inference.rules import ProjectedGradient as ProjectedGradient
from enstruct.inference.rules import Rule as Rule
from enstruct.inference.unrolled import MEAN_FIELD as MEAN_FIELD
from enstruct.inference.unrolled import Unrolled as Unrolled
