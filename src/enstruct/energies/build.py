"""From an :class:`EnergySpec` (what the user asked for) to an energy network over label sets, tag sequences or masks."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast, get_args

import torch
from torch import nn

from enstruct.energies.base import ModuleEnergy, SumEnergy, Term
from enstruct.energies.beliefs import BeliefEnergy
from enstruct.energies.chain import ChainEnergy
from enstruct.energies.conv import ConvEnergy
from enstruct.energies.flow import FlowEnergy
from enstruct.energies.local import LocalEnergy
from enstruct.energies.mask_conv import MaskConvEnergy
from enstruct.energies.measurements import ConditionalEnergy, GlobalEnergy
from enstruct.energies.overlap import OverlapEnergy
from enstruct.energies.pairwise import ConditionalPairwiseEnergy, PairwiseEnergy
from enstruct.energies.potts import PottsEnergy
from enstruct.energies.tag_lm import TagLanguageEnergy, TagLanguageModel
from enstruct.errors import ConfigError, unknown_name

Features = Literal["separate", "copied", "frozen", "shared"]
FEATURES: tuple[Features, ...] = get_args(Features)
LABEL_TERMS = ("local", "global", "conditional", "pairwise", "conditional-pairwise", "beliefs")
TAG_TERMS = ("local", "chain", "skip-2", "skip-3", "conv", "tag-lm")
MASK_TERMS = ("local", "mask-conv", "overlap", "potts", "flow")
TERMS = tuple(dict.fromkeys((*LABEL_TERMS, *TAG_TERMS, *MASK_TERMS)))


@dataclass(frozen=True)
class EnergySpec:
    """An energy as data: the sum of its terms.

    terms : of ``LABEL_TERMS``, ``TAG_TERMS`` or ``MASK_TERMS``, as the outputs are.
    units, nonlinearity : of the measurements of "global", "conditional", "conv" and "mask-conv": their number, 1 or more (of
        "flow" the channels within a step), and "softplus", "relu", "hardtanh" or "identity".
    layers : 1 or 2, of "global" and "conditional".
    convex : whether "global", "conditional" and "pairwise" are convex in y, which takes softplus or relu, and a rank.
    rank, diagonal : of the pairwise terms; a rank of None is the full table, which "conditional-pairwise" does not have.
    window : tokens that "conv" sees at once, 1 or more.
    lm_weight : of the tag language model "tag-lm" (pretrained on the training tags, then frozen).
    features : whose feature network the energy uses: its own ("separate"), a copy of the predictor's that goes on learning
        ("copied") or stays ("frozen"), or the predictor's ("shared", read without a gradient, since the predictor owns it).

    ConfigError for names that are none; for what does not go together, when the energy is built.
    """

    terms: tuple[str, ...] = ("local", "global")
    units: int = 200
    nonlinearity: str = "softplus"
    layers: int = 1
    convex: bool = False
    rank: int | None = 16
    diagonal: bool = True
    window: int = 3
    lm_weight: float = 0.1
    features: Features = "separate"

    def __post_init__(self) -> None:
        for term in self.terms:
            if term not in TERMS:
                raise unknown_name("energy term", term, TERMS)
        if not self.terms:
            raise ConfigError(f"An energy needs at least one term of {TERMS}.")
        if self.features not in FEATURES:
            raise unknown_name("energy features", self.features, FEATURES)


def build_energy(
    spec: EnergySpec | nn.Module,
    encoder: nn.Module,
    fresh_encoder: nn.Module,
    n_labels: int,
    allowed: tuple[str, ...] = LABEL_TERMS,
) -> nn.Module:
    """The energy network: ``encoder`` is the predictor's, ``fresh_encoder`` a newly initialised twin.

    ``allowed``: the terms that make sense for the outputs at hand; ConfigError for others.
    """
    if isinstance(spec, nn.Module):
        return spec if hasattr(spec, "prepare") else ModuleEnergy(spec)
    if not isinstance(spec, EnergySpec):
        raise ConfigError(f"An energy is an EnergySpec or an nn.Module (an instance, not its class), not {spec!r}.")
    for name in spec.terms:
        if name not in allowed:
            raise ConfigError(f"The energy term {name!r} is not for this kind of output; its terms are {', '.join(allowed)}.")
    own: nn.Module = {
        "separate": lambda: fresh_encoder,
        "copied": lambda: copy.deepcopy(encoder),
        "frozen": lambda: copy.deepcopy(encoder).requires_grad_(False),
        "shared": lambda: Borrowed(encoder),
    }[spec.features]()
    width = cast(int, encoder.out_features)
    return SumEnergy(own, [_term(name, spec, width, n_labels) for name in spec.terms])


def refresh_features(energy: nn.Module, encoder: nn.Module, features: str) -> None:
    """Copy the predictor's present encoder into an energy whose features are "copied" or "frozen"."""
    if features in ("copied", "frozen"):
        cast(nn.Module, energy.encoder).load_state_dict(encoder.state_dict())


