"""Parameters and decision rules as JSON and back, without running anybody's code.

A value class (``VALUES``) is written as its name and fields, and made again only of fields that have their declared types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from enstruct import hypergradients, inference, negatives, objectives, rules
from enstruct.baselines import SOLVED
from enstruct.data.hierarchy import Hierarchy
from enstruct.encoders.text import TextEncoder
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, EnstructError, ModelFileError
from enstruct.methods import Method, PredictorLoss, Stage
from enstruct.rules import masks, tags

OF_NEGATIVES = (
    *("PredictorPoint", "PredictorSamples", "PerturbedSamples", "CostAugmentedNet", "InferencePoint", "ValueTuples"),
    *("ValueMixtures", "UnrolledIterates", "Partition", "SearchPair", "ConditionalSamples", "LabelFlips", "TokenChanges"),
    *("FreeEnergy", "Normalised"),
)
OF_INFERENCE = (
    *("Inference", "Unrolled", "Exact", "Chain", "MeanOfDraws"),
    *("MirrorDescent", "ProjectedGradient", "AdamOnLogits", "ProjectedAdam"),
)
OF_COUPLINGS = ("Alternating", "Unrolled", "Implicit", "Neumann", "ConjugateGradient", "Diagonal", "ShermanMorrison", "Identity")
OF_RULES = ("Implies", "Excludes", "AtMost", "AtLeast", "Exactly", "Requires", "Forbids", "Not", "Soft")
OF_TAG_RULES = ("NeverFollows", "OnlyFollows", "Starts", "Ends", "AtMostOnce", "Gazetteer")
VALUES: dict[str, Any] = {
    **{cls.__name__: cls for cls in (EnergySpec, Hierarchy, Method, PredictorLoss, Stage, TextEncoder)},
    **{f"rules.{name}": getattr(rules, name) for name in OF_RULES},
    **{f"rules.tags.{name}": getattr(tags, name) for name in OF_TAG_RULES},
    **{f"rules.masks.{cls.__name__}": cls for cls in masks.MASK_RULES},
    **{name: getattr(negatives, name) for name in OF_NEGATIVES},
    **{name: getattr(inference, name) for name in OF_INFERENCE},
    **{f"hypergradients.{name}": getattr(hypergradients, name) for name in OF_COUPLINGS},
}
"""The value classes a parameter may hold."""
NAMES = {cls: name for name, cls in VALUES.items()}
FUNCTIONS: dict[str, dict[str, Any]] = {
    "objective": {each.name: each for each in vars(objectives).values() if isinstance(each, objectives.Objective)},
    "solver": {solver.__name__: solver for solver in SOLVED},
}
"""Columns of a method's row that are functions: kind -> name -> the function, of enstruct's own."""


def is_code(value: Any) -> bool:
    """Not a name, and not one of the value classes that can be written as data, with all that is in it."""
    if isinstance(value, str):
        return False
    try:
        encode_parameter("", value)
    except ConfigError:
        return True
    return type(value) not in NAMES


def encode_parameter(name: str, value: Any) -> Any:
    """A parameter as JSON; ConfigError for what cannot be restored without running code."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {"dict": [[encode_parameter(name, k), encode_parameter(name, v)] for k, v in value.items()]}
    for kind, functions in FUNCTIONS.items():
        if (own := next((known for known, function in functions.items() if function is value), None)) is not None:
            return {kind: own}
    if isinstance(value, TextEncoder):
        value = value.for_a_file()
    if is_dataclass(value) and type(value) in NAMES:
        content = {field.name: encode_parameter(name, getattr(value, field.name)) for field in fields(value)}
        return {"value": NAMES[type(value)], "fields": content}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [encode_parameter(name, entry) for entry in value]
    if isinstance(value, np.random.RandomState):
        return None  # a generator's state is not part of a fitted model
    raise ConfigError(f"The parameter {name}={value!r} cannot be saved; use a named method, a number or an EnergySpec.")


def decode_parameter(name: str, value: Any) -> Any:
    """The inverse of :func:`encode_parameter`; ModelFileError for what it does not write."""
    if isinstance(value, list):
        return tuple(decode_parameter(name, entry) for entry in value)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"dict"}:
        pairs = value["dict"]
        if isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 2 and not isinstance(p[0], dict) for p in pairs):
            return {decode_parameter(name, k): decode_parameter(name, v) for k, v in pairs}
    if value.keys() == {"value", "fields"} and isinstance(value["fields"], dict):
        return _value(name, value["value"], {k: decode_parameter(name, v) for k, v in value["fields"].items()})
    for kind, functions in FUNCTIONS.items():
        if value.keys() == {kind} and isinstance(value[kind], str) and value[kind] in functions:
            return functions[value[kind]]
    raise ModelFileError(f"The parameter {name} is not written as enstruct does.")


def _value(name: str, of: Any, content: dict[str, Any]) -> Any:
    cls = VALUES.get(of) if isinstance(of, str) else None
    if cls is None:
        raise ModelFileError(f"The parameter {name} names an unknown value class {of!r}.")
    if cls is TextEncoder and not isinstance(content.get("cache", True), bool):
        raise ModelFileError(f"The parameter {name} names a folder to keep features in, which is the reader's to choose.")
    hints = get_type_hints(cls)
    for field in fields(cls):
        if field.name in content and not conforms(content[field.name], hints[field.name]):
            raise ModelFileError(f"The parameter {name} has {of}({field.name}={content[field.name]!r}).")
    try:
        return cls(**content)
    except (EnstructError, TypeError) as error:
        raise ModelFileError(f"The parameter {name} is no {of} ({error}).") from error


def conforms(value: Any, hint: Any) -> bool:
    """Whether a decoded value is of the type that a field declares. An int is a float; a protocol is met by a value class that
    has its members."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(conforms(value, arg) for arg in args)
    if origin is Literal:
        return any(type(value) is type(arg) and value == arg for arg in args)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if args[-1] is Ellipsis:
            return all(conforms(entry, args[0]) for entry in value)
        return len(value) == len(args) and all(map(conforms, value, args))
    if origin is Sequence:
        return isinstance(value, tuple) and all(conforms(entry, args[0]) for entry in value)
    if hint in (None, NoneType):
        return value is None
    if hint in (int, float):
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        return whole or (hint is float and isinstance(value, float))
    if origin is Callable:
        return callable(value)
    if origin is dict:
        return isinstance(value, dict)
    if getattr(hint, "_is_protocol", False):
        return type(value) in NAMES and all(hasattr(value, member) for member in dir(hint) if not member.startswith("_"))
    return hint is Any or isinstance(value, hint)


def encode_rule(rule: Any) -> dict[str, Any]:
    """A fitted decision rule's numbers."""
    return {k: v for k, v in vars(rule).items() if k != "posterior"}


def decode_rule(rule: Any, content: dict[str, Any]) -> Any:
    """The numbers of :func:`encode_rule` into a rule of the same kind."""
    for name, value in content.items():
        setattr(rule, name, np.array(value) if isinstance(value, list) else value)
    return rule
