"""Folders of models that somebody has spoilt, or written to do harm.

A sound folder of a random kind is changed: the values in its headers, its tensors and the header of their file, with the digests
that stand for them corrected or not, files cut short, gone, of other models, or no files at all. What loads must answer: in the
right shapes, probabilities between 0 and 1, numbers that are numbers. Nothing may be run, read elsewhere, or asked of the network
by loading: Python's audit hook listens.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from enstruct_bench.campaigns import mutations
from enstruct_bench.campaigns.documents import Random
from enstruct_bench.campaigns.small_models import MAKERS, small
from enstruct_bench.campaigns.trial import Trial, Unsound

SECONDS = 20.0
ALSO: tuple[type[Exception], ...] = ()
LEAST, TIMES, MOST = 256 * 2**20, 10, 2**31
"""Bytes that loading and answering may take, times the folder's size beyond that, and never more."""
HARM = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pickle.find_class", "socket.connect",
    "os.remove", "os.rename", "os.mkdir", "os.symlink", "os.link", "os.truncate", "socket.getaddrinfo", "os.rmdir",
    "shutil.rmtree", "ctypes.dlopen",
)  # fmt: skip
"""Events of Python's audit that loading has no use for."""
_listening: list[str] = []
_is_listening = False


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if not _is_listening:
        return
    if event in HARM:
        _listening.append(f"{event} {str(arguments)[:80]}")
    elif event == "open" and isinstance(arguments[0], str):
        mode, flags = arguments[1], arguments[2]
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        if writes or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            _listening.append(f"open {arguments[0]} to write")


def prepare(seed: int, folder: Path) -> None:
    """Every kind is fitted and answers once, so that what is imported late has been."""
    torch.set_num_threads(1)
    np.seterr(all="ignore")  # finite weights may be too large to compute with
    for kind in MAKERS:
        place = folder / "sound" / kind
        small(kind).model.save(place)
        small(kind).check(type(small(kind).model).load(place))
    sys.addaudithook(_listen)


def most_bytes(trial: Trial) -> int:
    return min(MOST, max(LEAST, TIMES * trial.size))


def trial(number: int, seed: int, folder: Path) -> Trial:
    rng = random.Random(f"models {seed} {number}")
    kind = rng.choice([*MAKERS])
    place = folder / "spoilt"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "sound" / kind, place)
    change = _spoil(rng, place, folder / "sound")
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())

    def act() -> None:
        one = small(kind)
        model = _loaded(type(one.model), place)
        try:
            one.check(model)
        except Unsound:
            if not _beyond(place):
                raise

    return Trial(kind, change, act, False, size)


def _loaded(of: Any, place: Path) -> Any:
    global _is_listening
    _listening.clear()
    _is_listening = True
    try:
        return of.load(place)
    finally:
        _is_listening = False
        if _listening:
            raise Unsound(f"loading did {_listening[0]}")


def _beyond(place: Path) -> bool:
    """Whether some weights are finite, and so large that what is computed with them need not be."""
    every = (tensor for path in place.rglob("*.safetensors") for tensor in load_file(path).values())
    return any(bool((tensor.abs() > 1e12).any()) for tensor in every if tensor.is_floating_point())


def _spoil(rng: Random, place: Path, sound: Path) -> str:
    """Change a folder; what was done."""
    headers = sorted(path for path in place.rglob("*.json"))
    tensors = sorted(place.rglob("*.safetensors"))
    match rng.choice(
        ("header", "header", "header", "header", "tensors", "tensors", "tensors", "bytes", "bytes", "claims", "files")
    ):
        case "header":
            path = rng.choice(headers)
            change, value = mutations.spoil_json(rng, json.loads(path.read_text(encoding="utf-8")))
            path.write_bytes(json.dumps(value).encode("utf-8", errors="surrogatepass"))
            return change
        case "tensors":
            path = rng.choice(tensors)
            change = _spoil_tensors(rng, path)
            _correct(path)
            return change
        case "bytes":
            path = rng.choice([*headers, *tensors])
            change, content = mutations.spoil_bytes(rng, path.read_bytes())
            path.write_bytes(content)
            if rng.random() < 0.5:
                _correct(path)
            return f"{path.suffix} {change}"
        case "claims":
            path = rng.choice(tensors)
            change = _claim(rng, path)
            _correct(path)
            return change
    return _files(rng, rng.choice([*headers, *tensors]), sound)