def transplant(energy: nn.Module, predictor: nn.Module) -> None:
    """SPEN's pretraining (A.4): the energy takes a trained predictor's features, and E_local = -logits.

    ConfigError for a module of one's own, for an energy without a local term, and for a predictor that reads labels' texts, whose
    logits no local term has; features and predictor are as the estimators build them, of one shape.
    """
    if not getattr(predictor, "by_features_alone", True):
        raise ConfigError(
            "This method begins its energy at the predictor's logits, which label_texts= takes from labels' texts too: leave "
            "label_texts= out, or name a method that does not, as method='seal-nce'."
        )
    if not isinstance(energy, SumEnergy):
        raise ConfigError("Pretraining the local energy needs an EnergySpec energy; a module of your own has no local term.")
    local, head = cast(LocalEnergy, energy.part("local")), cast(nn.Linear, predictor.head)
    encoder = cast(nn.Module, predictor.encoder)
    with torch.no_grad():
        if not isinstance(energy.encoder, Borrowed):
            cast(nn.Module, energy.encoder).load_state_dict(encoder.state_dict())
        local.scores.weight.copy_(-head.weight)
        local.scores.bias.copy_(-head.bias)


def shares_features(energy: nn.Module, predictor: nn.Module) -> bool:
    """Whether the energy reads the predictor's own features, so that one pass through the encoder serves both."""
    reader = energy.encoder if isinstance(energy, SumEnergy) else None
    return isinstance(reader, Borrowed) and reader.lender is getattr(predictor, "encoder", None)


def _term(name: str, spec: EnergySpec, width: int, n_labels: int) -> Term:
    if name == "conditional-pairwise" and spec.rank is None:
        raise ConfigError("The conditional pairwise term needs a rank; the full table (rank=None) is the pairwise term's.")
    makers: dict[str, Callable[[], Term]] = {
        "local": lambda: LocalEnergy(width, n_labels),
        "global": lambda: GlobalEnergy(n_labels, spec.units, spec.nonlinearity, spec.layers, spec.convex),
        "conditional": lambda: ConditionalEnergy(width, n_labels, spec.units, spec.nonlinearity, spec.layers, spec.convex),
        "conditional-pairwise": lambda: ConditionalPairwiseEnergy(width, n_labels, cast(int, spec.rank)),
        "pairwise": lambda: PairwiseEnergy(n_labels, spec.rank, spec.convex, spec.diagonal),
        "beliefs": lambda: BeliefEnergy(n_labels),
        "chain": lambda: ChainEnergy(n_labels),
        "skip-2": lambda: ChainEnergy(n_labels, 2),
        "skip-3": lambda: ChainEnergy(n_labels, 3),
        "conv": lambda: ConvEnergy(n_labels, spec.units, spec.window, spec.nonlinearity),
        "mask-conv": lambda: MaskConvEnergy(width, n_labels, spec.units, spec.nonlinearity),
        "overlap": lambda: OverlapEnergy(width, n_labels),
        "potts": lambda: PottsEnergy(width),
        "flow": lambda: FlowEnergy(width, n_labels, spec.units),
        "tag-lm": lambda: TagLanguageEnergy(TagLanguageModel(n_labels), spec.lm_weight),
    }
    return makers[name]()


class Borrowed(nn.Module):
    """Another network's features, read without a gradient and without owning its parameters."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self._lender = [encoder]  # in a list: not registered as a submodule
        self.out_features = encoder.out_features

    @property
    def lender(self) -> nn.Module:
        return self._lender[0]

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.lender(x).detach()
