"""How to train, apart from what the method is: rates, clipping, batch size, stopping."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """``optimizer`` and ``learning_rate`` are the predictor's; the energy has AdamW, and that times the method's ``energy_rate``.

    ``max_epochs`` and ``patience`` hold per stage: training stops after ``patience`` epochs without a better score.
    """

    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    clip: float | None = 10.0
    batch_size: int = 32
    max_epochs: int = 100
    patience: int = 10
    tol: float = 1e-4
    optimizer: str = "adamw"

    @property
    def plateau(self) -> int:
        """Epochs without a better score after which the rate is halved."""
        return max(1, self.patience // 3)
