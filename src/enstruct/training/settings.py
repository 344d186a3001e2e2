"""How to train, apart from what the method is: rates, clipping, batch size, stopping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WARM_UP = 0.1
"""The share of a stage of known length within which its rates rise."""
MOST_CYCLES = 3
"""In a stage, the last of which is four times as long as the first."""
Schedule = Literal["plateau", "linear", "cycles"]


@dataclass(frozen=True)
class Settings:
    """``optimizer`` and ``learning_rate`` are the predictor's; the energy has AdamW, and that times the method's ``energy_rate``.

    ``schedule`` of the rates in a stage:
        "plateau"   halved on plateaus; the stage ends after ``patience`` epochs without a better score
        "linear"    risen within the first tenth of ``max_epochs``, then fallen to nothing at their end
        "cycles"    the same, and again, twice as long each time, while the loss on validation rows still falls at the end of one
                    (warm restarts: Loshchilov & Hutter 2017)

    ``max_epochs`` holds per stage; of "cycles" it is the length of the first.
    ``average``: whether a mean of the weights (:mod:`enstruct.training.weight_average`) is watched too, and kept where it scores
    better on validation rows.
    """

    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    clip: float | None = 10.0
    batch_size: int = 32
    max_epochs: int = 100
    patience: int = 10
    tol: float = 1e-4
    optimizer: str = "adamw"
    schedule: Schedule = "plateau"
    average: bool = False

    def share_of_rate(self, done: float) -> float:
        """Of the full rate, where ``done`` in [0, 1) is the share of the epochs in which it rises and falls that is behind."""
        return 1.0 if self.schedule == "plateau" else min(1.0, (done + 1e-3) / WARM_UP) * (1 - done)

    def length(self, cycle: int) -> int:
        """Epochs of a cycle, counted from 0; a stage of another schedule is one."""
        return int(self.max_epochs * 2**cycle)

    @property
    def plateau(self) -> int:
        """Epochs without a better score after which the rate is halved."""
        return max(1, self.patience // 3)
