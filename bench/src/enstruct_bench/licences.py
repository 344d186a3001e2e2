"""The licences of all that enstruct stands on, as the packages that are installed here declare them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement

ROOTS = ("enstruct", "enstruct-bench")
UNKNOWN = "not declared"
MOST = 60


class Dependency(NamedTuple):
    """``licence``: an SPDX expression where the package declares one, else its own words; ``of``: what asks for it, first."""

    name: str
    version: str
    licence: str
    of: str


def dependencies(pyproject: Path | None = None) -> list[Dependency]:
    """All that is installed of what is asked for, extras and what those ask for among it, in the order of their names; with a
    ``pyproject.toml``, of its groups too, which are what the tests need."""
    waiting = [(name, "") for name in ROOTS]
    if pyproject is not None:
        groups = tomllib.loads(pyproject.read_text(encoding="utf-8")).get("dependency-groups", {})
        for group, lines in groups.items():
            waiting += [(_name(line), f"group {group}") for line in lines if isinstance(line, str)]
    found: dict[str, Dependency] = {}
    while waiting:
        name, of = waiting.pop(0)
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:  # an extra that is not installed, or of another system
            continue
        found[name] = Dependency(name, package.version, licence_of(package), of)
        waiting += [(each, name) for each in _asked_for(package.requires or ())]
    return sorted(one for one in found.values() if one.name not in ROOTS)


def licence_of(package: Distribution) -> str:
    """As its metadata have it: an expression, the classifiers, or a line of text, in this order."""
    data: Any = package.metadata
    if expression := data.get("License-Expression"):
        return str(expression)
    classifiers = [line.rsplit(" :: ", 1)[-1] for line in data.get_all("Classifier") or () if line.startswith("License :: ")]
    classifiers = [line for line in classifiers if line != "OSI Approved"]
    if classifiers:
        return "; ".join(sorted(classifiers))
    text = str(data.get("License") or "").strip().splitlines()
    if text and text[0].strip() not in ("", "UNKNOWN"):
        return text[0].strip()[:MOST]
    return _of_files(package)


def _of_files(package: Distribution) -> str:
    """By the first line of a licence file that says which it is."""
    for path in package.files or ():
        if re.match(r"(?i)(licen[cs]e|copying)", path.name):
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError):
                continue
            if first := next((line.strip() for line in lines if re.search(r"(?i)licen[cs]e", line)), ""):
                return first[:MOST]
    return UNKNOWN


def _asked_for(requirements: Iterable[str]) -> list[str]:
    return [name for line in requirements if (name := _name(line))]


def _name(line: str) -> str:
    """As the index writes it; empty for what is no requirement."""
    try:
        return re.sub(r"[-_.]+", "-", Requirement(line).name).lower()
    except InvalidRequirement:
        return ""
