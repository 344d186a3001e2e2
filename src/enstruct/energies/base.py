"""E(x, y) as a sum of terms; lower is better. Two calls:

    state = energy.prepare(x, mask)        once per x: everything that depends on x
    energy(state, y) -> (batch, samples)   as often as wanted; never sees x again

``y`` is dense and relaxed, (batch, samples, labels), or sparse :class:`LabelVectors`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

from torch import Tensor, nn

from enstruct.spaces.label_vectors import Labels, LabelVectors


class State(NamedTuple):
    """What an energy keeps of x: one entry a term, and the mask of existing output parts."""

    terms: tuple[Tensor | None, ...]
    mask: Tensor | None


class Energy(Protocol):
    """The protocol every consumer relies on; :class:`SumEnergy` and :class:`ModuleEnergy` offer it."""

    def prepare(self, x: Tensor, mask: Tensor | None = None) -> State: ...

    def __call__(self, state: State, y: Labels) -> Tensor: ...


class Term(nn.Module):
    """One summand. ``prepare(features)`` keeps what it needs of x (None if nothing); ``forward`` scores y."""

    def prepare(self, features: Tensor) -> Tensor | None:
        return None

    def forward(self, prepared: Tensor | None, y: Labels) -> Tensor:
        raise NotImplementedError  # every term defines its formula


class SumEnergy(nn.Module):
    """``E(x, y) = sum_t term_t(f(x), y)`` with one feature network f for all terms.

    ``encoder=None`` means that the caller passes features instead of x to ``prepare``.
    """

    def __init__(self, encoder: nn.Module | None, terms: list[Term]) -> None:
        super().__init__()
        self.encoder = encoder
        self.terms = nn.ModuleList(terms)

    def prepare(self, x: Tensor, mask: Tensor | None = None) -> State:
        features = x if self.encoder is None else self.encoder(x)  # (batch, features)
        return State(tuple(cast(Term, term).prepare(features) for term in self.terms), mask)

    def forward(self, state: State, y: Labels) -> Tensor:
        y = masked(y, state.mask)
        first, *rest = (term(kept, y) for term, kept in zip(self.terms, state.terms, strict=True))
        return sum(rest, start=first)  # (batch, samples)


class ModuleEnergy(nn.Module):
    """A user's own ``module(x, y) -> (batch, samples)`` behind the protocol; y arrives dense."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def prepare(self, x: Tensor, mask: Tensor | None = None) -> State:
        return State((x,), mask)

    def forward(self, state: State, y: Labels) -> Tensor:
        y = masked(y, state.mask)
        dense = y.to_dense() if isinstance(y, LabelVectors) else y
        return cast(Tensor, self.module(state.terms[0], dense))


def masked(y: Labels, mask: Tensor | None) -> Labels:
    """y with the holes of mask (batch, labels) set to 0."""
    if mask is None:
        return y
    dense = y.to_dense(mask.dtype) if isinstance(y, LabelVectors) else y
    return dense * mask.unsqueeze(1)
