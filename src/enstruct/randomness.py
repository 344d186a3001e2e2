"""Random numbers of one's own: every fit and every sample draws from generators that nobody else reads or moves.

torch's layers draw from one generator a process, which all threads share. Here a :class:`Source` holds a generator for each
device, and :func:`drawing_from` makes it the one that the library's own code draws from in this thread (:func:`generator`). Code
that draws without naming a generator, such as torch's initialisers and the layers of somebody's own network, is led there by
:func:`redirected`. Outside of any source everything draws from torch's global generators, as a user's own training loop does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

States = dict[str, Tensor]
"""Of generators: "random_state" of the CPU's and "random_state_cuda" of an accelerator's."""


class Source:
    """Generators of one seed, one for each device, made when first asked for."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generators: dict[str, torch.Generator] = {}

    def on(self, device: torch.device | str) -> torch.Generator:
        name = str(torch.device(device))
        if name not in self._generators:
            self._generators[name] = torch.Generator(name).manual_seed(self.seed)
        return self._generators[name]


_source: ContextVar[Source | None] = ContextVar("_source", default=None)


@contextmanager
def drawing_from(source: Source) -> Iterator[Source]:
    """A block in which this thread draws from ``source``."""
    token = _source.set(source)
    try:
        yield source
    finally:
        _source.reset(token)


def seeded(seed: int) -> AbstractContextManager[Source]:
    """A block that draws from a new source, and leaves everybody else's random numbers as they are."""
    return drawing_from(Source(seed))


def generator(device: torch.device | str) -> torch.Generator | None:
    """What to draw from on ``device``; None, which torch takes for its global generator, outside of any source."""
    source = _source.get()
    return None if source is None else source.on(device)


def drawn_like(x: Tensor, dtype: torch.dtype | None = None) -> dict[str, Any]:
    """How to draw numbers on x's device and in its precision, for torch's functions."""
    return {"dtype": x.dtype if dtype is None else dtype, "device": x.device, "generator": generator(x.device)}


def states(device: torch.device | str) -> States:
    """Where the generators stand of which this thread draws."""
    device, source = torch.device(device), _source.get()
    cpu = torch.get_rng_state() if source is None else source.on("cpu").get_state()
    if device.type != "cuda":
        return {"random_state": cpu}
    cuda = torch.cuda.get_rng_state(device) if source is None else source.on(device).get_state()
    return {"random_state": cpu, "random_state_cuda": cuda}


def set_states(states: States, device: torch.device | str) -> None:
    """Put the generators of which this thread draws where :func:`states` found them."""
    source = _source.get()
    if source is None:
        torch.set_rng_state(states["random_state"])
        if "random_state_cuda" in states:
            torch.cuda.set_rng_state(states["random_state_cuda"], device)
        return
    source.on("cpu").set_state(states["random_state"])
    if "random_state_cuda" in states:
        source.on(device).set_state(states["random_state_cuda"])


@contextmanager
def replayed(states: States, device: torch.device | str) -> Iterator[None]:
    """A block that draws what was drawn from these states on, and afterwards goes on as if it had not been."""
    with apart(device):
        set_states(states, device)
        yield


@contextmanager
def repeatable(seed: int, device: torch.device | str) -> Iterator[None]:
    """A block that draws the same numbers every time, and afterwards goes on as if it had not been."""
    with apart(device):
        if _source.get() is None and torch.device(device).type == "cpu":
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would move those of accelerators too
        elif _source.get() is None:
            torch.manual_seed(seed)
        else:
            _source.set(Source(seed))
        yield


@contextmanager
def apart(device: torch.device | str) -> Iterator[None]:
    """A block after which this thread draws as if the block had drawn nothing."""
    device, source = torch.device(device), _source.get()
    if source is None:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
        return
    with drawing_from(Source(source.seed)):
        yield


# -- code that names no generator -----------------------------------------------------------------


class Redirecting(TorchDispatchMode):
    """Every operation that would draw from a global generator draws from this thread's source.

    Those of which torch has no variant that takes a generator, as attention with dropout fused on an accelerator, draw as ever.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: torch would import its compiler, of eight hundred modules, to keep this mode out of it; nothing is compiled."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded not in func.tags or kwargs.get("generator") is not None:
            return func(*args, **kwargs)
        device = next((arg.device for arg in args if isinstance(arg, Tensor)), kwargs.get("device") or torch.get_default_device())
        own = generator(device) if torch.device(device).type != "meta" else None
        if own is None:
            return func(*args, **kwargs)
        if func is torch.ops.aten.native_dropout.default:
            return _dropped(args[0], args[1], own)
        for overload in _with_generator(func):
            try:
                return overload(*args, **kwargs, generator=own)
            except (TypeError, RuntimeError) as error:
                if "generator" not in str(error):
                    raise
        return func(*args, **kwargs)


def _with_generator(func: Any) -> list[Any]:
    """The operation's variants that take a generator, the one of the same arguments first."""
    packet = func.overloadpacket
    named = [name for name in packet.overloads() if any(a.name == "generator" for a in getattr(packet, name)._schema.arguments)]
    wanted = [name for name in (func._overloadname, f"{func._overloadname}_generator", "generator") if name in named]
    return [getattr(packet, name) for name in wanted]


def _dropped(x: Tensor, p: float, own: torch.Generator) -> tuple[Tensor, Tensor]:
    """What an accelerator's dropout gives, which takes no generator."""
    kept = torch.empty_like(x).bernoulli_(1 - p, generator=own)
    return x * kept / (1 - p), kept.bool()


@contextmanager
def redirected() -> Iterator[None]:
    """A block whose operations draw from this thread's source even where they name no generator; a few µs an operation."""
    if _source.get() is None or _redirecting.get():
        yield
        return
    token = _redirecting.set(True)
    try:
        with Redirecting():
            yield
    finally:
        _redirecting.reset(token)


_redirecting: ContextVar[bool] = ContextVar("_redirecting", default=False)
_entered = threading.local()
"""``blocks``: the redirections that forward passes of this thread are in, the innermost last."""


def redirect(module: nn.Module) -> nn.Module:
    """Somebody's own network, whose layers draw from this thread's source from now on."""
    for part in module.modules():
        if _enter not in part._forward_pre_hooks.values():  # a copy of one that was redirected already
            part.register_forward_pre_hook(_enter)
            part.register_forward_hook(_leave, always_call=True)
    return module


def _enter(module: nn.Module, inputs: Any) -> None:
    block = redirected()
    block.__enter__()
    _entered.__dict__.setdefault("blocks", []).append(block)


def _leave(module: nn.Module, inputs: Any, outputs: Any) -> None:
    _entered.blocks.pop().__exit__(None, None, None)


class Dropout(nn.Dropout):
    """torch's, drawing from this thread's source."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        return x * torch.empty_like(x).bernoulli_(1 - self.p, generator=generator(x.device)).div_(1 - self.p)
