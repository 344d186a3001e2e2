"""What users would pick instead, behind the same face.

A solver is ``fit(train, validation, positive_weight, seed, metric, should_stop)`` -> a predictor, which is trained no further,
and whose ``chosen`` names what the solver chose: given back as keywords, it is taken and not chosen anew.
"""

from collections.abc import Callable
from typing import Any

from enstruct.baselines.binary_relevance import fit_one_vs_rest as fit_one_vs_rest
from enstruct.baselines.boosting import fit_boosting as fit_boosting
from enstruct.baselines.boosting import fit_catboost as fit_catboost
from enstruct.baselines.boosting import fit_lightgbm as fit_lightgbm
from enstruct.baselines.extra_trees import fit_extra_trees as fit_extra_trees
from enstruct.baselines.label_tree import fit_label_tree as fit_label_tree
from enstruct.baselines.linear_svm import fit_linear_svm as fit_linear_svm
from enstruct.encoders import BoostedTrees, Forest, LabelTree, LinearPredictor

SOLVED: dict[Callable[..., Any], type[BoostedTrees | Forest | LabelTree | LinearPredictor]] = {
    fit_one_vs_rest: LinearPredictor,
    fit_linear_svm: LinearPredictor,
    fit_label_tree: LabelTree,
    fit_extra_trees: Forest,
    fit_boosting: BoostedTrees,
    fit_lightgbm: BoostedTrees,
    fit_catboost: BoostedTrees,
}
"""What each solver returns, for loading."""
CHOOSING = (fit_one_vs_rest, fit_linear_svm, fit_label_tree, fit_extra_trees)
"""Those that try several settings on validation rows."""
