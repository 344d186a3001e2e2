"""Saved models: a folder with ``model.json`` and ``weights.safetensors``. Nothing in it is executed on load.

model.json
    format      2, raised when old readers cannot read new files; 1 was enstruct 0.1, with parameters of other names
    library     the version that wrote it
    weights     SHA-256 of weights.safetensors (models from before it was kept have none)
    parameters  the estimator's parameters (a custom encoder or energy network is named in ``custom``)
    labels      kind, classes, sparse
    input       number and names of features; of models of texts how these are read: their terms and idf, or an encoder's digest
    rules       every fitted decision rule and which one is in force
    history     one record an epoch
weights.safetensors
    predictor/…, energy/…, scaler/…, varying, constants, columns (those the networks take, where not all)

What each may hold is checked against :mod:`enstruct.estimators.saved_header` before anything is made of it, and the shapes of the
weights against networks that take no memory before they are read.

An automatic classifier's folder has auto.json and a folder for each of its members, a joint classifier's joint.json, the weights
of its energy and such folders of its base's models.

In the place of "labels", "input" and "rules" a tagger's folder has "tokens" (words, characters and values that have a number),
"tags" and "metric", a segmenter's "images", "masks" and "threshold".
"""

from __future__ import annotations

import hashlib
import json
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from enstruct.errors import MissingEncoderError, ModelFileError, SaveError, shortened, shown
from enstruct.estimators.saved_header import Header, typed_header
from enstruct.estimators.saved_values import decode_parameter
from enstruct.files import replace_folder, write_tensors
from enstruct.workplaces import being_replaced, identity, recover, workplace

OLDEST, FORMAT = 2, 3
"""Formats that are read, from the first to the second, which is written."""
HEADER, WEIGHTS, AUTOMATIC, JOINT = "model.json", "weights.safetensors", "auto.json", "joint.json"
LARGEST_HEADER = 2**28
"""Bytes: no vocabulary and no history comes near."""
CONSTANTS = "constants"
"""The tensor of each label's only value in training, NaN of those that vary."""
READS = 50
"""Times that a folder is read again which somebody replaces meanwhile."""
T = TypeVar("T")

# -- writing --------------------------------------------------------------------------------------


def write_folder(path: Path | str, header: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Whole or not at all; a model of the same estimator is replaced, any other path refused (:func:`check_place`)."""
    header = {"format": FORMAT, "library": version("enstruct"), **header}

    def fill(folder: Path) -> None:
        digest = write_weights(folder, tensors)
        (folder / HEADER).write_text(to_json({**header, "weights": digest}), encoding="utf-8")

    put_folder(Path(path), fill, header["estimator"])


def write_weights(folder: Path, tensors: dict[str, Tensor]) -> str:
    """A folder's weights; their SHA-256."""
    write_tensors(folder / WEIGHTS, tensors, {})
    return _digest(folder / WEIGHTS)


def put_folder(path: Path, fill: Callable[[Path], Any], estimator: str) -> None:
    """``fill`` a folder and put it at ``path``, where nothing or a model of the same estimator may be."""
    check_place(path, estimator)
    replace_folder(path, fill, lambda there: check_replaceable(there, estimator))


def check_place(path: Path, estimator: str) -> None:
    """Whether a model may be written there: ModelFileError for what must stay, SaveError where nothing can be written."""
    path = path.resolve()
    check_replaceable(path, estimator)
    existing = next(folder for folder in path.parents if folder.exists())
    try:
        with workplace(existing / path.name):
            pass
    except OSError as error:
        raise SaveError(f"Could not write beside {path}: {error}. Choose another place.") from error


def check_replaceable(path: Path, estimator: str) -> None:
    """ModelFileError unless nothing is at ``path``, or a model of this estimator in a folder that holds nothing but its files."""
    recover(path)
    if not path.exists():
        return
    name = next((name for name in (AUTOMATIC, JOINT) if (path / name).is_file()), HEADER)
    if not (path / name).is_file():
        raise ModelFileError(f"{path} exists and is not an enstruct model (no {name}); choose another place.")
    try:
        header = read_header(path, name)
    except ModelFileError as error:
        raise ModelFileError(
            f"{path} is not replaced: its {name} is damaged or not of enstruct. Choose another place."
        ) from error
    if header["estimator"] != estimator:
        raise ModelFileError(f"{path} holds a {header['estimator']}; no {estimator} is put in its place: choose another.")
    if (odd := _foreign(path, header, name)) is not None:
        raise ModelFileError(f"{path} is not replaced: {odd.relative_to(path)} in it is not the model's. Move it away first.")


def _foreign(path: Path, header: dict[str, Any], name: str) -> Path | None:
    """Something in a model's folder that is not the model's."""
    members = [] if name == HEADER else header.get("members", [])
    own = {name, *(() if name == AUTOMATIC else (WEIGHTS,)), *(f"member-{i}" for i in range(len(members)))}
    for entry in sorted(path.iterdir()):
        if entry.name not in own or entry.is_symlink() or entry.is_dir() != entry.name.startswith("member-"):
            return entry
        if entry.is_dir() and (odd := _foreign(entry, {}, HEADER)) is not None:
            return odd
    return None


def to_json(header: dict[str, Any]) -> str:
    """With numpy's numbers and arrays as plain ones."""
    return json.dumps(header, indent=1, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{type(value)} is not JSON")


# -- reading --------------------------------------------------------------------------------------


def steadily(path: Path | str, read: Callable[[Path], T]) -> T:
    """What ``read`` makes of a folder that may be replaced meanwhile; what a killed saver left is put right first."""
    path = Path(path)
    for _ in range(READS):
        if not path.exists():
            recover(path.resolve())
        before = identity(path)
        try:
            return read(path)
        except ModelFileError:
            if identity(path) == before and not being_replaced(path.resolve()):
                raise
            time.sleep(0.01)
    return read(path)


def read_header(path: Path, name: str = HEADER) -> dict[str, Any]:
    """The header of a model's folder. ModelFileError if it is missing, damaged, foreign or from a newer format."""
    try:
        header = json.loads(_read_regular(path / name, LARGEST_HEADER).decode("utf-8"))
    except FileNotFoundError as error:
        other = next((other for other in (HEADER, AUTOMATIC, JOINT) if other != name and (path / other).is_file()), None)
        if other is not None:
            raise ModelFileError(
                f"{path} is a model of another class: it has {other}, and no {name}. Load it by its own class."
            ) from error
        raise ModelFileError(f"{path} is not an enstruct model folder: it has no {name}.") from error
    except NotADirectoryError as error:
        raise ModelFileError(f"{path} is a file, and a model is a folder: name that.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path / name} is damaged ({type(error).__name__}: {error}).") from error
    known = isinstance(header, dict) and isinstance(header.get("estimator"), str) and isinstance(header.get("parameters"), dict)
    if not known or not isinstance(header.get("format"), int):
        raise ModelFileError(f"{path / name} was not written by enstruct.")
    if header["format"] < OLDEST:
        raise ModelFileError(
            f"{path} was saved by enstruct {header.get('library')}, whose parameters had other names: fit it anew with this "
            "enstruct, or load it with that one (pip install 'enstruct<0.2')."
        )
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{path} has model format {header['format']}, this enstruct reads up to {FORMAT}: "
            f"it was written by enstruct {header.get('library')}; upgrade to load it."
        )
    return header


def _read_regular(path: Path, most: int) -> bytes:
    """The bytes of a regular file: a device or a pipe might never end. OSError, and ValueError for more than ``most``."""
    _check_regular(path)
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"more than {most} bytes")
    return content


