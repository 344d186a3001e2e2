"""The drop-in loss: a learned energy beside cross-entropy, for your own PyTorch loop.

    criterion = EnergyLoss(features_dim=512, n_labels=28)
    for x, y in loader:
        features = encoder(x)
        loss = criterion(head(features), y, features)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        criterion.update()                                          # after backward: it changes the energy

For a tagger, ``EnergyLoss(features_dim, n_tags, task="tags")``: logits (batch, time, tags), features (batch, time,
features_dim), y (batch, time) tag numbers. For a segmentation network, ``EnergyLoss(features_dim, n_classes, task="masks")``,
in torch's order of images: logits (batch, classes, height, width), features (batch, features_dim, height, width), y (batch,
height, width). In both ``ignore_index`` stands where there is no truth, as in torch's own cross-entropy.

``loss.backward()`` leaves no gradient on the energy; ``criterion.update()`` trains it with its own optimiser on all batches seen
since the last call, as on the joined batch: with accumulated gradients call it once, where the network steps. The last of them is
kept whole, of those before it the mean gradient, so memory does not grow. ``criterion.state_dict()`` includes the optimiser's
state, as a dict beside the tensors (copy it by ``copy.deepcopy``), and no batches. In evaluation mode (``criterion.eval()``) the
energy is too, and there as under ``torch.no_grad()`` the batch is not remembered.

Where torch.distributed is initialised, all ranks of its default group train one energy: they take the weights of rank 0 at their
first batch in training mode, and every ``update()`` descends the mean over the rows of all. So all of them make their first such
forward pass together, call ``update()`` equally often, and load the same state if one does.
"""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.encoders.conv import channels_last
from enstruct.energies import EnergySpec, build_energy
from enstruct.errors import ConfigError, DataError, DivergenceError, EnstructWarning
from enstruct.methods import TOGETHER, Method
from enstruct.methods.columns import COLUMNS, FORMER, OF_COUPLING
from enstruct.tasks import TASKS, Task
from enstruct.training.batches import Batch
from enstruct.training.learned_loss import LearnedLoss, diverged
from enstruct.training.mean_gradients import MeanGradient
from enstruct.training.ranks import check_equal_on_ranks, n_ranks, take_from_first_rank
from enstruct.training.settings import Settings
from enstruct.validation import check_rates, check_whole, is_whole, not_negative, one_of, optional

WARMUP = 500
"""Calls, for a game that begins with a predictor trained by cross-entropy: here that is the caller's, if he trained one."""

LONG_AFTER = 2**62
"""A number of updates after which every energy has its full weight."""
UNUSED = 300
"""Batches in training mode without one update, after which it is said that the energy learns nothing."""


REDUCTIONS = ("mean", "sum", "none")
RENAMED = {"energy": "energy_network", "outputs": "task", "learning_rate": "energy_learning_rate", "ignore": "ignore_index"}
"""Arguments by their names in enstruct 0.1; columns of the method's row were arguments too."""