def _correct(path: Path) -> None:
    """The digest of a file of tensors, where its header holds one: who does harm would do so."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for header in path.parent.glob("*.json"):
        try:
            content = json.loads(header.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if isinstance(content, dict) and "weights" in content and path.suffix == ".safetensors":
            header.write_text(json.dumps({**content, "weights": digest}), encoding="utf-8")


def _spoil_tensors(rng: Random, path: Path) -> str:
    tensors = load_file(path)
    key = rng.choice([*tensors])
    tensor = tensors[key]
    changes: dict[str, Callable[[], torch.Tensor]] = {
        "NaN": lambda: torch.full_like(tensor, float("nan")) if tensor.is_floating_point() else torch.full_like(tensor, -1),
        "infinite": lambda: (
            torch.full_like(tensor, float("inf")) if tensor.is_floating_point() else torch.full_like(tensor, 2**31 - 1)
        ),
        "one infinite": lambda: _with_one(rng, tensor, float("inf") if tensor.is_floating_point() else 2**31 - 1),
        "one NaN": lambda: _with_one(rng, tensor, float("nan") if tensor.is_floating_point() else -1),
        "one negative": lambda: _with_one(rng, tensor, -5),
        "zeros": lambda: torch.zeros_like(tensor),
        "huge": lambda: torch.full_like(tensor, 1e30) if tensor.is_floating_point() else torch.full_like(tensor, 10**6),
        "turned": lambda: tensor.flip(0) if tensor.ndim else tensor,
        "mixed": lambda: tensor.flatten()[
            torch.randperm(tensor.numel(), generator=torch.Generator().manual_seed(rng.randrange(2**31)))
        ].reshape(tensor.shape),
        "another type": lambda: tensor.to(
            rng.choice((torch.float64, torch.float16, torch.int64, torch.int32, torch.bool, torch.uint8, torch.bfloat16))
        ),
        "flat": lambda: tensor.flatten(),
        "one more axis": lambda: tensor[None].clone(),
        "cut": lambda: tensor[:-1] if tensor.ndim and len(tensor) else tensor[None],
        "longer": lambda: torch.cat([tensor, tensor]) if tensor.ndim else tensor[None],
        "nothing": lambda: torch.zeros(0, dtype=tensor.dtype),
    }
    name = rng.choice([*changes, "gone", "one more", "renamed"])
    if name == "gone":
        del tensors[key]
    elif name == "one more":
        tensors["predictor/x" if rng.random() < 0.5 else "x"] = torch.zeros(3)
    elif name == "renamed":
        tensors[f"{key}x"] = tensors.pop(key)
    else:
        tensors[key] = changes[name]().contiguous()
    save_file({key: value.clone() for key, value in tensors.items()}, path)
    return f"tensors: {name}"


def _with_one(rng: Random, tensor: torch.Tensor, value: float) -> torch.Tensor:
    changed = tensor.clone().flatten()
    if len(changed):
        changed[rng.randrange(len(changed))] = (
            value if tensor.is_floating_point() else int(value) % 2**31 if value > 0 else int(value)
        )
    return changed.reshape(tensor.shape)


def _claim(rng: Random, path: Path) -> str:
    """The file's header promises other shapes, places or types than its bytes hold."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    key = rng.choice([key for key in header if key != "__metadata__"] or ["x"])
    entry = header.setdefault(key, {})
    change = rng.choice(("shape", "offsets", "type", "length", "many", "json"))
    if change == "shape":
        entry["shape"] = rng.choice(([2**40], [2**20, 2**20], [-1], [0], [1] * 500, [2**63], "x", None))
    elif change == "offsets":
        entry["data_offsets"] = rng.choice(([0, 2**40], [5, 1], [-1, 4], [0, 0], [0], None, ["a", "b"]))
    elif change == "type":
        entry["dtype"] = rng.choice(("F64", "I8", "BOOL", "F999", None, 5, "BF16"))
    elif change == "many":
        header |= {f"x{k}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for k in range(5000)}
    elif change == "json":
        _, header = mutations.spoil_json(rng, header)
    written = json.dumps(header).encode("utf-8", errors="surrogatepass")
    length = rng.choice((2**63, 2**40, 0, 1, len(written) - 1)) if change == "length" else len(written)
    path.write_bytes(struct.pack("<Q", length) + written + content[8 + struct.unpack("<Q", content[:8])[0] :])
    return f"claims: {change}"


def _files(rng: Random, path: Path, sound: Path) -> str:
    change = rng.choice(
        ("gone", "empty", "a link", "a folder", "a device", "a pipe", "another model's", "foreign", "one more", "a member more")
    )
    if change == "one more":
        (path.parent / rng.choice(("notes.txt", "weights.bin", "auto.json", "joint.json", "model.json"))).write_bytes(
            rng.randbytes(9)
        )
        return "files: one more"
    if change == "a member more":
        shutil.copytree(path.parent, path.parent / f"member-{rng.randrange(9)}", dirs_exist_ok=True)
        return "files: a member more"
    path.unlink()
    match change:
        case "empty":
            path.write_bytes(b"")
        case "a link":
            path.symlink_to(rng.choice(("/etc/passwd", "/dev/zero", str(path), "nowhere")))
        case "a folder":
            path.mkdir()
        case "a device":
            path.symlink_to("/dev/zero")
        case "a pipe":
            os.mkfifo(path)
        case "another model's":
            others = sorted(sound.rglob(path.name))
            shutil.copy(rng.choice(others), path)
        case "foreign":
            path.write_bytes(mutations.foreign(rng)[1])
    return f"files: {change}"
