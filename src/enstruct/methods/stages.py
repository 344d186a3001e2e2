"""Stages of training: who learns, one stage after another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """Who learns. ``energy_in_loss=False`` trains the predictor without its energy term.

    ``fresh_predictor`` puts the predictor back to its first weights, so that what it learnt before only served the energy.
    ``transplant`` first gives the energy the predictor's features and E_local = -logits; ``clamped`` names parts of the
    energy ("features", "local", ...) that stay as they are; ``rate`` scales the learning rates, ``predictor_rate`` the
    predictor's once more; ``retune`` minimises the bare energy, without cost augmentation.
    """

    predictor: bool
    energy: bool
    energy_in_loss: bool = True
    fresh_predictor: bool = False
    transplant: bool = False
    clamped: tuple[str, ...] = ()
    rate: float = 1.0
    predictor_rate: float = 1.0
    retune: bool = False


PREDICTOR_ALONE = (Stage(predictor=True, energy=False, energy_in_loss=False),)
TOGETHER = (Stage(predictor=True, energy=True),)
ENERGY_ALONE = (Stage(predictor=False, energy=True),)
NOISE_THEN_ENERGY = (*PREDICTOR_ALONE, *ENERGY_ALONE)
THREE_STAGES = (  # SPEN A.4: local energy first, then the global one, then all together at a small rate
    *PREDICTOR_ALONE,
    Stage(predictor=False, energy=True, transplant=True, clamped=("features", "local")),
    Stage(predictor=False, energy=True, rate=0.1),
)
PRETRAINED_UNARIES = THREE_STAGES[:2]
THEN_PREDICTOR = Stage(predictor=True, energy=False, fresh_predictor=True)
WARM_START_THEN_GAME = (*PREDICTOR_ALONE, Stage(predictor=True, energy=True, transplant=True, clamped=("features",)))
