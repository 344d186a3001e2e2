"""What each parameter of the estimators may be: one :data:`~enstruct.validation.Check` a parameter, made before anything else.

What parameters may be together is the estimators' own to say, and what data they go with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from enstruct import validation
from enstruct.data.embeddings import WordVectors
from enstruct.data.tag_schemes import SCHEMES
from enstruct.decisions.choose import RULES
from enstruct.decisions.risk import RISKS, decision_among
from enstruct.encoders.activations import ACTIVATIONS
from enstruct.encoders.text import TextEncoder
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, shown
from enstruct.methods import Method
from enstruct.rules.labels import is_over_labels
from enstruct.rules.masks import MASK_RULES
from enstruct.rules.soft import bare
from enstruct.rules.tags import TAG_RULES
from enstruct.tasks import LABELS, MASKS, TAGS, Task
from enstruct.training.optimizers import OPTIMIZERS
from enstruct.validation import Check, is_whole, one_of, optional, or_object, satisfying, switch, whole, word_or
from enstruct.weak_supervision.expectations import Expectation

NETWORKS = ("unet", "fcn")
MOST_LAYERS, MOST_LEVELS = 1000, 16
"""Of a network: beyond these a slip of the pen would fill the memory."""
MOMENTS = ("on_train_begin", "on_batch_end", "on_epoch_end", "on_train_end")
"""What a callback is told of."""
Table = Mapping[str, Check]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_path(value: Any) -> bool:
    return isinstance(value, Path) or _is_text(value)


def _is_list(value: Any) -> bool:
    """Of whatever is in it, in an order."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _listed(value: Any) -> Any:
    """Arrays as lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def _instance(kind: type | tuple[type, ...], wanted: str) -> Check:
    """Of a class, ``wanted`` in words."""
    return satisfying(lambda value: isinstance(value, kind), wanted)


def _is_size(value: Any) -> bool:
    return _is_list(value) and len(value) == 2 and all(is_whole(side) and side > 0 for side in value)


def _is_encoder(value: Any) -> bool:
    return callable(value) or _is_text_encoder(value)


def _is_text_encoder(value: Any) -> bool:
    """ConfigError for settings of one that cannot be meant."""
    return isinstance(value, TextEncoder) and value.check() is value


_callbacks = satisfying(
    lambda value: _is_list(value) and all(any(hasattr(each, moment) for moment in MOMENTS) for each in value),
    "a list of callbacks",
)
COMPLETE_CALLBACKS = satisfying(
    lambda value: all(hasattr(each, moment) for each in value for moment in MOMENTS),
    f"callbacks with {', '.join(MOMENTS)} where networks are trained (derive them from enstruct.training.callbacks.Callback)",
)
_passes = satisfying(
    lambda value: (is_whole(value) and value > 0) or (isinstance(value, str) and value == "auto"),
    "'auto' or a positive whole number",
)


def _auto_or(check: Check) -> Check:
    """A number that passes the check, or "auto"."""
    no_text = satisfying(lambda value: not isinstance(value, str), "'auto' or a number")

    def either(name: str, value: Any) -> None:
        if not (isinstance(value, str) and value == "auto"):
            no_text(name, value)
            check(name, value)

    return either


are_classes = satisfying(
    lambda value: (_is_list(_listed(value)) or isinstance(value, (set, frozenset))) and len(value) > 0, "a list of all classes"
)

SHARED: Table = {
    "dropout": validation.dropout,
    "encoder": optional(satisfying(_is_encoder, "a module, a function that makes one, or a TextEncoder")),
    "energy_network": optional(_instance((EnergySpec, nn.Module), "an EnergySpec or a module (an instance)")),
    "learning_rate": validation.positive,
    "weight_decay": validation.not_negative,
    "clip": optional(validation.positive_or_infinite),
    "batch_size": validation.count,
    "optimizer": one_of("optimizer", OPTIMIZERS),
    "max_epochs": _passes,
    "n_iter_no_change": _passes,
    "tol": validation.not_negative,
    "validation_fraction": validation.share,
    "random_state": validation.seed,
    "warm_start": switch(),
    "verbose": or_object(whole(0), lambda value: isinstance(value, bool)),
    "device": satisfying(lambda value: isinstance(value, torch.device) or _is_text(value), "'auto', 'cpu' or 'cuda'"),
    "callbacks": optional(_callbacks),
}


def _method(task: Task) -> Check:
    named = one_of("method", task.methods)

    def check(name: str, value: Any) -> None:
        if isinstance(value, Method):
            return
        if task.name == "labels" and hasattr(value, "fit") and hasattr(value, "predict"):
            raise ConfigError(f"{name} must be the name of a method: give {shown(value)} as base=, which the joint stands on.")
        named(name, value)

    return check


def _of_task(task: Task, automatic_metric: bool = False) -> Table:
    """What each task has its own names for."""
    metrics = ("auto", *task.metrics) if automatic_metric else tuple(task.metrics)
    return {
        **SHARED,
        "method": _method(task),
        "metric": one_of(METRIC_OF[task.name], metrics),
        "decision": one_of("decision rule", ("auto", *task.rules)),
    }


def _are_tag_rules(value: Any) -> bool:
    several = value if isinstance(value, (list, tuple)) else [value]
    return all(isinstance(bare(one), TAG_RULES) for one in several)


def _are_mask_rules(value: Any) -> bool:
    return all(isinstance(bare(one), MASK_RULES) for one in (value if isinstance(value, (list, tuple)) else [value]))


def _are_rules(value: Any) -> bool:
    several = value if isinstance(value, (list, tuple)) else [value]
    return all(is_over_labels(one) for one in several)


METRIC_OF = {"labels": "metric", "tags": "tag metric", "masks": "mask metric"}
LABEL_SETS: Table = {
    **_of_task(LABELS),
    "learning_rate": _auto_or(validation.positive),
    "batch_size": _auto_or(validation.count),
    "hidden": whole(1),
    "layers": whole(0, MOST_LAYERS),
    "nonlinearity": one_of("nonlinearity", ACTIVATIONS),
    "monitor": one_of("monitor", ("auto", "fixed")),
    "learn_constant": switch(),
    "early_stopping": switch("auto"),
    "standardize": switch("auto", "tfidf"),
    "class_weight": optional(word_or("balanced", _instance(dict, "None, 'balanced' or a dict"))),
    "rules": optional(satisfying(_are_rules, "a rule of enstruct.rules, or a list of them")),
}

TAG_SEQUENCES: Table = {
    **_of_task(TAGS, automatic_metric=True),
    "scheme": optional(one_of("tag scheme", ("auto", *SCHEMES))),
    "classes": optional(
        satisfying(lambda value: _is_list(_listed(value)) and all(map(_is_text, _listed(value))), "a list of tags")
    ),
    "rules": optional(satisfying(_are_tag_rules, "a rule of enstruct.rules.tags, or a list of them")),
    "embeddings": optional(satisfying(lambda value: _is_path(value) or isinstance(value, WordVectors), "a path or WordVectors")),
    "embedding_dim": whole(1),
    "clusters": optional(
        satisfying(lambda value: _is_path(value) or isinstance(value, Mapping), "a path or a dict of word -> bits")
    ),
    "characters": whole(0),
    "hidden": whole(1),
    "layers": whole(1, MOST_LAYERS),
    "energy_network": optional(_instance(EnergySpec, "an EnergySpec or None")),
    "initial": optional(
        satisfying(
            lambda value: hasattr(value, "predictor_") and hasattr(value, "tags_"),
            "a fitted EnergySequenceTagger (scikit-learn's clone() makes it an unfitted one)",
        )
    ),
}

PIXELS: Table = {
    **_of_task(MASKS),
    "classes": optional(
        satisfying(lambda value: _is_list(_listed(value)) and all(map(_is_value, _listed(value))), "a list of whole numbers")
    ),
    "ignore": optional(whole(-(2**31), 2**31)),
    "binarise": optional(whole(-(2**31), 2**31)),
    "rules": optional(satisfying(_are_mask_rules, "a rule of enstruct.rules.masks, or a list of them")),
    "size": optional(satisfying(_is_size, "(height, width), whole numbers from 1 on")),
    "crop": optional(whole(1, 2**31)),
    "augment": switch(),
    "network": one_of("network", NETWORKS),
    "width": whole(1),
    "levels": whole(0, MOST_LEVELS),
}

WEAK_SUPERVISION: Table = {
    "unlabelled": optional(satisfying(_is_list, "a list of sentences")),
    "reward": optional(
        satisfying(lambda value: hasattr(value, "read") and hasattr(value, "score"), "a reward (enstruct.weak_supervision)")
    ),
    "expectations": optional(
        satisfying(
            lambda value: _is_list(value) and all(isinstance(each, Expectation) for each in value),
            "a list of expectations (enstruct.weak_supervision)",
        )
    ),
}
"""What a tagger's ``fit`` takes beside tagged sentences."""

