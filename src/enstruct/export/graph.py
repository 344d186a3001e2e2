"""What is exported: a module of torch with inputs and outputs by name, and rows to hold it against the model with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Graph:
    """``name`` of the file, without its ending.

    module : takes the inputs in their order, and gives the outputs in theirs.
    axes : input -> {axis: its name}, of axes whose length is free; ``outputs``: their names.
    draw : (rows, random numbers) -> inputs like those of ``fit``.
    answer : inputs -> what the model says to them, output by output; those that are numbers agree to ``tolerance``, the others
        are equal.
    about : what the file's metadata say, as texts.
    """

    name: str
    module: nn.Module
    axes: Mapping[str, Mapping[int, str]]
    outputs: tuple[str, ...]
    draw: Callable[[int, np.random.Generator], Arrays]
    answer: Callable[[Arrays], Arrays]
    about: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = 1e-5  # single precision in another order of sums
