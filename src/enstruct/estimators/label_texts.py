"""``TextEncoder(label_texts=)``: what labels are called or described by, and the encoder's vectors of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from enstruct.data.texts import as_texts
from enstruct.encoders.text import TextEncoder
from enstruct.errors import ConfigError, shown


def texts_of(label_texts: Any, classes: NDArray[Any]) -> list[str]:
    """One a label, in the order of ``classes``. ConfigError where there are others or fewer."""
    if isinstance(label_texts, str):
        if classes.dtype.kind not in "OUST" or not all(isinstance(name, str) for name in classes.tolist()):
            raise ConfigError(
                "label_texts='names' reads what labels are called, and these are numbers: give y as lists of names or a data "
                "frame, or label_texts= as a list of texts."
            )
        return [str(name).replace("_", " ") for name in classes.tolist()]
    if isinstance(label_texts, Mapping):
        missing = [name for name in classes.tolist() if name not in label_texts]
        if missing:
            raise ConfigError(f"label_texts= has no text of {shown(missing[0])} ({len(missing)} labels lack one): add it.")
        return as_texts([label_texts[name] for name in classes.tolist()])
    if len(label_texts) != len(classes):
        raise ConfigError(f"label_texts= are {len(label_texts)} texts, and there are {len(classes)} labels: give one for each.")
    return as_texts(list(label_texts))


def of_labels(base: Any, classes: NDArray[Any]) -> Any:
    """The classifier, or a clone that reads the texts of these labels by their numbers, where it reads labels by texts."""
    encoder = getattr(base, "encoder", None)
    if not isinstance(encoder, TextEncoder) or encoder.label_texts is None:
        return base
    return clone(base).set_params(encoder=replace(encoder, label_texts=texts_of(encoder.label_texts, classes)))


def vectors_of(encoder: TextEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """(texts, width) by the encoder's last layer as it is before any tuning."""
    untuned: dict[str, Any] = {"tuning": "frozen", "size": None, "learning_rate": None, "texts_a_pass": None, "label_texts": None}
    return replace(encoder, **untuned).features(list(texts))
