"""Rows that no table of the library has: what the papers also tried and no default takes, so that it has a result or goes.

`enstruct-bench compare` knows their names beside the library's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from enstruct.methods import METHODS, Method, Stage
from enstruct.methods.masks import MASK_METHODS
from enstruct.methods.tags import TAG_METHODS
from enstruct.negatives import CostAugmentedNet

SPEN, INFNET, INFNET_PLUS = METHODS["spen"], TAG_METHODS["infnet"], TAG_METHODS["infnet+"]
RETUNED = Stage(predictor=True, energy=False, rate=0.1, retune=True)


def _with(row: Method, name: str, *terms: str, **energy: Any) -> Method:
    """The row with further terms in its energy."""
    return replace(row, name=name, energy={**row.energy, "terms": (*row.energy["terms"], *terms), **energy})


def _net(kind: Any) -> Method:
    """InfNet+ with its cost-augmented net in another form."""
    return replace(INFNET_PLUS, name=f"infnet+-{kind}", negatives=CostAugmentedNet(kind, 1.0, with_predictor=True))


VARIANTS: dict[str, Mapping[str, Method]] = {
    "labels": {
        row.name: row
        for row in (  # SPEN's own: measurements that see x, an energy that is convex in y, a second layer of measurements
            replace(SPEN, name="spen-conditional", energy={**SPEN.energy, "terms": ("local", "conditional")}),
            replace(SPEN, name="spen-convex", energy={**SPEN.energy, "convex": True}),
            replace(SPEN, name="spen-two-layers", energy={**SPEN.energy, "layers": 2}),
        )
    },
    "tags": {
        row.name: row
        for row in (
            _with(INFNET, "infnet-tag-lm", "tag-lm"),  # Tu & Gimpel (2018): a language model of tags, frozen
            _with(INFNET, "infnet-skip", "skip-2", "skip-3"),  # their higher-order chains
            _with(INFNET, "infnet-conv", "conv", units=32),
            replace(INFNET, name="infnet-retuned", stages=(*INFNET.stages, RETUNED)),  # a last pass on the bare energy
            _net("stacked"),
            _net("separate"),
        )
    },
    "masks": {
        row.name: row
        for row in (
            _with(MASK_METHODS["seal-regression-s"], "seal-regression-s-potts", "potts"),
            # DVN's value, which is an overlap, as the loss of a predictor that learns beside it
            replace(
                MASK_METHODS["seal-regression-s"],
                name="seal-overlap",
                energy=MASK_METHODS["dvn"].energy,
                negatives=MASK_METHODS["dvn"].negatives,
            ),
        )
    },
}
"""Task -> name -> row."""
