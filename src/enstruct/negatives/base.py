"""What a source of candidates is given, and what it gives."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor, nn

from enstruct.errors import ConfigError
from enstruct.spaces.base import RelaxedSpace
from enstruct.spaces.label_vectors import Labels
from enstruct.spaces.labels import LabelSpace
from enstruct.weak_supervision.rewards import Judged


class Situation(NamedTuple):
    """One batch as a source sees it. ``state`` (a :class:`~enstruct.energies.base.State`) is the energy's, already prepared, for
    sources that read the energy; ``logits`` are the predictor's; ``reward`` what is known of rows without a truth."""

    logits: Tensor
    truth: Tensor
    mask: Tensor | None = None
    x: Tensor | None = None
    energy: Any = None
    state: Any = None
    reward: Judged | None = None


class Candidates(NamedTuple):
    """``y`` (batch, K, ...), ``log_noise`` (batch, K) and ``log_noise_truth`` (batch,) if the source has them.

    ``energies`` (batch, K), with their graph, where the source knows them already; then ``y`` may be None.

    ``weight`` (batch, K): how many candidates each stands for, where some are drawn of all that there are.

    ``score`` (batch, K): log-probabilities that carry the score-function gradient of discrete samples to the predictor.
    """

    y: Labels | None
    log_noise: Tensor | None = None
    log_noise_truth: Tensor | None = None
    score: Tensor | None = None
    energies: Tensor | None = None
    weight: Tensor | None = None

    def outputs(self) -> Labels:
        if self.y is None:
            raise ConfigError("This objective compares candidates, and the negatives give none: take other negatives.")
        return self.y


class Negatives:
    """A source as data: it says itself how candidates are drawn for outputs of a space.

    A source may have ``dropout``: whether layers of dropout stay on in a predictor that does not learn meanwhile. The drop-in
    loss, which has no hand in the predictor, lets it be.
    """

    has_noise = False

    @property
    def differentiable(self) -> bool:
        """Whether the candidates carry a gradient to the predictor's logits, where these have one."""
        return False

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        raise NotImplementedError  # every source that learns nothing defines it

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        """The running source. ``predictor``: the network whose outputs it may build on (None in the drop-in loss)."""
        return NegativeSource(self, space)


class NegativeSource(nn.Module):
    """A running source. Most learn nothing; see :class:`~enstruct.negatives.augmented.AugmentedNet` for one that does."""

    def __init__(self, settings: Negatives, space: RelaxedSpace) -> None:
        super().__init__()
        self.settings, self.space = settings, space

    def draw(self, at: Situation) -> Candidates:
        return self.settings.draw(at, self.space)


def check_label_sets(space: RelaxedSpace, negatives: Negatives) -> None:
    """ConfigError for outputs that have no labels which could change by themselves."""
    if not isinstance(space, LabelSpace):
        raise ConfigError(
            f"{type(negatives).__name__} changes labels one by one, as label sets have them: for tags and masks take other "
            "negatives, as PredictorSamples()."
        )
