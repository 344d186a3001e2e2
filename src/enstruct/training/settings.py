"""How to train, apart from what the method is: rates, clipping, batch size, stopping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WARM_UP = 0.1


@dataclass(frozen=True)
class Settings:
    """``optimizer`` and ``learning_rate`` are the predictor's; the energy has AdamW, and that times the method's ``energy_rate``.

    ``schedule`` of the rates: halved on plateaus, or risen within the first tenth of ``max_epochs`` and then fallen to nothing at
    their end, as pretrained networks are tuned.

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
    schedule: Literal["plateau", "linear"] = "plateau"

    def share_of_rate(self, done: float) -> float:
        """Of the full rate, where ``done`` in [0, 1) is the share of ``max_epochs`` that is behind."""
        return 1.0 if self.schedule == "plateau" else min(1.0, (done + 1e-3) / WARM_UP) * (1 - done)

    @property
    def plateau(self) -> int:
        """Epochs without a better score after which the rate is halved."""
        return max(1, self.patience // 3)