AUTOMATIC: Table = {
    "methods": optional(satisfying(_is_list, "a list of names of methods")),
    "members": whole(1),
    "minutes": validation.positive_or_infinite,
    "metric": LABEL_SETS["metric"],
    "settings": optional(_instance(Mapping, "a dict of parameters of members")),
    "folds": whole(2),
    "random_state": validation.seed,
    "member_callbacks": optional(satisfying(callable, "a function that makes a list of callbacks of a title")),
}
OF_A_JOINT = "a TextEncoder (a module of your own: base=EnergyMultiLabelClassifier('cross-entropy', encoder=module))"
JOINT: Table = {
    "encoder": optional(satisfying(_is_text_encoder, OF_A_JOINT)),
    "metric": LABEL_SETS["metric"],
    "decision": decision_among("decision rule", ("auto", *(name for name in RULES if name != "bayes-risk"), *RISKS)),
    "folds": whole(1),
    "minutes": validation.positive_or_infinite,
    "n_iter_no_change": LABEL_SETS["n_iter_no_change"],
    "rules": LABEL_SETS["rules"],
    "random_state": validation.seed,
}


def _is_value(value: Any) -> bool:
    """Of a mask."""
    return is_whole(value) and abs(value) <= 2**31


def check_parameters(estimator: Any, table: Table) -> None:
    """ConfigError for the first parameter that is not what the table says; those of subclasses are theirs."""
    for name, check in table.items():
        check(name, getattr(estimator, name))
