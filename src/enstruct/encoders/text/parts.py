"""What is trained on a frozen transformer: small parts that its modules' outputs pass through, in place of its own weights.

    Adapters    h + W2 relu(W1 h + b1) + b2, behind attention and behind the feed-forward block of every layer, before each is
                added to what came in (Houlsby et al. 2019); W2 = 0 at first, so that training begins at the pretrained network
    Pfeiffer    the same behind feed-forward blocks alone, half as many (the place that Pfeiffer et al. 2021 found best; what it
                reads is as of Houlsby's form, the block's output before the sum and its normalisation)
    LowRank     W h + s B A h, s = 16 / rank, of every layer's queries and values (LoRA, Hu et al. 2022); B = 0 at first

They hold no weight of the transformer, and act while :func:`running` lasts: a predictor and its energy have parts of their own
on one trunk. (``peft`` has low-rank parts, but puts them into the network, which then is one owner's, and no bottlenecks.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.errors import ConfigError

QUERIES_AND_VALUES = (
    "query",
    "value",
    "q_proj",
    "v_proj",
    "q_lin",
    "v_lin",
    "query_proj",
    "value_proj",
    "attn.q",
    "attn.v",
    "Wqkv",
)
"""Their names in the transformers of the library ``transformers``; the last is of both and keys in one."""
ATTENTION_ENDS = ("attention.output.dense", "attention.out_lin", "out_proj", "attn.Wo", "attn.o", "attention.dense", "o_proj")
FEED_FORWARD_ENDS = ("output.dense", "ffn.lin2", "fc2", "mlp.Wo", "ffn_output", "down_proj")
"""Likewise of the linear maps at the end of attention and of feed-forward blocks."""
SCALE = 16.0


def _ends_in(name: str, ends: tuple[str, ...]) -> bool:
    return any(name == end or name.endswith(f".{end}") for end in ends)


def _ends_attention(name: str) -> bool:
    return _ends_in(name, ATTENTION_ENDS)


def _ends_feed_forward(name: str) -> bool:
    return _ends_in(name, FEED_FORWARD_ENDS) and not _ends_attention(name)  # "output.dense" is how both may end


class Parts(nn.Module):
    """One small module for each of the transformer's linear maps that it :meth:`goes_on`."""

    def __init__(self, network: nn.Module, size: int) -> None:
        super().__init__()
        self.names: list[str] = []  # of the transformer's modules that they go on
        modules = []
        for name, module in network.named_modules():
            if isinstance(module, nn.Linear) and self.goes_on(name):
                self.names.append(name)
                modules.append(self.part(module, size))
        if not modules:
            raise ConfigError(
                f"{type(network).__name__} has none of the layers that its parts ({type(self).__name__}) go on: choose another "
                "tuning=."
            )
        self.parts = nn.ModuleList(modules)

    def goes_on(self, name: str) -> bool:
        """Whether a part goes behind the transformer's linear map of this name."""
        raise NotImplementedError  # every kind has its own

    def part(self, target: nn.Linear, size: int) -> nn.Module:
        """The part behind a linear map."""
        raise NotImplementedError


@contextmanager
def running(parts: Parts, network: nn.Module) -> Iterator[None]:
    """Inside, the outputs of the transformer's modules pass through these parts: one thread's at a time."""
    handles = [
        network.get_submodule(name).register_forward_hook(lambda _, inputs, output, part=part: part(inputs[0], output))
        for name, part in zip(parts.names, parts.parts, strict=True)
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class Bottleneck(nn.Module):
    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(width, size), nn.Linear(size, width)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, before: Tensor, output: Tensor) -> Tensor:
        return output + self.up(F.relu(self.down(output)))


class Pfeiffer(Parts):
    def goes_on(self, name: str) -> bool:
        return _ends_feed_forward(name)

    def part(self, target: nn.Linear, size: int) -> nn.Module:
        return Bottleneck(target.out_features, size)


class Adapters(Pfeiffer):
    def __init__(self, network: nn.Module, size: int) -> None:
        super().__init__(network, size)
        behind_attention = sum(map(_ends_attention, self.names))
        if 2 * behind_attention != len(self.names):
            raise ConfigError(
                f"Of {type(network).__name__} {behind_attention} blocks of attention and {len(self.names) - behind_attention} "
                "of feed-forward layers are known by their names, and adapters go behind both: choose another tuning=."
            )

    def goes_on(self, name: str) -> bool:
        return _ends_attention(name) or _ends_feed_forward(name)


class LowRankPart(nn.Module):
    def __init__(self, target: nn.Linear, rank: int) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.empty(rank, target.in_features))
        self.b = nn.Parameter(torch.zeros(target.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=5**0.5)
        self.scale = SCALE / rank

    def forward(self, before: Tensor, output: Tensor) -> Tensor:
        return output + self.scale * F.linear(F.linear(before, self.a), self.b)


class LowRank(Parts):
    def goes_on(self, name: str) -> bool:
        return _ends_in(name, QUERIES_AND_VALUES)

    def part(self, target: nn.Linear, size: int) -> nn.Module:
        return LowRankPart(target, size)
