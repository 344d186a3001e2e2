"""The method table for tag sequences: rows of :mod:`enstruct.methods.labels` by the same names, with what differs for tags.

- Costs count tokens: their sum under margins, their mean where a value in [0, 1] is learnt, the log loss end-to-end.
- The energy is ``local`` + ``chain`` (implicit-training paper, eq. 7) on features copied from the predictor.
- Games begin from a predictor trained by cross-entropy, whose features the energy keeps and whose logits are its first local
  part (Tu & Gimpel 2018, and the implicit-training paper's taggers); ``initial=`` of the tagger skips that first stage.
- ``cross-entropy-longer`` goes on like a game, but without an energy: what the further epochs alone are worth.
- Inference starts from the predictor, or where there is none from the uniform distribution.
- ``ge``, ``r-spen`` and ``sg-spen`` learn from unlabelled sentences, by a person's expectations or a reward
  (:mod:`enstruct.weak_supervision`); the others take a reward into their cost where they are given one.
- ``crf-taught`` is a tagger that learns a CRF's marginals, exact unless that has further terms: KL(p_crf || F), where games
  minimise the energy at F's answer.
- ``crf`` is the conditional random field trained by its exact likelihood and decoded by forward-backward and Viterbi. With
  further terms (``energy_network``) its likelihood is estimated by sequences that the chain proposes, and so are its answers
  (:mod:`enstruct.inference.beyond_chain`).
- ``pl`` is such an energy, with a skip-chain, trained by pseudo-likelihood: every token's tag is told from all others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from enstruct.hypergradients import Implicit, Neumann
from enstruct.inference import Chain, Inference, Unrolled
from enstruct.inference.rules import HALF_DAMPED
from enstruct.methods.labels import METHODS, SPEN_INFERENCE
from enstruct.methods.method import Method, PredictorLoss
from enstruct.methods.stages import (
    ENERGY_ALONE,
    PREDICTOR_ALONE,
    PRETRAINED_UNARIES,
    THEN_PREDICTOR,
    WARM_START_THEN_GAME,
    Stage,
)
from enstruct.negatives import InferencePoint, Negatives, Partition, PerturbedSamples, SearchPair, TokenChanges, UnrolledIterates
from enstruct.objectives import LIKELIHOOD, PSEUDO_LIKELIHOOD, RANK_MARGIN

GENTLE = 0.25
GENTLE_GAME = (*PREDICTOR_ALONE, replace(WARM_START_THEN_GAME[1], predictor_rate=GENTLE))
"""A trained tagger moves on at a quarter of its rate; the energy, which is new, at the whole of its own."""
NEW_LOCAL_GAME = (*PREDICTOR_ALONE, Stage(predictor=True, energy=True, clamped=("features",), predictor_rate=GENTLE))
"""Without the predictor's logits as the local energy: a value sigma(-E) would sit at its end, and an energy relative to the
predictor would count it twice."""
NEW_LOCAL_ENERGY = (*PREDICTOR_ALONE, Stage(predictor=False, energy=True, clamped=("features",)))

LONG_INFERENCE = replace(SPEN_INFERENCE, steps=30)
CHAIN: dict[str, Any] = {"terms": ("local", "chain"), "features": "copied"}
GAME: dict[str, Any] = {
    "energy": CHAIN,
    "stages": GENTLE_GAME,
    "predictor_loss": PredictorLoss(energy_weight=1.0),
}
VALUE: dict[str, Any] = {"energy": CHAIN, "stages": NEW_LOCAL_GAME, "predictor_loss": PredictorLoss(energy_weight=5.0)}

REACTION = Implicit(Neumann(2), hvp="finite-difference")
"""Products by differences, as the paper takes them: torch's fast LSTM kernels have a first derivative only."""

LONGER = (*PREDICTOR_ALONE, replace(PREDICTOR_ALONE[0], predictor_rate=GENTLE))
SUM, MEAN = "hamming-sum", "hamming-mean"


def _row(name: str, like: str | None = None, **changes: Any) -> Method:
    """The row for label sets of that name, or the one that it is ``like``, with what differs."""
    return replace(METHODS[like or name], name=name, **changes)


def _guided(name: str, negatives: Negatives) -> Method:
    """SPEN that ranks its candidates by a reward."""
    return _row(name, "spen", negatives=negatives, objective=RANK_MARGIN, cost=SUM, energy=CHAIN, inference=LONG_INFERENCE)


TAG_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _row("cross-entropy", cost=SUM),
        _row("cross-entropy-longer", "cross-entropy", cost=SUM, stages=LONGER),
        Method(
            "crf",
            negatives=Partition(),
            objective=LIKELIHOOD,
            stages=ENERGY_ALONE,
            cost=SUM,
            energy={"terms": ("local", "chain"), "features": "separate"},
            inference=Chain(),
        ),
        Method(
            "pl",
            negatives=TokenChanges(),
            objective=PSEUDO_LIKELIHOOD,
            stages=ENERGY_ALONE,
            cost=SUM,
            energy={"terms": ("local", "chain", "skip-2"), "features": "separate"},
            inference=Chain(),
        ),
        Method(
            "crf-taught",
            negatives=Partition(),
            objective=LIKELIHOOD,
            predictor_loss=PredictorLoss(energy_weight=1.0, supervised_weight=0.0, energy_as="marginals"),
            stages=(*ENERGY_ALONE, Stage(predictor=True, energy=False)),
            cost=SUM,
            energy={"terms": ("local", "chain"), "features": "separate"},
        ),
        _row(
            "spen",
            energy=CHAIN,
            cost=SUM,
            negatives=InferencePoint(Inference(steps=20, starts=("predictor",)), augmented=True),
            inference=LONG_INFERENCE,
        ),
        _row("spen-e2e", energy=CHAIN, cost="log"),
        _row(
            "dvn",
            energy=CHAIN,
            cost=MEAN,
            stages=NEW_LOCAL_ENERGY,
            inference=replace(cast(Inference, METHODS["dvn"].inference), starts=("zeros", "predictor")),
        ),
        _row("nce", energy=CHAIN, cost=SUM, stages=PRETRAINED_UNARIES),
        _row("infnet", energy=CHAIN, cost=SUM, stages=GENTLE_GAME),
        _row("infnet+", **GAME, cost=SUM),
        _row("seal-margin", cost=SUM, **GAME),
        _row("seal-regression", cost=MEAN, **VALUE),
        _row("seal-regression-s", cost=MEAN, negatives=PerturbedSamples(5, 1.0), **VALUE),
        _row("seal-nce", cost=SUM, **GAME),
        _row("seal-ranking", cost=SUM, **{**GAME, "stages": NEW_LOCAL_GAME}),
        _row("seal-static-nce", cost=SUM, energy=CHAIN, stages=(*PRETRAINED_UNARIES, THEN_PREDICTOR)),
        _row("seal-static-margin", cost=SUM, energy=CHAIN),
        Method("ge", predictor_loss=PredictorLoss(expectation_weight=10.0), cost=SUM),
        _guided("r-spen", UnrolledIterates(Unrolled(HALF_DAMPED, steps=6), keep=6, detached=True)),
        _guided("sg-spen", SearchPair()),
        _row("implicit-cd", cost=SUM, coupling=REACTION, **GAME),
        _row("implicit-ssvm", cost=SUM, coupling=REACTION, **GAME),
        _row("implicit-dvn", cost=MEAN, coupling=REACTION, **VALUE),
    )
}
