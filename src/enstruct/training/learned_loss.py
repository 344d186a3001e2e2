"""The learned loss: an energy, how it is trained, and what it adds to the predictor's loss.

    energy:     phi <- phi - grad_phi  L_E(E(x, y), E(x, ȳ))                ȳ from the method's negatives
    predictor:  w_s L_sup(F(x), y) + w_e E(x, F(x))           with phi held fixed; or, where the row says "marginals",
                w_s L_sup(F(x), y) + w_e CE(q(x), F(x))       q the marginals of exp(-E)/Z
                - w_r log P_F(rules)                          where it learns to keep rules

It sees the predictor's logits only, so it serves the library's own loop and a user's alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from enstruct.energies.base import State, masked
from enstruct.errors import ConfigError, DivergenceError
from enstruct.hypergradients import Bilevel, Hypergradient
from enstruct.inference import Chain
from enstruct.methods import Method
from enstruct.negatives import AugmentedNet, Candidates, NegativeSource, Situation
from enstruct.negatives.sample_gradients import score_function
from enstruct.objectives import Objective, Scores
from enstruct.objectives.ranking import ranking_loss
from enstruct.spaces.base import RelaxedSpace
from enstruct.spaces.label_vectors import Labels, beside, dense
from enstruct.training.batches import Batch
from enstruct.training.mean_gradients import MeanGradient
from enstruct.training.optimizers import give, learnt_by, make_optimizer
from enstruct.training.rank_means import RankMeans
from enstruct.training.ranks import n_ranks
from enstruct.training.rule_terms import RuleTerm
from enstruct.training.settings import Settings
from enstruct.weak_supervision.expectations import Expected
from enstruct.weak_supervision.rewards import Judged


@contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """No gradient reaches the module's parameters inside; what passes through it to its inputs still flows."""
    learning = [p for p in module.parameters() if p.requires_grad]
    for p in learning:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in learning:
            p.requires_grad_(True)


def weighted_mean(loss: Tensor, weight: Tensor | None) -> Tensor:
    """Mean over rows, (batch,) -> (); weights average 1 over the training rows."""
    return loss.mean() if weight is None else (loss * weight).mean()


def descend(optimizer: torch.optim.Optimizer, clip: float | None) -> None:
    """One optimiser step on the gradients at hand, their norm clipped."""
    parameters = learnt_by(optimizer)
    if clip is not None:
        torch.nn.utils.clip_grad_norm_(parameters, clip)
    optimizer.step()
    torch.autograd.graph.increment_version(parameters)  # fused steps do not, and a graph from before gave wrong gradients


def check_finite(loss: Tensor, player: str, update: int, rate: float) -> None:
    """DivergenceError. On CUDA the loop looks once an epoch, by :func:`diverged`: what is added up stays what it became."""
    if not loss.is_cuda and not torch.isfinite(loss):
        raise diverged(float(loss.detach()), player, f"at its update {update}", rate)


def diverged(loss: float, player: str, when: str, rate: float) -> DivergenceError:
    return DivergenceError(
        f"The {player}'s loss became {loss} {when}. Try a smaller learning rate for the {player} (now {rate:g}), gradient "
        "clipping (clip=, the column energy_clip), a smaller energy_weight, or standardised features."
    )


def check_logits(logits: Tensor, updates: int, rate: float) -> None:
    """Before anything is drawn from them. -inf may stand for what is ruled out. On CUDA the losses tell, once an epoch."""
    if (
        logits.numel() and not logits.is_cuda and not bool(logits.detach().amax() < torch.inf)
    ):  # a maximum is NaN where one of them is
        answer = "NaN" if logits.isnan().any() else "inf"
        raise DivergenceError(
            f"The predictor answers {answer} after its update {updates}. Try a smaller learning rate for it (now {rate:g}), "
            "gradient clipping (clip=), a smaller energy_weight, or standardised features."
        )


def _reward_of(batch: Batch) -> Judged | None:
    return batch.supervision if isinstance(batch.supervision, Judged) else None