def _check_regular(path: Path) -> None:
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is no regular file")


FORMER_PARAMETERS = {"hierarchy": "rules"}
"""Of folders that were written before."""


def header_of(cls: type, kind: type[Header], path: Path, name: str = HEADER) -> tuple[Header, dict[str, Any]]:
    """(header, parameters) of the estimator the folder holds. ModelFileError if it is another one, or they are damaged."""
    plain = read_header(path, name)
    if plain["estimator"] != cls.__name__:
        raise ModelFileError(f"{path} holds a {plain['estimator']}, not a {cls.__name__}.")
    header = typed_header(plain, kind, path)
    parameters = {FORMER_PARAMETERS.get(name, name): value for name, value in plain["parameters"].items()}
    return header, {name: decode_parameter(name, value) for name, value in parameters.items()}


@contextmanager
def fitting_parts(folder: Path) -> Iterator[None]:
    """A ModelFileError for what a block raises whose files are well formed, and their parts do not fit together."""
    try:
        yield
    except ModelFileError:
        raise
    except MissingEncoderError as error:
        raise ModelFileError(
            f"{folder} reads texts by an encoder that is not where it was: {shortened(str(error), 120)} Say where it lies, as "
            "load(path, encoder='folder') or --encoder FOLDER."
        ) from error
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{folder} is damaged or does not fit its own description ({error}).") from error


class Weights:
    """The tensors of a folder's weights.safetensors: first what they are like, then, when asked, themselves.

    ``shapes``: name -> shape. ModelFileError for a file that is missing, damaged, or no regular one.
    """

    def __init__(self, folder: Path, digest: str | None) -> None:
        self.path, self.digest = folder / WEIGHTS, digest
        with self._errors():
            _check_regular(self.path)
            with safe_open(self.path, framework="pt") as file:
                self.shapes = {key: tuple(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118

    def check(self, prefix: str, expected: dict[str, tuple[int, ...]]) -> None:
        """ModelFileError unless the tensors under ``prefix`` are these, of these shapes."""
        there = {key[len(prefix) :]: shape for key, shape in self.shapes.items() if key.startswith(prefix)}
        for key in sorted(there.keys() | expected.keys()):
            if there.get(key) != expected.get(key):
                raise ModelFileError(
                    f"{self.path} does not fit its {HEADER}: {prefix}{key} is {there.get(key, 'missing')} there, and should be "
                    f"{expected.get(key, 'missing')}."
                )

    def check_modules(self, **modules: torch.nn.Module | None) -> None:
        """Likewise of the networks under their names; such on torch's meta device take no memory."""
        for name, module in modules.items():
            tensors = {} if module is None else module.state_dict()
            self.check(f"{name}/", {key: tuple(value.shape) for key, value in tensors.items()})

    def read(self, finite: bool = True) -> dict[str, Tensor]:
        """All tensors. ModelFileError where they are not those of the header; ``finite``: and where one is no finite number."""
        with self._errors():
            if self.digest is not None and _digest(self.path) != self.digest:
                raise ModelFileError(f"{self.path} is damaged, or belongs to another {HEADER}: put both back as saved.")
            with safe_open(self.path, framework="pt") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        for key, value in tensors.items():
            if finite and value.is_floating_point() and not (torch.isfinite(value) | (value.isnan() & (key == CONSTANTS))).all():
                raise ModelFileError(f"{self.path} is damaged: {shown(key)} holds what is no finite number.")
        return tensors

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (SafetensorError, OSError) as error:
            raise ModelFileError(f"{self.path} is missing or damaged ({error}).") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors of one network, by their own names."""
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