class EnergyLoss(nn.Module):
    """``criterion(logits, y, features) -> scalar``, or with ``reduction="none"`` (batch,).

    features_dim, n_labels : widths of ``features`` (batch, features_dim) and of ``logits`` and ``y`` (batch, n_labels).
    method : a one-stage row of ``METHODS`` with an energy ("seal-nce", "seal-ranking", "seal-pl", "seal-margin",
        "seal-regression", "seal-regression-s"), or a :class:`Method`, as ``METHODS["seal-nce"].with_(n_samples=50)``;
        for tags and masks a row of their tables. By default the task's own, as the estimators have it.
    energy_network : an :class:`EnergySpec`, or a module ``(features, y) -> (batch, samples)``, which is given both with channels
        last, and zeros in y where there is no truth.
    task : "labels" (label sets), "tags" (a tag at every token) or "masks" (a class at every pixel).
    reduction : "mean" or "sum" over rows, or "none". The supervised part of a row is cross-entropy summed over labels or tokens,
        or averaged over pixels. What the energy learns does not depend on it.
    ignore_index : of y where there is no truth, for tags and masks. Label sets have no such places.
    energy_learning_rate, weight_decay : of the energy's AdamW; its gradient is clipped to the method's ``energy_clip``.
    warmup : calls of :meth:`update` over which the energy's weight rises, so that the network learns the labels first; 0 for one
        that has. None: the method's own (of the tables' rows 500, for masks 300).
    """

    _seen: tuple[Batch, Tensor] | None  # the last batch, and its logits
    _before: MeanGradient | None  # of the batches before it since the last update
    _n_gathered: int  # how many those are
    _n_seen: int  # batches since the last update, or those that it trained on
    _used: bool  # whether it did
    _frozen: bool  # whether the last batch came to an energy that did not learn
    _in_backward: bool  # whether it came in a backward pass, as from a checkpoint whose forward pass had no gradients

    def __init__(
        self,
        features_dim: int,
        n_labels: int,
        method: str | Method | None = None,
        energy_network: EnergySpec | nn.Module | None = None,
        *,
        task: Literal["labels", "tags", "masks"] = "labels",
        reduction: Literal["mean", "sum", "none"] = "mean",
        ignore_index: int = -100,
        energy_learning_rate: float = 1e-3,
        weight_decay: float = 1e-5,
        warmup: int | None = None,
        **renamed: Any,
    ) -> None:
        super().__init__()
        _refuse(renamed)
        one_of("task", TASKS)("task", task)
        one_of("reduction", REDUCTIONS)("reduction", reduction)
        check_whole(1, features_dim=features_dim, n_labels=n_labels)
        optional(not_negative)("warmup", warmup)
        self.task, self.reduction, self.ignore_index = task, reduction, ignore_index
        if self._kind.places and not is_whole(ignore_index):
            raise ConfigError(f"ignore_index must be a whole number, not {ignore_index!r}.")
        if self._kind.places and 0 <= ignore_index < n_labels:
            raise ConfigError(f"ignore_index={ignore_index} is a class: take one that is not from 0 to {n_labels - 1}.")
        if self._kind.places and n_labels < 2:
            raise ConfigError(f"task={task!r} has classes, two at least: a channel for each, the background's too.")
        row = self._row(self._kind.default if method is None else method, warmup)
        check_rates(energy_learning_rate=energy_learning_rate)
        if isinstance(energy_network, EnergySpec) and "tag-lm" in energy_network.terms:
            raise ConfigError('The term "tag-lm" learns from all tags first, which EnergyLoss does not see: leave it out.')
        features = _Given(features_dim)
        spec = self._kind.energy if energy_network is None else energy_network
        self.energy = build_energy(spec, features, features, n_labels, self._kind.terms)
        settings = Settings(learning_rate=energy_learning_rate, weight_decay=weight_decay)
        self.learned = LearnedLoss(row, self._kind.space(n_labels, row.cost), self.energy, n_labels, settings, across_ranks=True)
        self.source = self.learned.source
        self.features_dim, self.n_labels = features_dim, n_labels
        self.n_updates = 0  # calls of update(), which is once for each step of the predictor
        self._equal_on_ranks = False
        self._forget()

    @property
    def _kind(self) -> Task:
        return TASKS[self.task]

    def _row(self, method: str | Method, warmup: int | None) -> Method:
        """The method as it is played here, the network's steps being the caller's. ConfigError for one that cannot be."""
        row = self._kind.method(method)
        if len(row.stages) > 1 and self._kind.places and any(stage.predictor and stage.energy for stage in row.stages):
            row = replace(row, stages=TOGETHER)  # the first stage, cross-entropy, is the caller's own
            if warmup is None and not row.predictor_loss.warmup and row.name in self._kind.methods:
                warmup = WARMUP
        row = row.with_(energy_rate=1.0, **({} if warmup is None else {"warmup": warmup}))
        if not row.has_energy or len(row.stages) != 1 or not row.stages[0].predictor:
            raise ConfigError(
                f"EnergyLoss needs a one-stage method whose predictor learns beside an energy, as 'seal-nce', not {row.name!r}."
            )
        known = self._kind.methods.get(row.name, row).coupling
        known = known if isinstance(row.coupling, type(known)) else type(row.coupling)()
        for name in OF_COUPLING:
            if name != "energy_steps" and getattr(row.coupling, name) != getattr(known, name):
                raise ConfigError(f"EnergyLoss does not make the network's steps, your own loop does: it takes no {name}.")
        if row.predictor_loss.anchor_weight:
            raise ConfigError(
                "EnergyLoss does not see the network's weights, so it cannot hold them to a start: anchor_weight=0."
            )
        if row.coupling.through_predictor:
            raise ConfigError(
                f"EnergyLoss sees logits, not the network behind them, so it cannot differentiate through it as {row.name!r} "
                "does. Take with_(coupling='alternating'), or hand your network to EnergyMultiLabelClassifier, "
                "EnergySequenceTagger or EnergySegmenter (encoder=...)."
            )
        return row

    def forward(self, logits: Tensor, y: Tensor, features: Tensor) -> Tensor:
        """The reduced loss; in training mode the batch is remembered for :meth:`update`, unless gradients are off.

        DataError if shapes disagree, there are no rows, y is no 0/1 matrix, or features are not finite; DivergenceError if logits
        are NaN or inf. Places without a truth may hold either, as attention leaves it at padding, and -inf may rule out classes
        of tags and masks.
        """
        for name, value in {"logits": logits, "y": y, "features": features}.items():
            if not isinstance(value, Tensor):
                raise DataError(f"{name} must be a tensor, not {type(value).__name__}.")
        if self._kind.places == 2:
            logits, features = channels_last(logits), channels_last(features)
        self._check(logits, y, features)
        dtype = next(self.energy.parameters()).dtype
        logits, features = logits.to(dtype), features.to(dtype)  # under autocast they may have less precision
        if self._kind.places:
            known = (y != self.ignore_index).unsqueeze(-1)
            logits, features = (values.where(known | values.isfinite(), 0.0) for values in (logits, features))
        self._check_finite(logits, features)
        batch = self._placed(logits, y, features) if self._kind.places else Batch(features.detach(), y.to(logits.dtype))
        learning = self.training and torch.is_grad_enabled()
        if learning:
            self._meet_ranks(logits.device)
        learns = bool(self.learned.parameters())  # a frozen energy has nothing to wait for
        weight = self.learned.method.predictor_loss.weight_at(self.n_updates if learns else LONG_AFTER)
        with torch.autocast(logits.device.type, enabled=False):
            loss = self.learned.predictor_loss(batch, logits, weight, learning=self.training)  # (batch,)
            if learning:
                self._remember(batch, logits.detach())  # after it, so that a checkpoint draws the same numbers for it again
        return loss if self.reduction == "none" else loss.sum() if self.reduction == "sum" else loss.mean()

    def _placed(self, logits: Tensor, y: Tensor, features: Tensor) -> Batch:
        """The batch of outputs with a class at every place."""
        y = y.long()
        mask = (y != self.ignore_index).unsqueeze(-1).to(logits.dtype)  # (batch, *places, 1)
        truth = F.one_hot(y.where(mask.squeeze(-1) > 0, 0), self.n_labels).to(logits.dtype) * mask
        return Batch(features.detach(), truth, mask)

    def update(self) -> float:
        """Train the energy on the batches since the last update, as many steps as the method has; returns its last loss.

        Call it after ``backward``, whose gradients are those of the energy as it was. A second call trains on the same batch once
        more. DivergenceError if the loss is no number; ConfigError if there is no batch, if several would be gone over more than
        once (``energy_steps``, a cost-augmented net, a second call) or came to a frozen energy, or if ranks differ.
        """
        if self._seen is None:
            raise ConfigError("Call the criterion on a batch (in training mode, with gradients) before update().")
        if self._n_gathered != self._n_seen - 1:
            raise ConfigError(
                f"{self._n_seen} batches came since the last update, and are kept for a single pass of an energy that learns: "
                "call update() once after every batch, or take energy_steps=1, negatives that learn nothing, no frozen energy."
            )
        loss = 0.0
        batch, logits = self._seen
        self._check_ranks(logits.device)
        with torch.enable_grad(), torch.autocast(logits.device.type, enabled=False):
            for _ in range(self.learned.method.coupling.energy_steps):
                loss = float(self.learned.update(batch, logits, self._before))
                if not math.isfinite(loss):  # which on CUDA nobody has looked at
                    raise diverged(loss, "energy", f"at its update {self.learned.updates}", self.learned.settings.learning_rate)
        if n_ranks() > 1:
            take_from_first_rank(self.buffers())  # running statistics are of each rank's own rows
        self.n_updates += 1
        self._before, self._n_gathered, self._used = None, 0, True  # the batch itself stays, for a second call
        return loss

    def _remember(self, batch: Batch, logits: Tensor) -> None:
        """Keep a batch for :meth:`update`, and of the one before it the energy's gradient if it has not been used yet."""
        in_backward = torch._C._current_graph_task_id() >= 0  # as torch.utils.checkpoint asks
        if in_backward and self._seen is not None and not (self._in_backward or self._used):
            return  # a checkpointed forward pass made once more: its batch is here already
        learns = bool(self.learned.parameters())
        if self._used or (learns and self._frozen):
            self._forget()
        if self._seen is not None and learns and self.learned.passes == 1:
            with torch.autograd.graph.saved_tensors_hooks(_itself, _itself):  # a checkpoint's hooks shall not see this graph
                self._before = self.learned.gradient(*self._seen).joined(self._before)
            self._n_gathered += 1
        self._seen, self._frozen, self._in_backward = (batch, logits), not learns, in_backward
        self._n_seen += 1
        if self._n_seen == UNUSED and learns and not self.n_updates:
            warnings.warn(
                f"EnergyLoss has seen {UNUSED} batches in training mode and not one update(): its energy has learnt nothing. "
                "Call criterion.update() after optimizer.step(), or freeze it by criterion.energy.requires_grad_(False).",
                EnstructWarning,
                stacklevel=5,  # this, forward, and two of nn.Module's own
            )

    def _forget(self) -> None:
        """Nothing has come that an update could train on."""
        self._seen = self._before = None
        self._n_seen = self._n_gathered = 0
        self._used = self._frozen = self._in_backward = False

    def _meet_ranks(self, device: torch.device) -> None:
        """Take rank 0's energy, once."""
        if not self._equal_on_ranks and n_ranks() > 1:
            self._check_ranks(device)
            take_from_first_rank([*self.parameters(), *self.buffers()])
            self._equal_on_ranks = True

    def _check_ranks(self, device: torch.device) -> None:
        remedy = "Build the same criterion on every rank, load the same state, and call update() equally often."
        size = sum(p.numel() for p in self.parameters())
        check_equal_on_ranks(device, remedy, numbers_of_weights=size, updates=self.n_updates)

    def _check(self, logits: Tensor, y: Tensor, features: Tensor) -> None:
        places, names = self._kind.places, self._kind.axes
        if not logits.numel():
            raise DataError(f"The batch is empty: logits are {tuple(logits.shape)}.")
        form = {0: "(batch, {})", 1: f"(batch, {names}, {{}})", 2: f"(batch, {{}}, {names})"}[places]
        wanted = {"logits": (logits, self.n_labels), "features": (features, self.features_dim)}
        if not places:
            wanted["y"] = (y, self.n_labels)
        for name, (tensor, width) in wanted.items():
            if tensor.ndim != 2 + places or tensor.shape[-1] != width or tensor.shape[:-1] != logits.shape[:-1]:
                shown = tensor.movedim(-1, 1).shape if places == 2 and tensor.ndim == 4 else tensor.shape
                raise DataError(f"{name} must be {form.format(width)}; it is {tuple(shown)} beside {len(logits)} rows of logits.")
        for name, tensor in (("logits", logits), ("features", features)):
            if not tensor.is_floating_point():
                raise DataError(f"{name} must be real floating-point numbers; they are {tensor.dtype}.")
        for name, tensor in (("logits", logits), ("y", y), ("features", features)):
            if tensor.layout != torch.strided:
                raise DataError(f"{name} must be a dense tensor; it is {tensor.layout}: give {name}.to_dense().")
        if not places and not bool(((y == 0) | (y == 1)).all()):
            raise DataError("y must hold 0 and 1 alone: label sets have no ignore_index, and no soft labels.")
        if places and (y.shape != logits.shape[:-1] or y.is_floating_point()):
            raise DataError(f"y must be (batch, {names}) whole numbers; it is {tuple(y.shape)} of {y.dtype}.")
        if places and bool(((y != self.ignore_index) & ((y < 0) | (y >= self.n_labels))).any()):
            raise DataError(
                f"y holds classes 0 .. {self.n_labels - 1}, or {self.ignore_index} where there is no truth; here is another."
            )

    def _check_finite(self, logits: Tensor, features: Tensor) -> None:
        """Of places that have a truth; a maximum or minimum is NaN where one number is, and takes a single pass."""
        best = logits.detach().amax(-1) if self._kind.places else logits.detach()  # not every class of a place is ruled out
        if not _finite(best):
            ruled_out = "-inf for every class of a place" if self._kind.places else "-inf"
            odd = "NaN" if bool(best.isnan().any()) else "inf" if bool(best.isposinf().any()) else ruled_out
            raise DivergenceError(
                f"The logits hold {odd}: those given to the loss must be finite. The network has diverged (try a smaller "
                "learning rate for it, or clipping), was given such numbers, or overflows a low precision."
            )
        if not _finite(features):
            odd = "NaN" if bool(features.isnan().any()) else "inf"
            raise DataError(
                f"The features hold {odd}: those given to the loss must be finite. Look at what the network was given (impute "
                "what is missing), then at its weights, and at its precision."
            )

    def _apply(self, fn: Any, recurse: bool = True) -> EnergyLoss:
        """Moves and casts, of the optimisers too: loading casts their state to where the parameters are now."""
        super()._apply(fn, recurse)
        for optimizer in self.learned.optimizers.values():
            optimizer.load_state_dict(optimizer.state_dict())
        if self._seen is not None:
            batch, logits = self._seen
            self._seen = (replace(batch, x=fn(batch.x), y=fn(batch.y), mask=_moved(fn, batch.mask)), fn(logits))
        if self._before is not None:
            gradient = tuple(_moved(fn, part) for part in self._before.gradient)
            self._before = replace(self._before, loss=fn(self._before.loss), gradient=gradient)
        return self

    def get_extra_state(self) -> dict[str, Any]:
        return {
            "optimizers": {name: o.state_dict() for name, o in self.learned.optimizers.items()},
            "updates": self.learned.updates,
            "calls": self.n_updates,
        }

    def set_extra_state(self, state: dict[str, Any]) -> None:
        for name, optimizer in self.learned.optimizers.items():
            optimizer.load_state_dict(copy.deepcopy(state["optimizers"][name]))  # it keeps what it is given
        self.learned.updates = state["updates"]
        self.n_updates = state["calls"]
        self._forget()  # a gradient of other weights


def _finite(values: Tensor) -> bool:
    low, high = values.detach().aminmax()
    return bool((low > -torch.inf) & (high < torch.inf))


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _moved(fn: Any, tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else fn(tensor)


def _refuse(renamed: dict[str, Any]) -> None:
    """ConfigError for arguments by the names that they had in enstruct 0.1, TypeError for others that are none."""
    for name in renamed:
        if name in RENAMED:
            raise ConfigError(f"{name}= of EnergyLoss is called {RENAMED[name]}= since enstruct 0.2.")
        column = {"clip": "energy_clip", **FORMER}.get(name, name)
        if column in COLUMNS:
            raise ConfigError(
                f"{name}= is the column {column} of the method since enstruct 0.2: method=METHODS[...].with_({column}=...)."
            )
        raise TypeError(f"EnergyLoss has no argument {name!r}.")


class _Given(nn.Module):
    """An encoder for features that are already there."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out_features = width

    def forward(self, x: Tensor) -> Tensor:
        return x
