"""``TextEncoder``: a pretrained transformer as texts' features, frozen, or trained with the rest.

tuning     what learns                                        what is read at every pass
frozen     nothing: features are computed once and kept       (rows, width) numbers
adapter    two bottlenecks a layer (Houlsby et al. 2019)      tokens
pfeiffer   one behind each feed-forward block (Pfeiffer 2021) tokens
lora       low-rank parts of queries and values (Hu et al.)   tokens
full       every weight                                       tokens

features = mean of the hidden states over a text's tokens, or that of its first one ("cls"); of the last layer, or of a frozen
encoder those of several side by side
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from enstruct.data.texts import are_texts, as_texts, check_some_text
from enstruct.data.tokens import TokenRows
from enstruct.encoders.text.feature_cache import kept
from enstruct.encoders.text.parts import Adapters, LowRank, Parts, Pfeiffer, running
from enstruct.encoders.text.precision import PRECISIONS, autocast, in_bfloat16
from enstruct.encoders.text.trunk import Trunk, load_trunk, new_network, padded
from enstruct.errors import ConfigError, DataError
from enstruct.randomness import redirected, replayed
from enstruct.randomness import states as random_states

log = logging.getLogger("enstruct")
TUNED: dict[str, type[Parts] | None] = {"adapter": Adapters, "pfeiffer": Pfeiffer, "lora": LowRank, "full": None}
RATES = {"adapter": 5e-4, "pfeiffer": 5e-4, "lora": 5e-4, "full": 3e-5}
"""Of the encoder's own weights, unless ``learning_rate`` says otherwise; heads and energies have the classifier's."""
SIZES = {"adapter": 64, "pfeiffer": 64, "lora": 8}
POOLINGS = ("mean", "cls")
NAMES = "names"
TOKENS_A_BATCH = 2**10
"""Padded ones, of texts of like lengths: more are no faster on a processor, and fill its caches."""


@dataclass(repr=False, eq=False)
class TextEncoder(TransformerMixin, BaseEstimator):
    """What ``encoder=`` of the classifiers takes for texts; frozen, also a transformer of scikit-learn's by itself.

    Parameters
    ----------
    name : str or Path
        A folder with config.json, safetensors and a tokenizer, or a name on Hugging Face's hub that was fetched before
        (:func:`enstruct.encoders.text.download`).
    tuning : "frozen", "adapter", "pfeiffer", "lora" or "full", default="frozen"
    pooling : "mean" or "cls", default="mean"
    max_tokens : int, default=256
        Of a text: what is longer is cut, as the encoder's own positions bid.
    size : int, optional
        Units of a bottleneck ("adapter", "pfeiffer": 64) or the rank ("lora", 8).
    learning_rate : float, optional
        Of the encoder's own weights.
    texts_a_pass : int, optional
        How many texts of a batch go through an encoder that is tuned at once. Every pass is run again for its gradients, at a
        third more time, and takes the memory of so many texts; the gradient is that of the whole batch (default: all at once).
    label_texts : "names", dict of label -> text, or list of texts, optional
        What a network scores labels by beside weights of their own: their names (with blanks for underscores) or descriptions, as
        this encoder reads them (:mod:`enstruct.encoders.label_texts`). For rare labels, and for those that come later
        (:meth:`enstruct.EnergyMultiLabelClassifier.predict_new`).
    cache : bool, str or Path, default=True
        Where features of frozen encoders are kept, by the content of the texts: True, the user's cache folder, or the one that
        ENSTRUCT_CACHE names (:mod:`enstruct.encoders.text.feature_cache`).
    device : str, default="auto"
        Where frozen features are computed: "auto", an accelerator if there is one. What is tuned is where the classifier's
        networks are.
    layers : int, default=1
        How many layers' states of a frozen encoder are features, side by side: the last one's and those of others, evenly spaced
        below it. Three were better than one on GoEmotions, and worse on tags of programs (results page, `layers-*`).
    precision : "auto", "float32" or "bfloat16", default="auto"
        Of products of matrices; weights and what is added up stay in float32. "auto" is bfloat16 on an accelerator that has it,
        and on a processor that has it while an encoder is tuned (1.4 times as many texts a second: results page,
        `benchmark-text-encoder`), but float32 in features and answers there: they are the same on other processors and in other
        batches. "bfloat16": in these too.
    """

    name: Any
    tuning: str = "frozen"
    pooling: str = "mean"
    max_tokens: int = 256
    size: int | None = None
    learning_rate: float | None = None
    texts_a_pass: int | None = None
    label_texts: Any = None
    cache: Any = True
    device: str = "auto"
    layers: int = 1
    precision: str = "auto"

    def check(self) -> Self:
        """ConfigError for settings that cannot be meant."""
        if not isinstance(self.name, (str, Path)) or not str(self.name):
            raise ConfigError(f"TextEncoder: name= is a folder or a name on the hub, not {self.name!r:.60}.")
        if self.tuning not in ("frozen", *TUNED):
            names = ", ".join(map(repr, ("frozen", *TUNED)))
            raise ConfigError(f"TextEncoder: tuning= is one of {names}, not {self.tuning!r:.60}.")
        if self.pooling not in POOLINGS:
            raise ConfigError(f"TextEncoder: pooling= is 'mean' or 'cls', not {self.pooling!r:.60}.")
        if self.precision not in PRECISIONS:
            raise ConfigError(f"TextEncoder: precision= is 'auto', 'float32' or 'bfloat16', not {self.precision!r:.60}.")
        for name, least in (("max_tokens", 3), ("size", 1), ("texts_a_pass", 1), ("layers", 1)):
            value = getattr(self, name)
            optional = name in ("size", "texts_a_pass") and value is None
            if not optional and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least):
                raise ConfigError(f"TextEncoder: {name}= is a whole number from {least} on, not {value!r:.60}.")
        if self.layers > 1 and not (self.frozen and self.label_texts is None):
            raise ConfigError(
                f"TextEncoder: layers={self.layers} are read of a frozen encoder without label_texts=, and this one has "
                f"{'label_texts=' if self.frozen else f'tuning={self.tuning!r}'}, where the last layer counts: leave layers= out."
            )
        rate = self.learning_rate
        if rate is not None and not (isinstance(rate, (int, float)) and 0 < rate < np.inf):
            raise ConfigError(f"TextEncoder: learning_rate= is a positive number, not {rate!r:.60}.")
        if self.device != "auto":
            try:
                torch.device(self.device)
            except (RuntimeError, TypeError) as error:
                raise ConfigError(f"TextEncoder: device= is 'auto', 'cpu', 'cuda' or 'mps', not {self.device!r:.60}.") from error
        if self.frozen and self.texts_a_pass is not None:
            raise ConfigError("TextEncoder: texts_a_pass= is of an encoder that is tuned, and this one is frozen: leave it out.")
        if self.label_texts is not None and not _are_label_texts(self.label_texts):
            raise ConfigError(
                "TextEncoder: label_texts= is 'names', a dict of label -> text, or a list of texts, one a label, not "
                f"{self.label_texts!r:.60}."
            )
        return self

    def check_reads_no_labels(self, who: str) -> None:
        """ConfigError for ``label_texts`` where nothing would read them."""
        if self.label_texts is not None:
            raise ConfigError(
                f"TextEncoder: label_texts= are read by a network for label sets, and {who} has none: leave them out, or give "
                "EnergyMultiLabelClassifier a method of networks, as 'cross-entropy' or 'seal-nce'."
            )

    @property
    def frozen(self) -> bool:
        return self.tuning == "frozen"

    @property
    def trunk(self) -> Trunk:
        """ConfigError where there is no such encoder."""
        return load_trunk(self.check().name)

    @property
    def n_layers(self) -> int:
        """How many are read of the encoder. ConfigError where it has fewer."""
        if self.layers > 1 and self.layers > self.trunk.depth:
            raise ConfigError(
                f"TextEncoder: layers={self.layers}, and the encoder at {self.name} has {self.trunk.depth}: take fewer."
            )
        return int(self.layers)

    @property
    def width(self) -> int:
        """Of its features."""
        return self.n_layers * self.trunk.width

    @property
    def rate(self) -> float:
        return RATES[self.tuning] if self.learning_rate is None else float(self.learning_rate)

    # -- a transformer of scikit-learn's ----------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing is learnt; ConfigError where there is no such encoder, or it is to be tuned, which a classifier does."""
        if not self.check().frozen:
            raise ConfigError(f"TextEncoder(tuning={self.tuning!r}) is tuned by a classifier: give it as encoder=.")
        self.check_reads_no_labels("a transformer")
        self.width_ = self.width
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """(rows, width)."""
        if not are_texts(X):
            check_some_text(X)
            raise DataError("TextEncoder reads texts, a list or column of strings, one a row, and X is something else.")
        return self.features(as_texts(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """(width,)."""
        return np.array([f"text {i}" for i in range(self.width)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.requires_fit = True, False, False
        return tags

    # -- what classifiers read of texts -----------------------------------------------------------

    def features(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(texts, width) of the frozen encoder, from where they are kept where they are."""
        trunk, layers, width = self.trunk, self.n_layers, self.width
        if not len(texts):
            return np.zeros((0, width), dtype=np.float32)
        distinct, place = np.unique(np.array(texts, dtype=object), return_inverse=True)
        precision = " bfloat16" if in_bfloat16(self.precision, self._place(), trains=False) else ""
        deep = f" {layers} layers" if layers > 1 else ""
        how = f"{trunk.digest} {self.pooling} {self._most(trunk)}{deep}{precision}"
        out = kept(how, list(distinct), width, self.cache, lambda few: self._computed(trunk, few))
        return out[place.reshape(-1)]

    def _computed(self, trunk: Trunk, texts: list[str]) -> NDArray[np.float32]:
        device = self._place()
        tokens = self._tokens(trunk, texts)
        order = np.argsort([-len(one) for one in tokens], kind="stable")
        layers = self.n_layers
        out = np.empty((len(texts), layers * trunk.width), dtype=np.float32)
        start = 0
        with trunk.lock, torch.inference_mode(), autocast(self.precision, device, trains=False):
            network = trunk.network.to(device).eval()
            while start < len(order):
                rows = order[start : start + max(1, TOKENS_A_BATCH // len(tokens[order[start]]))]
                numbers, there = (part.to(device) for part in padded([tokens[row] for row in rows], trunk.fill))
                out[rows] = pooled(hidden(network, numbers, there, layers), there, self.pooling).float().cpu().numpy()
                start += len(rows)
        return out

    def token_rows(self, texts: Sequence[str]) -> TokenRows:
        """Of an encoder that is tuned: what its network takes."""
        return TokenRows.of(self._tokens(self.trunk, list(texts)), self._most(self.trunk))

    def _tokens(self, trunk: Trunk, texts: list[str]) -> list[list[int]]:
        return trunk.tokens(texts, self._most(trunk))

    def _most(self, trunk: Trunk) -> int:
        return min(int(self.max_tokens), trunk.positions)

    def _place(self) -> torch.device:
        if self.device == "auto":
            return accelerator()
        place = torch.device(self.device)
        there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
        if not there.get(place.type, True):
            raise ConfigError(f"TextEncoder: device={self.device!r}, and torch finds no such device here: take 'auto' or 'cpu'.")
        return place

    def reads_like(self, other: TextEncoder) -> bool:
        """Whether it makes the same of texts, wherever it lies and whatever it keeps."""
        names = ("tuning", "pooling", "max_tokens", "size", "layers", "precision")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def for_a_file(self) -> TextEncoder:
        """As a saved model names it: a folder by its whole path, its cache the reader's own."""
        name = str(Path(self.name).resolve()) if Path(self.name).is_dir() else str(self.name)
        return replace(self, name=name, cache=self.cache is not False)

    def network(self) -> EncodedText:
        """Newly initialised parts on the one trunk, or a copy of all of it."""
        return EncodedText(self)

    def pieces(self, words: Sequence[str]) -> list[list[int]]:
        """The numbers of each word's pieces, as within a sentence; one at least."""
        return self.trunk.pieces(list(words))


def _are_label_texts(value: Any) -> bool:
    if isinstance(value, str):
        return value == NAMES
    each = list(value.values()) if isinstance(value, Mapping) else value
    return isinstance(each, Sequence) and len(each) > 0 and all(isinstance(one, str) for one in each)


def accelerator() -> torch.device:
    """CUDA, Apple's, or the processor."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def hidden(network: nn.Module, numbers: Tensor, there: Tensor, layers: int = 1) -> Tensor:
    """(texts, tokens, width) last hidden states; of several layers side by side, the last one first, (..., layers x width).

    Of D layers and n of them the k-th is layer D - k D / n, counted from 1. ConfigError for a network that keeps its last alone.
    """
    told = network(input_ids=numbers, attention_mask=there.long(), **({"output_hidden_states": True} if layers > 1 else {}))
    last: Tensor = told.last_hidden_state
    if layers == 1:
        return last
    every = told.get("hidden_states")  # of the embeddings, then of each layer
    if not every:
        raise ConfigError(f"{type(network).__name__} tells the states of its last layer alone: TextEncoder(layers=1).")
    depth = len(every) - 1
    return torch.cat([last, *(every[depth - round(k * depth / layers)] for k in range(1, layers))], dim=-1)


def pooled(states: Tensor, there: Tensor, pooling: str) -> Tensor:
    """(texts, width)."""
    if pooling == "cls":
        return states[:, 0]
    weight = there.unsqueeze(-1).to(states.dtype)
    return (states * weight).sum(1) / weight.sum(1)


class EncodedText(nn.Module):
    """Batches of :class:`~enstruct.data.tokens.TokenRows` as CSR tensors -> (batch, out_features).

    Of one that is tuned in part its parts are all that it holds, and of a frozen one nothing: the trunk is shared by all networks
    on it, as the predictor's and its energy's. What is tuned as a whole is its own.
    """

    def __init__(self, how: TextEncoder) -> None:
        super().__init__()
        self.pooling, self.precision, self.own_rate = how.pooling, how.precision, 0.0 if how.frozen else how.rate
        self.most, self.texts_a_pass, self.layers = how._most(how.trunk), how.texts_a_pass, how.n_layers
        kind = TUNED.get(how.tuning)
        self.frozen = how.frozen
        if how.frozen:
            trunk, self.parts = how.trunk, None
        elif kind is None:
            self.whole, trunk = new_network(how.name)
            self.parts = None
        else:
            trunk = how.trunk
            self.parts = kind(trunk.network, SIZES[how.tuning] if how.size is None else int(how.size))
        self.trunk, self.fill = trunk, trunk.fill
        self.out_features = how.width

    parts: Parts | None

    def forward(self, x: Tensor) -> Tensor:
        numbers, there = token_batch(x, self.fill)
        return pooled(self.states(numbers, there), there, self.pooling)

    def states(self, numbers: Tensor, there: Tensor) -> Tensor:
        """(texts, tokens, width) last hidden states, in single precision."""
        if self.texts_a_pass is None or not torch.is_grad_enabled():
            return self._passed(numbers, there)
        parts = zip(numbers.split(self.texts_a_pass), there.split(self.texts_a_pass), strict=True)
        return torch.cat([_run_again_for_gradients(self._passed, *part) for part in parts])

    def _passed(self, numbers: Tensor, there: Tensor) -> Tensor:
        with autocast(self.precision, numbers.device, self.training and not self.frozen), redirected():
            if self.frozen:
                with self.trunk.lock, torch.no_grad():
                    return hidden(self.trunk.network.to(numbers.device).eval(), numbers, there, self.layers).float()
            if self.parts is None:
                return hidden(self.whole, numbers, there).float()
            with self.trunk.lock:
                network = self.trunk.network.to(numbers.device).train(self.training)
                with running(self.parts, network):
                    return hidden(network, numbers, there).float()


def _run_again_for_gradients(run: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """``run(*inputs)``, of which nothing is kept: it runs again, with the same random numbers, when gradients are asked for."""
    device = inputs[0].device
    before = random_states(device)
    out: Tensor = checkpoint(
        run,
        *inputs,
        use_reentrant=False,
        preserve_rng_state=False,
        context_fn=lambda: (nullcontext(), replayed(before, device)),
    )
    return out


def token_batch(x: Tensor, fill: int) -> tuple[Tensor, Tensor]:
    """(numbers, whether there is a token), both (batch, longest), of a CSR tensor of token numbers plus one."""
    offsets = x.crow_indices()
    lengths = offsets[1:] - offsets[:-1]
    there = torch.arange(int(lengths.max()), device=x.device) < lengths.unsqueeze(1)
    numbers = torch.full(there.shape, fill, dtype=torch.int64, device=x.device)
    numbers[there] = x.values().round().long() - 1
    return numbers, there
