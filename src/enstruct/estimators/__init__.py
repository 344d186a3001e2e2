"""The scikit-learn faces, a module each; a module is imported when its face is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enstruct.estimators.auto import AutoMultiLabelClassifier as AutoMultiLabelClassifier
    from enstruct.estimators.joint import JointMultiLabelClassifier as JointMultiLabelClassifier
    from enstruct.estimators.label_issues import LabelIssues as LabelIssues
    from enstruct.estimators.label_issues import find_label_issues as find_label_issues
    from enstruct.estimators.multilabel import EnergyMultiLabelClassifier as EnergyMultiLabelClassifier
    from enstruct.estimators.segmenter import EnergySegmenter as EnergySegmenter
    from enstruct.estimators.tagger import EnergySequenceTagger as EnergySequenceTagger

_HOME = {
    "AutoMultiLabelClassifier": "auto",
    "EnergyMultiLabelClassifier": "multilabel",
    "EnergySegmenter": "segmenter",
    "EnergySequenceTagger": "tagger",
    "JointMultiLabelClassifier": "joint",
    "LabelIssues": "label_issues",
    "find_label_issues": "label_issues",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    """One of the faces. AttributeError for other names."""
    if name not in _HOME:
        raise AttributeError(f"module 'enstruct.estimators' has no attribute {name!r}")
    member: object = getattr(import_module(f"enstruct.estimators.{_HOME[name]}"), name)
    globals()[name] = member
    return member