class LearnedLoss:
    """``energy=None`` is the plain supervised loss. Optimisers are its own; ``updates`` counts the energy's.

    ``across_ranks``: whether the ranks of torch.distributed train this energy together, each on its own rows. ``rules``: what the
    predictor's own answers say of them, for its ``rule_weight``.
    """

    def __init__(
        self,
        method: Method,
        space: RelaxedSpace,
        energy: nn.Module | None,
        n_outputs: int,
        settings: Settings,
        predictor: nn.Module | None = None,
        across_ranks: bool = False,
        rules: RuleTerm | None = None,
    ) -> None:
        if method.predictor_loss.rule_weight and rules is None:
            raise ConfigError(
                "rule_weight weighs what rules say of the predictor's own answers, and here are none that do: give the "
                "classifier of label sets or the tagger rules= itself (a joint's base too), or leave it out. Masks, rows of one "
                "class and gazetteers have no part in it."
            )
        self.rules = rules
        self.method, self.space, self.energy, self.settings = method, space, energy, settings
        self.across_ranks = across_ranks
        if method.predictor_loss.supervised == "ranking" and getattr(space, "positive_weight", None) is not None:
            raise ConfigError('class_weight weighs the labels of cross-entropy: with supervised="ranking" leave it out.')
        self.source: NegativeSource | None = None
        self.optimizers: dict[str, torch.optim.Optimizer] = {}
        self.updates = 0
        self.memory: dict[str, float] = {}  # the coupling's, from one outer step to the next
        # the last gradients are let go only when the next ones are due: handing such blocks back to the system between
        # updates and asking for them again costs a tenth of a training step in page faults. In a group they are ``_means``' own
        self._gradients: tuple[Tensor | None, ...] = ()
        self._means = {player: RankMeans() for player in ("energy", "source")}
        self._learning = [] if energy is None else [p for p in energy.parameters() if p.requires_grad]
        if energy is not None and method.negatives is not None:
            if not self._learning:
                raise ConfigError("The energy has no parameters that could learn.")
            first = self._learning[0]
            self.source = method.negatives.build(space, n_outputs, predictor).to(first.device, first.dtype)
            rate = settings.learning_rate * method.energy_rate
            self.optimizers["energy"] = make_optimizer("adamw", energy, rate, settings.weight_decay)
            if isinstance(self.source, AugmentedNet):
                self.optimizers["source"] = make_optimizer("adamw", self.source, settings.learning_rate, settings.weight_decay)

    @property
    def network(self) -> nn.Module:
        """The energy; a RuntimeError where the method has none (callers look at the method first)."""
        if self.energy is None:
            raise RuntimeError(f"method {self.method.name!r} has no energy")
        return self.energy

    def clamp(self, parts: tuple[str, ...]) -> None:
        """Hold these parts of the energy ("features", or a term's name) where they are, and let the others learn."""
        if parts and not hasattr(self.network, "part"):
            raise ConfigError(
                f"Method {self.method.name!r} trains parts of the energy apart; a module of your own has none. Use an EnergySpec."
            )
        clamped = {id(p) for part in parts for p in self.network.part(part).parameters()} if parts else set()  # type: ignore[operator]
        for parameter in self._learning:
            parameter.requires_grad_(id(parameter) not in clamped)

    # -- the energy's side ------------------------------------------------------------------------

    @property
    def passes(self) -> int:
        """How often one update goes over its batch, each time with other weights: only after one may the batch be let go."""
        return self.method.coupling.energy_steps + isinstance(self.source, AugmentedNet)

    def update(self, batch: Batch, logits: Tensor, before: MeanGradient | None = None) -> Tensor:
        """One step of the energy (and first of a source that learns) on fresh candidates of a predictor held fixed.

        ``before``: what :meth:`gradient` found on earlier batches that belong to the same step. Returns the loss. A coupling that
        differentiates through the predictor goes by :meth:`step` instead.
        """
        if isinstance(self.source, AugmentedNet):
            self._update_source(self.source, batch, logits)
        return self._descend(self._everybodys("energy", self.gradient(batch, logits).joined(before)))

    def gradient(self, batch: Batch, logits: Tensor) -> MeanGradient:
        """The energy's loss and gradient on fresh candidates of a predictor held fixed, without a step."""
        self.network.train()
        logits = logits.detach()

        def outer(_: tuple[Tensor, ...]) -> Tensor:
            return weighted_mean(self.energy_loss(batch, logits), batch.weight)

        hypergradient = self._found(Bilevel(outer, outer, (), self.parameters()))
        return MeanGradient(hypergradient.outer.detach(), hypergradient.gradient, len(logits))

    def step(self, problem: Bilevel) -> Hypergradient:
        """One step of the energy along the coupling's gradient."""
        hypergradient = self._found(problem)
        outer = hypergradient.outer.detach()
        self._descend(MeanGradient(outer, hypergradient.gradient, 1))
        return replace(hypergradient, outer=outer)

    def _found(self, problem: Bilevel) -> Hypergradient:
        """What the coupling says, with an entry for every parameter of the optimiser's: None for those that are held."""
        if not problem.phi:
            raise ConfigError("No parameter of the energy learns: requires_grad is False on all of them.")
        self._gradients = ()
        hypergradient = self.method.coupling.gradient(problem)
        of = {id(p): gradient for p, gradient in zip(problem.phi, hypergradient.gradient, strict=True)}
        return replace(hypergradient, gradient=tuple(of.get(id(p)) for p in self._moved("energy")))

    def _moved(self, player: str) -> list[Tensor]:
        """The parameters of a player's optimiser, whether they learn at present or not."""
        return learnt_by(self.optimizers[player])

    def _everybodys(self, player: str, mean: MeanGradient) -> MeanGradient:
        return mean.over_ranks(self._moved(player), self._means[player]) if self.across_ranks else mean

    def _descend(self, mean: MeanGradient) -> Tensor:
        """Step the energy; returns the loss. DivergenceError if that is no number."""
        optimizer = self.optimizers["energy"]
        check_finite(mean.loss, "energy", self.updates + 1, optimizer.param_groups[0]["lr"])
        self._gradients = mean.gradient if n_ranks() == 1 else ()
        moved = zip(self._moved("energy"), mean.gradient, strict=True)
        give(optimizer, [gradient if parameter.requires_grad else None for parameter, gradient in moved])
        descend(optimizer, self.method.energy_clip)
        optimizer.zero_grad(set_to_none=True)
        self.updates += 1
        return mean.loss

    def parameters(self) -> tuple[Tensor, ...]:
        """What learns of the energy at present."""
        return tuple(p for p in self._moved("energy") if p.requires_grad)

    def energy_loss(self, batch: Batch, logits: Tensor, state: State | None = None) -> Tensor:
        """(batch,) the objective at fresh candidates; ``state`` where the energy has been prepared already."""
        objective, source = self.method.objective, self.source
        if objective is None or source is None:
            raise RuntimeError(f"method {self.method.name!r} trains no energy")
        state = self.prepare(batch) if state is None else state
        reward = _reward_of(batch)
        if reward is not None and objective.needs_truth:
            batch = replace(batch, y=reward.completed(batch.y, self.space.relax(logits.detach()), batch.mask))
        drawn = source.draw(Situation(logits, batch.y, batch.mask, batch.x, self.network, state, reward))
        truth, negatives = self._energies(batch, drawn, state)
        cost = self._cost(batch, drawn.outputs(), objective) if objective.needs_cost else None
        scores = Scores(truth, negatives, cost, drawn.log_noise_truth, drawn.log_noise, drawn.weight)
        loss = objective.loss(scores)
        return loss if drawn.score is None else loss + score_function(objective.loss, scores, loss, drawn.score)

    def _cost(self, batch: Batch, y: Labels, objective: Objective) -> Tensor:
        """(batch, samples) the space's cost, and the reward's where there is one."""
        error = self.space.cost(y, batch.y, batch.mask)
        reward = _reward_of(batch)
        if reward is None:
            return error
        cost = reward.cost(error, dense(y), batch.mask, objective.absolute_cost)
        if objective.absolute_cost or not objective.needs_truth:
            return cost
        truth = batch.y.unsqueeze(1)
        return cost - reward.cost(torch.zeros_like(error[:, :1]), truth, batch.mask, averaged=False)

    def _energies(self, batch: Batch, drawn: Candidates, state: State) -> tuple[Tensor, Tensor]:
        """(batch,) of the truth and (batch, samples) of the candidates."""
        if drawn.energies is not None:
            return self.network(state, batch.y.unsqueeze(1)).squeeze(1), drawn.energies
        energies = self.network(state, beside(batch.y, drawn.outputs()))  # (batch, 1 + samples)
        return energies[:, 0], energies[:, 1:]

    def _update_source(self, source: AugmentedNet, batch: Batch, logits: Tensor) -> None:
        self.network.train()
        with frozen(self.network):
            loss = source.loss(Situation(logits, batch.y, batch.mask, batch.x, self.network, self.prepare(batch)))
        mean = weighted_mean(loss, batch.weight)
        gradient = torch.autograd.grad(mean, self._moved("source"), allow_unused=True)
        step = self._everybodys("source", MeanGradient(mean.detach(), gradient, len(logits)))
        give(self.optimizers["source"], step.gradient)
        self.optimizers["source"].step()
        self.optimizers["source"].zero_grad(set_to_none=True)

    def prepare(self, batch: Batch) -> State:
        """What the energy keeps of the batch's x."""
        return cast(State, self.network.prepare(batch.x, batch.mask))  # type: ignore[operator]

    # -- the predictor's side ---------------------------------------------------------------------

    def predictor_loss(
        self, batch: Batch, logits: Tensor, energy_weight: float, learning: bool = True, retune: bool = False
    ) -> Tensor:
        """(batch,); no gradient reaches the energy. ``learning``: whether the energy is in training mode."""
        if energy_weight <= 0 or self.energy is None:
            return self.auxiliary_loss(batch, logits, 0.0, None)
        with frozen(self.network):
            self.network.train(learning)
            return self.auxiliary_loss(batch, logits, energy_weight, self.prepare(batch), retune)

    def auxiliary_loss(
        self, batch: Batch, logits: Tensor, energy_weight: float, state: State | None, retune: bool = False
    ) -> Tensor:
        """(batch,) the predictor's loss, differentiable in the energy's parameters too: L_aux of bilevel training."""
        recipe = self.method.predictor_loss
        loss, weight = logits.new_zeros(len(logits)), recipe.supervised_weight
        if weight:
            loss = weight * self._supervised(batch, logits)
        if recipe.expectation_weight and isinstance(batch.supervision, Expected):
            loss = loss + recipe.expectation_weight * batch.supervision.divergence(logits)
        if recipe.rule_weight and self.rules is not None:
            loss = loss - recipe.rule_weight * self.rules(logits, batch.x)
        if energy_weight <= 0 or state is None:
            return loss
        loss = loss + energy_weight * self._energy_term(batch, logits, state, retune)
        if recipe.entropy_weight:
            relaxed = self.space.relax(logits).unsqueeze(1)
            entropy = self.space.entropy(dense(masked(relaxed, batch.mask))).squeeze(1) / logits.shape[-1]
            loss = loss + recipe.entropy_weight * (energy_weight / recipe.energy_weight) * entropy  # it rises with the energy
        return loss

    def _energy_term(self, batch: Batch, logits: Tensor, state: State, retune: bool) -> Tensor:
        """(batch,) what the predictor pays for its output."""
        recipe, objective = self.method.predictor_loss, self.method.objective
        if objective is None:
            raise RuntimeError(f"method {self.method.name!r} trains no energy")
        if recipe.energy_as == "marginals":
            taught = Chain("marginals").solve(self.network, state, self.space).y
            return -self.space.log_prob(taught.unsqueeze(1), logits, batch.mask).squeeze(1)
        relaxed = self.space.relax(logits).unsqueeze(1)
        energies = self.network(state, relaxed)
        if retune or not recipe.augmented:
            return objective.as_loss(energies).squeeze(1)
        gain = (energies - self.space.cost(relaxed, batch.y, batch.mask)).squeeze(1)
        if recipe.hinged:
            gain = gain * (self.network(state, batch.y.unsqueeze(1)).squeeze(1) > gain)
        return gain

    def _supervised(self, batch: Batch, logits: Tensor) -> Tensor:
        if self.method.predictor_loss.supervised == "cross-entropy":
            return self.space.supervised_loss(logits, batch.y, batch.mask)
        samples = self.space.sample(logits.detach(), 20, batch.mask)
        energies = -self.space.log_prob(beside(batch.y, samples), logits, batch.mask)
        return ranking_loss(Scores(energies[:, 0], energies[:, 1:]))
