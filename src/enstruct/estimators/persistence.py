"""Saved models: a folder with ``model.json`` and ``weights.safetensors``. Nothing in it is executed on load.

model.json
    format      1, raised when old readers cannot read new files
    library     the version that wrote it
    weights     SHA-256 of weights.safetensors (models from before it was kept have none)
    parameters  the estimator's parameters (a custom encoder or energy network is named in ``custom``)
    labels      kind, classes, sparse
    input       number and names of features
    rules       every fitted decision rule and which one is in force
    history     one record an epoch
weights.safetensors
    predictor/…, energy/…, scaler/…, varying, constants, columns (those the networks take, where not all)

In the place of "labels", "input" and "rules" a tagger's folder has "tokens" (words, characters and values that have a number),
"tags" and "metric", a segmenter's "images", "masks" and "threshold".
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from enstruct import hypergradients, inference, negatives
from enstruct.data.hierarchy import Hierarchy
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, ModelFileError, SaveError
from enstruct.files import replace_folder, write_tensors

FORMAT = 1
VALUES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        EnergySpec,
        Hierarchy,
        negatives.PredictorPoint,
        negatives.PredictorSamples,
        negatives.PerturbedSamples,
        negatives.CostAugmentedNet,
        negatives.InferencePoint,
        negatives.ValueTuples,
        negatives.UnrolledIterates,
        negatives.Partition,
        negatives.SearchPair,
        inference.Inference,
        inference.Unrolled,
        inference.Exact,
        inference.Chain,
        inference.MirrorDescent,
        inference.ProjectedGradient,
        inference.AdamOnLogits,
        inference.ProjectedAdam,
    )
} | {
    f"hypergradients.{name}": getattr(hypergradients, name)
    for name in (
        "Alternating",
        "Unrolled",
        "Implicit",
        "Neumann",
        "ConjugateGradient",
        "Diagonal",
        "ShermanMorrison",
        "Identity",
    )
}
"""The value classes a parameter may hold."""
NAMES = {cls: name for name, cls in VALUES.items()}


def write_folder(path: Path | str, header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Whole or not at all; an existing model folder is replaced, any other existing path is refused."""
    path = Path(path)
    check_place(path)
    header = {"format": FORMAT, "library": version("enstruct"), **header}

    def fill(folder: Path) -> None:
        write_tensors(folder / "weights.safetensors", tensors, {})
        written = to_json({**header, "weights": _digest(folder / "weights.safetensors")})
        (folder / "model.json").write_text(written, encoding="utf-8")

    replace_folder(path, fill)


def check_place(path: Path, holds: str = "model.json") -> None:
    """Whether a model may be written there: ModelFileError for something else in its place, SaveError where nothing can be."""
    path = path.resolve()
    if path.exists() and not (path / holds).is_file():
        raise ModelFileError(f"{path} exists and is not an enstruct model of this kind (no {holds}); choose another place.")
    trial = path.with_name(f".{path.name}.{os.getpid()}.trial")
    try:
        trial.mkdir(parents=True)
        trial.rmdir()
    except OSError as error:
        raise SaveError(f"Could not write beside {path}: {error}. Choose another place.") from error


def to_json(header: dict[str, Any]) -> str:
    """With numpy's numbers and arrays as plain ones."""
    return json.dumps(header, indent=1, default=_plain)


def read_folder(path: Path | str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """ModelFileError if it is missing, corrupt, foreign or from a newer format."""
    path = Path(path)
    try:
        header = json.loads((path / "model.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} is not an enstruct model folder: it has no model.json.") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path / 'model.json'} is damaged ({error}).") from error
    if not isinstance(header, dict) or not isinstance(header.get("format"), int) or "parameters" not in header:
        raise ModelFileError(f"{path / 'model.json'} was not written by enstruct.")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{path} has model format {header['format']}, this enstruct reads up to {FORMAT}: "
            f"it was written by enstruct {header.get('library')}; upgrade to load it."
        )
    weights = path / "weights.safetensors"
    try:
        if header.get("weights", digest := _digest(weights)) != digest:
            raise ModelFileError(f"{weights} is missing or damaged, or belongs to another model.json: put both back as saved.")
        with safe_open(weights, framework="pt") as file:
            return header, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{weights} is missing or damaged ({error}).") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def encode_parameter(name: str, value: Any) -> Any:
    """A parameter as JSON; ConfigError for what cannot be restored without running code."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, dict):
        return {"dict": [[encode_parameter(name, k), encode_parameter(name, v)] for k, v in value.items()]}
    if is_dataclass(value) and type(value) in NAMES:
        held = {field.name: encode_parameter(name, getattr(value, field.name)) for field in fields(value)}
        return {"value": NAMES[type(value)], "fields": held}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [encode_parameter(name, entry) for entry in value]
    if isinstance(value, np.random.RandomState):
        return None  # a generator's state is not part of a fitted model
    raise ConfigError(f"The parameter {name}={value!r} cannot be saved; use a named method, a number or an EnergySpec.")


def decode_parameter(value: Any) -> Any:
    if isinstance(value, dict) and "dict" in value:
        return {decode_parameter(k): decode_parameter(v) for k, v in value["dict"]}
    if isinstance(value, dict) and "value" in value:
        if value["value"] not in VALUES:
            raise ModelFileError(f"The model names an unknown value class {value['value']!r}.")
        return VALUES[value["value"]](**{k: decode_parameter(v) for k, v in value["fields"].items()})
    return tuple(decode_parameter(entry) for entry in value) if isinstance(value, list) else value


def parameters_for(cls: type, header: dict[str, Any], path: Path | str, custom: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator the folder holds; ModelFileError if it is another one, or code it needs is not given."""
    if header.get("estimator") != cls.__name__:
        raise ModelFileError(f"{path} holds a {header.get('estimator')}, not a {cls.__name__}.")
    try:
        missing = [name for name in header["custom"] if name not in custom]
        parameters = {k: decode_parameter(v) for k, v in header["parameters"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} is damaged or does not fit its own description ({error}).") from error
    if missing:
        raise ModelFileError(f"{path} was trained with custom {', '.join(missing)}: pass {missing[0]}=... to load.")
    return parameters


def is_code(value: Any) -> bool:
    """Not a name, and not one of the value classes that can be written as data."""
    return not isinstance(value, str) and type(value) not in NAMES


def under(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """The tensors of one network, by their own names."""
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}


def encode_rule(rule: Any) -> dict[str, Any]:
    return {k: v for k, v in vars(rule).items() if k != "posterior"}


def decode_rule(rule: Any, fields: dict[str, Any]) -> Any:
    for name, value in fields.items():
        setattr(rule, name, np.array(value) if isinstance(value, list) else value)
    return rule


def _plain(value: Any) -> Any:
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value)} is not JSON")
