"""The drop-in loss: a learned energy beside cross-entropy, for your own PyTorch loop.

    criterion = EnergyLoss(features_dim=512, n_labels=28)
    for x, y in loader:
        features = encoder(x)
        loss = criterion(head(features), y, features)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        criterion.update()

``loss.backward()`` leaves no gradient on the energy; ``criterion.update()`` trains it with its own optimiser
on the batch just seen. ``criterion.state_dict()`` includes that optimiser's state.
"""

from __future__ import annotations

from typing import Any, cast

from torch import Tensor, nn

from enstruct.customise import customise
from enstruct.energies import EnergySpec, build_energy
from enstruct.errors import ConfigError, DataError
from enstruct.methods import Method, get_method
from enstruct.spaces import LabelSpace
from enstruct.training.batches import Batch
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.settings import Settings


class EnergyLoss(nn.Module):
    """``criterion(logits, y, features) -> scalar``.

    features_dim, n_labels : widths of ``features`` (batch, features_dim) and of ``logits`` and ``y`` (batch, n_labels).
    method : a one-stage row of ``METHODS`` with an energy, or a :class:`Method`.
    energy : an :class:`EnergySpec`, or a module ``(features, y) -> (batch, samples)``.
    learning_rate, weight_decay, clip : of the energy's AdamW.
    changes : columns of the row to change, as ``energy_weight=1.0, n_samples=50``.

    The supervised part is binary cross-entropy summed over labels, averaged over rows.
    """

    def __init__(
        self,
        features_dim: int,
        n_labels: int,
        method: str | Method = "seal-nce",
        energy: EnergySpec | nn.Module | None = None,
        *,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-5,
        clip: float | None = None,
        **changes: Any,
    ) -> None:
        super().__init__()
        row = customise(get_method(method), **changes)
        if not row.has_energy or len(row.stages) != 1:
            raise ConfigError(f"EnergyLoss needs a one-stage method with an energy, not {row.name!r}.")
        if row.coupling.through_predictor:
            raise ConfigError(
                f"EnergyLoss sees logits, not the network behind them, so it cannot differentiate through it as {row.name!r} "
                "does. Pass hypergradient='alternating', or hand your network to EnergyMultiLabelClassifier(encoder=...)."
            )
        features = _Given(features_dim)
        self.energy = build_energy(energy if energy is not None else EnergySpec(), features, features, n_labels)
        settings = Settings(energy_learning_rate=learning_rate, weight_decay=weight_decay, energy_clip=clip)
        self.learned = LearnedLoss(row, LabelSpace(n_labels, cast(Any, row.cost)), self.energy, n_labels, settings)
        self.source = self.learned.source
        self.features_dim, self.n_labels = features_dim, n_labels
        self._seen: tuple[Batch, Tensor] | None = None

    def forward(self, logits: Tensor, y: Tensor, features: Tensor) -> Tensor:
        """Scalar loss; remembers the batch for :meth:`update`. DataError if shapes disagree."""
        self._check(logits, y, features)
        batch = Batch(features.detach(), y.to(logits.dtype))
        self._seen = (batch, logits.detach())
        weight = self.learned.method.predictor_loss.energy_weight
        return self.learned.predictor_loss(batch, logits, weight).mean()

    def update(self) -> float:
        """Train the energy on the batch last seen, as many steps as the method has; returns its last loss."""
        if self._seen is None:
            raise ConfigError("Call the criterion on a batch before update().")
        loss = 0.0
        for _ in range(self.learned.method.coupling.energy_steps):
            loss = self.learned.update(*self._seen)
        return loss

    def _check(self, logits: Tensor, y: Tensor, features: Tensor) -> None:
        wanted = {"logits": (logits, self.n_labels), "y": (y, self.n_labels), "features": (features, self.features_dim)}
        for name, (tensor, width) in wanted.items():
            if tensor.ndim != 2 or tensor.shape[1] != width or len(tensor) != len(logits):
                raise DataError(
                    f"{name} must be (batch, {width}); it is {tuple(tensor.shape)} beside {len(logits)} rows of logits."
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
