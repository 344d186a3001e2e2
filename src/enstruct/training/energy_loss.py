"""The drop-in loss: a learned energy beside cross-entropy, for your own PyTorch loop.

    criterion = EnergyLoss(features_dim=512, n_labels=28)
    for x, y in loader:
        features = encoder(x)
        loss = criterion(head(features), y, features)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        criterion.update()

For a tagger, ``EnergyLoss(features_dim, n_tags, outputs="tags")``: logits (batch, time, tags), features (batch, time, width), y
(batch, time) tag numbers, -100 where there is nothing to tag, as torch's own cross-entropy has it.

``loss.backward()`` leaves no gradient on the energy; ``criterion.update()`` trains it with its own optimiser
on the batch just seen. ``criterion.state_dict()`` includes that optimiser's state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.customise import customise
from enstruct.energies import EnergySpec, build_energy
from enstruct.energies.build import LABEL_TERMS, TAG_TERMS
from enstruct.errors import ConfigError, DataError, unknown_name
from enstruct.methods import METHODS, TOGETHER, Method, get_method
from enstruct.spaces import LabelSpace, TagSpace
from enstruct.spaces.base import RelaxedSpace
from enstruct.tag_methods import TAG_METHODS
from enstruct.training.batches import Batch
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.settings import Settings

IGNORED = -100


class EnergyLoss(nn.Module):
    """``criterion(logits, y, features) -> scalar``.

    features_dim, n_labels : widths of ``features`` (batch, features_dim) and of ``logits`` and ``y`` (batch, n_labels).
    method : a one-stage row of ``METHODS`` with an energy, or a :class:`Method`; for tags a row of ``TAG_METHODS`` in which
        predictor and energy learn together.
    energy : an :class:`EnergySpec`, or a module ``(features, y) -> (batch, samples)``.
    outputs : "labels" (label sets) or "tags" (a tag at every token).
    learning_rate, weight_decay, clip : of the energy's AdamW.
    changes : columns of the row to change, as ``energy_weight=1.0, n_samples=50``.

    The supervised part is cross-entropy summed over labels or tokens, averaged over rows.
    """

    def __init__(
        self,
        features_dim: int,
        n_labels: int,
        method: str | Method = "seal-nce",
        energy: EnergySpec | nn.Module | None = None,
        *,
        outputs: Literal["labels", "tags"] = "labels",
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-5,
        clip: float | None = None,
        **changes: Any,
    ) -> None:
        super().__init__()
        if outputs not in ("labels", "tags"):
            raise unknown_name("kind of outputs", outputs, ("labels", "tags"))
        tags = outputs == "tags"
        row = customise(get_method(method, TAG_METHODS if tags else METHODS), **changes)
        if tags and any(stage.predictor and stage.energy for stage in row.stages):
            row = replace(row, stages=TOGETHER)  # the first stage, cross-entropy, is the caller's own
        if not row.has_energy or len(row.stages) != 1 or not row.stages[0].predictor:
            raise ConfigError(f"EnergyLoss needs a one-stage method with an energy, not {row.name!r}.")
        if row.coupling.through_predictor:
            raise ConfigError(
                f"EnergyLoss sees logits, not the network behind them, so it cannot differentiate through it as {row.name!r} "
                "does. Pass hypergradient='alternating', or hand your network to EnergyMultiLabelClassifier(encoder=...) or "
                "EnergySequenceTagger(encoder=...)."
            )
        features = _Given(features_dim)
        spec = energy if energy is not None else EnergySpec(("local", "chain")) if tags else EnergySpec()
        self.energy = build_energy(spec, features, features, n_labels, TAG_TERMS if tags else LABEL_TERMS)
        settings = Settings(energy_learning_rate=learning_rate, weight_decay=weight_decay, energy_clip=clip)
        space: RelaxedSpace = TagSpace(n_labels, row.cost) if tags else LabelSpace(n_labels, row.cost)
        self.learned = LearnedLoss(row, space, self.energy, n_labels, settings)
        self.source = self.learned.source
        self.features_dim, self.n_labels, self.tags = features_dim, n_labels, tags
        self._seen: tuple[Batch, Tensor] | None = None

    def forward(self, logits: Tensor, y: Tensor, features: Tensor) -> Tensor:
        """Scalar loss; remembers the batch for :meth:`update`. DataError if shapes disagree."""
        self._check(logits, y, features)
        batch = self._tag_batch(logits, y, features) if self.tags else Batch(features.detach(), y.to(logits.dtype))
        self._seen = (batch, logits.detach())
        weight = self.learned.method.predictor_loss.energy_weight
        return self.learned.predictor_loss(batch, logits, weight).mean()

    def _tag_batch(self, logits: Tensor, y: Tensor, features: Tensor) -> Batch:
        mask = (y != IGNORED).unsqueeze(-1).to(logits.dtype)  # (batch, time, 1)
        truth = F.one_hot(y.clamp(min=0), self.n_labels).to(logits.dtype) * mask
        return Batch(features.detach(), truth, mask)

    def update(self) -> float:
        """Train the energy on the batch last seen, as many steps as the method has; returns its last loss."""
        if self._seen is None:
            raise ConfigError("Call the criterion on a batch before update().")
        loss = 0.0
        for _ in range(self.learned.method.coupling.energy_steps):
            loss = self.learned.update(*self._seen)
        return loss

    def _check(self, logits: Tensor, y: Tensor, features: Tensor) -> None:
        form = "(batch, time, {})" if self.tags else "(batch, {})"
        wanted = {"logits": (logits, self.n_labels), "features": (features, self.features_dim)}
        if not self.tags:
            wanted["y"] = (y, self.n_labels)
        for name, (tensor, width) in wanted.items():
            if tensor.ndim != 2 + self.tags or tensor.shape[-1] != width or tensor.shape[:-1] != logits.shape[:-1]:
                raise DataError(
                    f"{name} must be {form.format(width)}; it is {tuple(tensor.shape)} beside {len(logits)} rows of logits."
                )
        if self.tags and (y.shape != logits.shape[:-1] or y.is_floating_point()):
            raise DataError(f"y must be (batch, time) whole numbers; it is {tuple(y.shape)} of {y.dtype}.")
        if self.tags and bool(((y >= self.n_labels) | ((y < 0) & (y != IGNORED))).any()):
            raise DataError(
                f"y holds tags 0 .. {self.n_labels - 1}, or {IGNORED} where there is nothing to tag; here is another."
            )

    def get_extra_state(self) -> dict[str, Any]:
        return {
            "optimizers": {name: o.state_dict() for name, o in self.learned.optimizers.items()},
            "updates": self.learned.updates,
        }

    def set_extra_state(self, state: dict[str, Any]) -> None:
        for name, optimizer in self.learned.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])
        self.learned.updates = state["updates"]


class _Given(nn.Module):
    """An encoder for features that are already there."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out_features = width

    def forward(self, x: Tensor) -> Tensor:
        return x
