"""What may watch training: four moments, no framework. Callbacks never change the algorithm; ``loop.stop()`` ends a stage."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enstruct.training.loop import Loop


class Callback:
    """Override what you need. Where ``record["averaged"]`` is true, ``record["score"]`` is that of a mean of the weights, which
    is kept (:mod:`enstruct.training.weight_average`), and the networks still have the last ones."""

    def on_train_begin(self, loop: Loop) -> None: ...

    def on_batch_end(self, loop: Loop) -> None: ...

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None: ...

    def on_train_end(self, loop: Loop) -> None: ...

    def should_stop(self) -> bool:
        """Whether the time is up: asked by solvers, whose fits have no epochs, before they try or add anything more."""
        return False


class PrintEpochs(Callback):
    """``verbose=1``: one line an epoch through the ``enstruct`` logger, at WARNING so that it shows unconfigured."""

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None:
        losses = " ".join(f"{k} {v:.4f}" for k, v in record.items() if k.endswith("_loss"))
        logging.getLogger("enstruct").warning(
            "stage %d epoch %3d  score %.4f  %s", record["stage"], record["epoch"], record["score"], losses
        )
