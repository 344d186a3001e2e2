"""Checkpoints: everything that decides how training goes on, in one safetensors file (no pickle).

A resumed run ends at the same weights as an uninterrupted one: networks, optimisers, the weights of the best epochs so far, the
learning rates and the random state are all restored. A digest stands beside them, so that nobody goes on with a damaged file.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from enstruct.declarations import described
from enstruct.errors import ModelFileError
from enstruct.files import write_tensors
from enstruct.randomness import set_states, states
from enstruct.training.batches import bytes_of, digest
from enstruct.training.callbacks import Callback
from enstruct.training.ranks import rank

if TYPE_CHECKING:
    from enstruct.training.loop import Loop

FORMAT = 7


class Checkpoint(Callback):
    """Saves to ``path`` after every epoch; with ``resume=True`` training starts from there if the file exists."""

    def __init__(self, path: Path | str, resume: bool = False) -> None:
        self.path, self.resume = Path(path), resume

    def on_train_begin(self, loop: Loop) -> None:
        if self.resume and self.path.exists():
            restore(loop, self.path)

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None:
        if rank() == 0:
            save(loop, self.path)


def save(loop: Loop, path: Path) -> None:
    """Whole or not at all; SaveError."""
    tensors: dict[str, Tensor] = states(loop.device)
    groups: dict[str, Any] = {}
    for name, module in _modules(loop).items():
        tensors |= {f"{name}/{key}": value for key, value in module.state_dict().items()}
    for name, optimizer in loop.game.optimizers.items():
        state = optimizer.state_dict()
        groups[name] = [group["lr"] for group in state["param_groups"]]
        for i, slots in state["state"].items():
            tensors |= {f"optimizer/{name}/{i}/{slot}": value for slot, value in slots.items() if isinstance(value, Tensor)}
    progress = loop.progress
    for epoch, networks in progress.snapshots.items():
        for name, weights in networks.items():
            tensors |= {f"snapshot/{epoch}/{name}/{key}": value for key, value in weights.items()}
    tensors |= {f"anchor/{key}": value for key, value in loop.game.anchor.items()}
    if loop.average is not None:
        tensors |= {f"average/{key}": value for key, value in loop.average.means.items()}
    plain = {k: v for k, v in vars(progress).items() if k != "snapshots"}
    header = {"format": FORMAT, "run": _fingerprint(loop), "progress": plain, "rates": groups, "updates": loop.game.updates}
    header["memory"] = loop.game.loss.memory
    header["averaged"] = 0 if loop.average is None else loop.average.updates
    written = json.dumps(header)
    write_tensors(path, tensors, {"checkpoint": written, "sha256": _sha256(written, tensors)})


def restore(loop: Loop, path: Path) -> None:
    """Put ``loop`` where the checkpoint was written; ModelFileError if it belongs to another run."""
    header, tensors = _read(path)
    if header["run"] != _fingerprint(loop):
        raise ModelFileError(f"{path} belongs to a run with other settings or data; use another folder, or delete it.")
    for name, module in _modules(loop).items():
        module.load_state_dict(_under(tensors, name))
    for name, optimizer in loop.game.optimizers.items():
        _restore_optimizer(optimizer, _under(tensors, f"optimizer/{name}"), header["rates"][name])
    for key, value in header["progress"].items():
        setattr(loop.progress, key, value)
    loop.game.anchor = {name: start.to(loop.device) for name, start in _under(tensors, "anchor").items()}
    loop.progress.snapshots = {int(n): {m: _under(w, m) for m in _first(w)} for n, w in _split(_under(tensors, "snapshot"))}
    loop.average = loop.new_average(loop.game.method.stages[loop.progress.stage])
    if loop.average is not None:
        loop.average.restore(_under(tensors, "average"), header["averaged"])
    loop.game.predictor_updates, loop.game.loss.updates = header["updates"]["predictor"], header["updates"]["energy"]
    loop.game.loss.memory.update(header["memory"])
    set_states(tensors, loop.device)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors; ModelFileError for a file that is damaged, or not of this format."""
    try:
        if not path.is_file():
            raise OSError("it is no regular file")
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata["checkpoint"])
            if header["format"] != FORMAT:
                raise ModelFileError(
                    f"{path} has checkpoint format {header['format']}, this enstruct goes on from {FORMAT}: delete it to start "
                    "anew."
                )
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except ModelFileError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        raise ModelFileError(f"{path} is not a readable enstruct checkpoint ({error}); delete it to start anew.") from error
    if metadata.get("sha256") != _sha256(metadata["checkpoint"], tensors):
        raise ModelFileError(f"{path} is damaged: it does not hold what was written. Delete it to start anew.")
    return header, tensors


def _sha256(header: str, tensors: dict[str, Tensor]) -> str:
    """Of the header, and of every tensor's name, type, shape and bytes."""
    digest = hashlib.sha256(header.encode())
    for key, value in sorted(tensors.items()):
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(bytes_of(value.detach()))
    return digest.hexdigest()


def _modules(loop: Loop) -> dict[str, torch.nn.Module]:
    game = loop.game
    named = {"predictor": game.predictor, "energy": game.loss.energy, "source": game.loss.source}
    return {name: module for name, module in named.items() if isinstance(module, torch.nn.Module)}


def _restore_optimizer(optimizer: torch.optim.Optimizer, slots: dict[str, Tensor], rates: list[float]) -> None:
    state = optimizer.state_dict()
    state["state"] = {}
    for key, value in slots.items():
        i, slot = key.split("/", 1)
        state["state"].setdefault(int(i), {})[slot] = value
    for group, rate in zip(state["param_groups"], rates, strict=True):
        group["lr"] = rate
    optimizer.load_state_dict(state)


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key[len(prefix) + 1 :]: value for key, value in tensors.items() if key.startswith(prefix + "/")}


def _first(tensors: dict[str, Tensor]) -> list[str]:
    """The names before the first slash."""
    return sorted({key.split("/", 1)[0] for key in tensors})


def _split(tensors: dict[str, Tensor]) -> list[tuple[str, dict[str, Tensor]]]:
    return [(name, _under(tensors, name)) for name in _first(tensors)]


def _fingerprint(loop: Loop) -> str:
    """What must agree for a checkpoint to be this run's: method, networks and their first weights, which stand for the seed, what
    is watched, settings, shapes, weights of labels, some rows of training and validation and their weights."""
    shapes = [tuple(map(int, m.shape)) for m in (loop.train.X, loop.train.Y)]
    game = loop.game
    first = zlib.crc32(b"".join(map(bytes_of, loop.first_weights.values())))
    of_labels = getattr(game.loss.space, "positive_weight", None)
    weights = first, None if of_labels is None else of_labels.tolist()
    rows = digest(loop.train), None if loop.validation is None else digest(loop.validation)
    parts = (described(game.method), game.predictor, game.loss.energy, loop.monitor, game.settings, shapes, weights, rows)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(parts))
