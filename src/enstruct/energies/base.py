"""E(x, y) as a sum of terms; lower is better. Two calls:

    state = energy.prepare(x, mask)        once per x: everything that depends on x
    energy(state, y) -> (batch, samples)   as often as wanted; never sees x again

An energy whose terms all know their gradient in y also offers

    energy.value_and_gradient(state, y) -> (batch, samples), (batch, samples, labels)

by closed form (``has_closed_form``): no graph, and differentiable once more by ordinary autograd.

``y`` is dense and relaxed, (batch, samples, labels), or sparse :class:`LabelVectors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from enstruct.errors import ConfigError, unknown_name
from enstruct.spaces.label_vectors import Labels, dense


class State(NamedTuple):
    """What an energy keeps of x: one entry a term, the mask of existing output parts, the number of rows.

    ``parts`` is the shape of an output apart from its labels: () for label sets, (time,) for tag sequences.
    """

    terms: tuple[Tensor | None, ...]
    mask: Tensor | None
    batch: int
    parts: tuple[int, ...] = ()

    def rows(self, index: Tensor) -> State:
        """The state of some rows: every kept tensor has the rows first."""
        terms = tuple(None if prepared is None else _rows(prepared, index) for prepared in self.terms)
        return State(terms, None if self.mask is None else self.mask[index], int(index.numel()), self.parts)

    def detached(self) -> State:
        return self._replace(terms=tuple(None if prepared is None else prepared.detach() for prepared in self.terms))


def _rows(kept: Tensor, index: Tensor) -> Tensor:
    """Of sparse rows too, which a module of one's own may keep."""
    return kept.to_dense()[index].to_sparse_csr() if kept.layout == torch.sparse_csr else kept[index]


class Term(nn.Module):
    """One summand. ``prepare(features, mask)`` keeps what it needs (None if nothing), rows first; ``forward`` scores y.
    ``normalised``: whether exp(-E) sums to one as it is; ``linear_in_tags``: whether E is linear in each place's y, others held.
    ``reach``: of places further apart than that none changes what another counts for, and E reads nothing but y; None: otherwise.

    The mask's holes are already 0 in the y that a term is given; terms that look beyond single places need it themselves.
    """

    name = "term"
    has_closed_form = False
    normalised = False
    linear_in_tags = False
    reach: int | None = None

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return None

    def forward(self, prepared: Any, y: Any) -> Tensor:
        raise NotImplementedError  # every term defines its formula

    def value_and_gradient(self, prepared: Any, y: Tensor) -> tuple[Tensor, Tensor]:
        """Energy (batch, samples) and its gradient in dense y; the gradient may broadcast over samples."""
        raise NotImplementedError  # terms with ``has_closed_form``


class SumEnergy(nn.Module):
    """``E(x, y) = sum_t term_t(f(x), y)`` with one feature network f for all terms.

    ``encoder=None`` means that the caller passes features instead of x to ``prepare``. The terms broadcast:
    y (1, samples, labels) stands for the same vectors in every row, and what does not depend on x is computed once.
    """

    broadcasts = True

    def __init__(self, encoder: nn.Module | None, terms: list[Term]) -> None:
        super().__init__()
        self.encoder = encoder
        self.terms = nn.ModuleList(terms)

    def prepare(self, x: Tensor, mask: Tensor | None = None) -> State:
        return self.prepare_features(x if self.encoder is None else self.encoder(x), mask)

    def prepare_features(self, features: Tensor, mask: Tensor | None = None) -> State:
        """The state from features (batch, ..., width) computed elsewhere, as by a predictor that shares them."""
        prepared = tuple(term.prepare(features, mask) for term in self._all_terms())
        return State(prepared, mask, features.shape[0], tuple(features.shape[1:-1]))

    def part(self, name: str) -> nn.Module:
        """ "features", or a term by its name. ConfigError if there is none."""
        parts: dict[str, nn.Module] = {term.name: term for term in self._all_terms()}
        if self.encoder is not None:
            parts["features"] = self.encoder
        if name not in parts:
            raise unknown_name("part of the energy", name, parts)
        return parts[name]

    @property
    def has_closed_form(self) -> bool:
        return all(term.has_closed_form for term in self._all_terms())

    def _all_terms(self) -> list[Term]:
        return cast(list[Term], list(self.terms))

    def _with_prepared(self, state: State) -> list[tuple[Term, Tensor | None]]:
        return list(zip(self._all_terms(), state.terms, strict=True))

    def value_and_gradient(self, state: State, y: Tensor) -> tuple[Tensor, Tensor]:
        y = cast(Tensor, masked(y, state.mask))
        pairs = [term.value_and_gradient(prepared, y) for term, prepared in self._with_prepared(state)]
        values, gradients = zip(*pairs, strict=True)
        return _total(values), _total(gradients) if state.mask is None else _total(gradients) * state.mask.unsqueeze(1)

    def forward(self, state: State, y: Labels) -> Tensor:
        y = masked(y, state.mask)
        return _total([term(prepared, y) for term, prepared in self._with_prepared(state)])  # (batch, samples)


def _total(tensors: Sequence[Tensor]) -> Tensor:
    first, *rest = tensors
    return sum(rest, start=first)


class ModuleEnergy(nn.Module):
    """A user's own ``module(x, y) -> (batch, samples)`` as such an energy; y arrives dense.

    Padding and places without a truth are zero in y, all classes of them; x is as it is there. ConfigError for another shape.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def prepare(self, x: Tensor, mask: Tensor | None = None) -> State:
        return State((x,), mask, x.shape[0], tuple((x if mask is None else mask).shape[1:-1]))

    def forward(self, state: State, y: Labels) -> Tensor:
        parameter = next(self.module.parameters(), None)
        outputs = dense(masked(y, state.mask), torch.float32 if parameter is None else parameter.dtype)
        energies = cast(Tensor, self.module(state.terms[0], outputs))
        if energies.shape != outputs.shape[:2]:
            raise ConfigError(
                f"An energy of your own must give one number for each of {outputs.shape[1]} outputs of {len(outputs)} rows, "
                f"{tuple(outputs.shape[:2])}; {type(self.module).__name__} gives {tuple(energies.shape)}."
            )
        return energies


def masked(y: Labels, mask: Tensor | None) -> Labels:
    """y with the holes of ``mask``, which broadcasts against one output a row, set to 0."""
    return y if mask is None else dense(y, mask.dtype) * mask.unsqueeze(1)
