"""How models, versions and times are told in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import safe_open

from enstruct.environment import environment
from enstruct.estimators import AutoMultiLabelClassifier
from enstruct.report.blocks import counted


def seconds(value: float) -> str:
    """As "0.34 s" or "3.2 min"."""
    if value < 1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value / 60:.3g} min"


def size(n_bytes: int) -> str:
    """As "1.3 MB"."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.3g} {unit}"
    return counted(n_bytes, "byte")


def bytes_of(folder: Path) -> int:
    """All files of a model."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def numbers_in(folder: Path) -> int:
    """How many numbers the files of weights of a model hold."""
    total = 0
    for path in sorted(folder.rglob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118 (which is no dict)
                shape = file.get_slice(name).get_shape()
                n = 1
                for width in shape:
                    n *= width
                total += n
    return total


def model_facts(model: Any) -> dict[str, Any]:
    """What a model is, in words: its class, method or base, and energy."""
    model = getattr(model, "joint_", model)
    told: dict[str, Any] = {"model": type(model).__name__}
    if hasattr(model, "base_"):
        told |= {"method": "joint", "base": " + ".join(one.base.name for one in model.base_), "terms of the energy": model.terms_}
    elif isinstance(model, AutoMultiLabelClassifier):
        told |= {"answers by": model.chosen_, "average of": counted(len(model.members_), "model")}
    else:
        method = model.method if isinstance(model.method, str) else getattr(model.method, "name", "its own")
        told |= {"method": method, "terms of the energy": terms_of(model.energy_)}
    told["fitted for"] = getattr(model, "metric_", model.metric)
    return told


def terms_of(energy: Any) -> str | None:
    """The terms of a sum, by the names that they have; None where there is no energy."""
    if energy is None:
        return None
    terms = getattr(energy, "terms", None)
    names = [type(term).__name__.removesuffix("Energy") for term in ([energy] if terms is None else terms)]
    return ", ".join(name.lower() for name in names)


def versions() -> str:
    """Of what has made the report."""
    where = environment()
    return f"enstruct {where['enstruct']}, torch {where['torch']}, Python {where['python']}, NumPy {where['numpy']}"


def machine() -> str:
    """What times were measured on."""
    where = environment()
    return f"{where['processor'] or where['machine']}, {counted(where['threads'], 'thread')}"
