"""enstruct: energy-based structured prediction. A learned loss for fast feed-forward predictors.

Names are imported when they are first used: the command line can so be interrupted from its first moment on.
"""

from __future__ import annotations

import gc
from importlib import import_module

TYPE_CHECKING = False  # as type checkers read it; the module ``typing`` would take longer to import than all else here
if TYPE_CHECKING:
    from enstruct.encoders.text import TextEncoder as TextEncoder
    from enstruct.encoders.text import TextFeatures as TextFeatures
    from enstruct.energies import EnergySpec as EnergySpec
    from enstruct.estimators import AutoMultiLabelClassifier as AutoMultiLabelClassifier
    from enstruct.estimators import EnergyMultiLabelClassifier as EnergyMultiLabelClassifier
    from enstruct.estimators import EnergySegmenter as EnergySegmenter
    from enstruct.estimators import EnergySequenceTagger as EnergySequenceTagger
    from enstruct.estimators import JointMultiLabelClassifier as JointMultiLabelClassifier
    from enstruct.estimators import LabelIssues as LabelIssues
    from enstruct.estimators import find_label_issues as find_label_issues
    from enstruct.methods import MASK_METHODS as MASK_METHODS
    from enstruct.methods import METHODS as METHODS
    from enstruct.methods import TAG_METHODS as TAG_METHODS
    from enstruct.methods import Method as Method
    from enstruct.metrics import example_f1 as example_f1
    from enstruct.metrics import example_f1_scorer as example_f1_scorer
    from enstruct.metrics import macro_f1 as macro_f1
    from enstruct.metrics import macro_f1_scorer as macro_f1_scorer
    from enstruct.metrics import micro_f1 as micro_f1
    from enstruct.metrics import micro_f1_scorer as micro_f1_scorer
    from enstruct.nn import EnergyLoss as EnergyLoss

    __version__: str

_HOMES = {
    "encoders.text": ("TextEncoder", "TextFeatures"),
    "energies": ("EnergySpec",),
    "estimators": (
        *("AutoMultiLabelClassifier", "EnergyMultiLabelClassifier", "EnergySegmenter", "EnergySequenceTagger"),
        *("JointMultiLabelClassifier", "LabelIssues", "find_label_issues"),
    ),
    "methods": ("MASK_METHODS", "METHODS", "TAG_METHODS", "Method"),
    "metrics": ("example_f1", "example_f1_scorer", "macro_f1", "macro_f1_scorer", "micro_f1", "micro_f1_scorer"),
    "nn": ("EnergyLoss",),
}
"""Module -> the names that are the library's own."""
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    """A name of the library, its version, or one of its modules. AttributeError for others."""
    value: object
    if name in _HOME:
        value = getattr(_imported(f"enstruct.{_HOME[name]}"), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version("enstruct")
    elif name.startswith("_"):
        raise AttributeError(f"module 'enstruct' has no attribute {name!r}")
    else:
        try:
            return _imported(f"enstruct.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"enstruct.{name}":
                raise  # what that module itself needs is not installed
            raise AttributeError(f"module 'enstruct' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def _imported(module: str) -> object:
    """A module and all that it needs, torch first of all: the collector of garbage, which would look through all that these are
    made of again and again, waits until they are there."""
    collects = gc.isenabled()
    if collects:  # of two threads the later one finds it off, and leaves it to the first
        gc.disable()
    try:
        return import_module(module)
    finally:
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "__version__"})
