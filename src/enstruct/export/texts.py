"""Texts in a graph: by terms, by a pretrained encoder, or by both, as their model reads them (:mod:`enstruct.estimators.texts`).

    read by       inputs                                           beside the graph
    terms         features (rows, terms), tf-idf                   terms.json: of what texts' rows are made
    an encoder    tokens (rows, longest), -1 behind a text's end   tokenizer.json, of the library ``tokenizers``
    both          features, tokens                                 both

Terms are counted outside, as scikit-learn's ``TfidfVectorizer`` does; the encoder itself, with what was trained of it, is in the
graph. It is held against the model on texts that are drawn of its own terms or pieces.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.encoders.text import TextEncoder
from enstruct.encoders.text.parts import Parts, running
from enstruct.encoders.text.pretrained import EncodedText, hidden, pooled
from enstruct.encoders.text.trunk import Trunk
from enstruct.errors import ConfigError
from enstruct.estimators.texts import ByBoth, ByEncoder, ByTerms, Reader
from enstruct.export.graph import Arrays

TERMS, TOKENIZER = "terms.json", "tokenizer.json"
WORDS = 24
"""Of a drawn text, at most."""
TOKENS_A_WORD = 6
NOTHING = -1
"""In the places behind a text's last token."""


class TokenFeatures(nn.Module):
    """tokens (rows, longest) -> the encoder's features (rows, width). A text of no tokens is read as one that pads.

    The trunk's network is the shared one, which lies in a graph once, however many networks have parts on it. ``whole``: one that
    was tuned as a whole, in its place.
    """

    def __init__(
        self, trunk: Trunk, pooling: str, layers: int = 1, parts: Parts | None = None, whole: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.network = trunk.network.cpu() if whole is None else whole
        self.parts, self.lock = parts, trunk.lock
        self.fill, self.pooling, self.layers = trunk.fill, pooling, layers

    @classmethod
    def of(cls, tuned: EncodedText) -> TokenFeatures:
        """In place of what reads token rows."""
        return cls(tuned.trunk, tuned.pooling, tuned.layers, tuned.parts, getattr(tuned, "whole", None))

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens.long()  # behind terms they are numbers like these
        there = tokens >= 0
        first = torch.arange(tokens.shape[1], device=tokens.device) == 0
        there = there | (~there.any(1, keepdim=True) & first)
        numbers = torch.where(tokens >= 0, tokens, self.fill)
        with self.lock, nullcontext() if self.parts is None else running(self.parts, self.network):
            return pooled(hidden(self.network, numbers, there, self.layers), there, self.pooling)


class OfTokens(nn.Module):
    """A module on rows of features, before it an encoder of tokens; None: it takes the tokens itself."""

    def __init__(self, encoder: TokenFeatures | None, module: nn.Module) -> None:
        super().__init__()
        self.encoder, self.module = encoder, module

    def forward(self, tokens: Tensor, known: Tensor | None = None) -> Any:
        x = tokens if self.encoder is None else self.encoder(tokens)
        return self.module(x) if known is None else self.module(x, known)


class OfTermsAndTokens(nn.Module):
    """A module on rows of terms and, behind these, what the encoder makes of tokens, less ``centre`` and over ``spread``; without
    an encoder the tokens themselves, as :class:`enstruct.estimators.texts.ByBoth` has them."""

    centre: Tensor
    spread: Tensor

    def __init__(self, encoder: TokenFeatures | None, reader: ByBoth, module: nn.Module) -> None:
        super().__init__()
        self.encoder, self.module = encoder, module
        self.register_buffer("centre", torch.from_numpy(reader.centre))
        self.register_buffer("spread", torch.from_numpy(reader.spread))

    def forward(self, features: Tensor, tokens: Tensor, known: Tensor | None = None) -> Any:
        behind = tokens.float()
        if self.encoder is not None:
            behind = ((self.encoder(tokens).double() - self.centre) / self.spread).float()
        x = torch.cat([features, behind], dim=1)
        return self.module(x) if known is None else self.module(x, known)


@dataclass(frozen=True)
class ReadTexts:
    """How a fitted model's texts go into its graph."""

    reader: Reader

    def __post_init__(self) -> None:
        if not isinstance(self.reader, (ByTerms, ByEncoder, ByBoth)):
            raise ConfigError(
                "This model's base is a model of your own that reads texts, which enstruct cannot put into its graph: export it "
                "by its own library, or fit with base='auto' or a method's name."
            )
        if self.encoder is not None and getattr(self.trunk.tokenizer, "backend_tokenizer", None) is None:
            raise ConfigError(
                f"The encoder at {self.encoder.name} has a tokenizer that runs in Python alone, which a server without enstruct "
                "does not have: export a model of another encoder."
            )

    @property
    def terms(self) -> ByTerms | None:
        if isinstance(self.reader, ByBoth):
            return self.reader.terms
        return self.reader if isinstance(self.reader, ByTerms) else None

    @property
    def encoder(self) -> TextEncoder | None:
        return None if isinstance(self.reader, ByTerms) else cast(ByEncoder | ByBoth, self.reader).encoder

    @property
    def trunk(self) -> Trunk:
        return cast(TextEncoder, self.encoder).trunk

    @property
    def axes(self) -> dict[str, dict[int, str]]:
        features = {} if self.terms is None else {"features": {0: "rows"}}
        return features | ({} if self.encoder is None else {"tokens": {0: "rows", 1: "longest"}})

    def before(self, module: nn.Module) -> nn.Module:
        """The module on what stands for texts."""
        if self.encoder is None:
            return module
        how = self.encoder
        own = TokenFeatures(self.trunk, how.pooling, how.n_layers) if how.frozen else None
        return OfTermsAndTokens(own, self.reader, module) if isinstance(self.reader, ByBoth) else OfTokens(own, module)

    def inputs(self, texts: list[str]) -> Arrays:
        out: dict[str, NDArray[Any]] = {}
        if self.terms is not None:
            out["features"] = self.terms.rows(texts).toarray().astype(np.float32)
        if self.encoder is not None:
            numbers = [found.ids for found in self.tokenizer.encode_batch(texts)]
            out["tokens"] = np.full((len(texts), max(1, *map(len, numbers))), NOTHING, dtype=np.int64)
            for row, own in zip(out["tokens"], numbers, strict=True):
                row[: len(own)] = own
        return out

    def draw(self, rows: int, random: np.random.Generator) -> list[str]:
        """Texts of one to WORDS words, fewer of an encoder that reads few tokens: none is cut, of which there is a word."""
        words, most = self._words(), WORDS
        if self.encoder is not None:
            most = min(WORDS, max(1, self.encoder._most(self.trunk) // TOKENS_A_WORD))
        return [" ".join(random.choice(words, random.integers(1, most + 1))) for _ in range(rows)]

    def _words(self) -> list[str]:
        if self.terms is None:
            pieces = sorted(self.trunk.tokenizer.get_vocab())
            return [piece for piece in pieces if piece.isalnum()] or pieces
        blocks = self.terms.features.blocks_
        return [str(term).strip() for term in next(iter(blocks.values())).get_feature_names_out()]

    def beside(self) -> dict[str, Any]:
        """Files by their names, as JSON."""
        out = {} if self.terms is None else {TERMS: self.terms.features.record()}
        return out if self.encoder is None else out | {TOKENIZER: json.loads(self.tokenizer.to_str())}

    @cached_property
    def tokenizer(self) -> Any:
        """The one that is written, by which the graph is held against the model too: it cuts as the encoder's does."""
        from tokenizers import Tokenizer

        with self.trunk.lock:
            own = Tokenizer.from_str(self.trunk.tokenizer.backend_tokenizer.to_str())
            side = getattr(self.trunk.tokenizer, "truncation_side", "right")
        own.no_padding()
        own.enable_truncation(cast(TextEncoder, self.encoder)._most(self.trunk), direction=side)
        return own

    def about(self) -> dict[str, str]:
        """For the file's metadata: what stands for texts."""
        return {"texts": " and ".join({"features": "terms", "tokens": "tokens"}[name] for name in self.axes)}
