"""Minibatches: the one place where arrays become tensors, whatever the kind of rows.

How rows are cut into batches, made tensors and put together again depends on what they are: the loop calls the generic functions,
each of which has its way with rows of numbers first, and those for sentences and images below.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from enstruct.data.images import Images, Masks
from enstruct.data.mapped import MappedRows
from enstruct.data.rows import Rows, Supervision
from enstruct.data.sentences import Sentences, TagSequences, buckets
from enstruct.data.tokens import TokenRows
from enstruct.devices import moved
from enstruct.encoders.sparse_mlp import csr_batch
from enstruct.encoders.tokens import TokenBatch
from enstruct.randomness import generator

CHUNK = 1024
SAMPLED = 64
"""Rows that a digest reads."""
DENSE = 2**24
"""Cells of a table of labels that is cut into batches as an array, which is quicker than cutting CSR rows."""
MOST_TOKENS = 20_000
"""Padded tokens in a batch of sentences at most: a batch of very long ones holds fewer sentences, one at least."""
MOST_PIXELS = 2**17
"""Pixels in a batch of images at most when nothing is drawn, one image at least: feature maps hold many numbers a pixel."""


@dataclass(frozen=True)
class Batch:
    """``x`` what the encoder takes, ``y`` (batch, ..., labels) 0/1, optional mask (broadcasts against y) and row weights.

    ``y`` is zero in rows without a truth; ``supervision`` says what is known of those.
    """

    x: Any
    y: Tensor
    mask: Tensor | None = None
    weight: Tensor | None = None
    supervision: Supervision | None = None


class Inputs(NamedTuple):
    x: Any
    mask: Tensor | None


@singledispatch
def to_inputs(X: Any, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Inputs:
    """What an encoder takes, and the mask of existing output parts."""
    return Inputs(to_features(X, device, dtype), None)


@singledispatch
def to_targets(Y: Any, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Tensor:
    """The true outputs (batch, ..., labels) as 0/1."""
    return moved(torch.from_numpy(Y.toarray() if sparse.issparse(Y) else Y), device, dtype)


@singledispatch
def shuffled(X: Any, size: int) -> list[NDArray[np.int64]]:
    """The rows of each batch of an epoch, in random order.

    A last batch of one row joins the one before it: a network with batch normalisation cannot train on one.
    """
    order = torch.randperm(X.shape[0], generator=generator("cpu")).numpy()
    cut = [order[start : start + size] for start in range(0, len(order), size)]
    if len(cut) > 1 and len(cut[-1]) == 1 < size:
        cut[-2:] = [np.concatenate(cut[-2:])]
    return cut


def rows_an_epoch(X: Any) -> int:
    """How many rows :func:`shuffled` gives: of images each once, however many crops it has."""
    return len(X.images) if isinstance(X, Images) else int(X.shape[0])


@singledispatch
def in_order(X: Any, size: int = CHUNK) -> list[NDArray[np.int64]]:
    """The rows of each batch when nothing is drawn; :func:`assemble` undoes any change of order."""
    return [np.arange(start, min(start + size, X.shape[0])) for start in range(0, X.shape[0], size)]


def row_blocks(n_rows: int, n_columns: int, cells: int = 2**24) -> list[slice]:
    """All rows (one block at least), so many at a time that a table of so many columns stays below about ``cells`` numbers.

    Whole CHUNKs, so that networks meet the same batches as without blocks.
    """
    size = max(1, cells // (CHUNK * max(1, n_columns))) * CHUNK
    return [slice(start, start + size) for start in range(0, max(1, n_rows), size)]


@singledispatch
def assemble(X: Any, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The outputs of the batches of ``in_order(X)`` as one array in the order of X.

    (rows, labels); (tokens, tags); (images, height, width, classes).
    """
    return np.concatenate(parts)


def to_features(X: object, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Tensor:
    """Dense rows or scipy CSR rows, in memory or in a file, as a tensor the encoders take."""
    X = X.read() if isinstance(X, MappedRows) else X
    if sparse.issparse(X):
        return csr_batch(X, dtype, device)
    return moved(torch.as_tensor(np.asarray(X)), device, dtype)


def to_batch(rows: Rows, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Batch:
    weight = None if rows.weight is None else moved(torch.as_tensor(rows.weight), device, dtype)
    x, mask = to_inputs(rows.X, device, dtype)
    return Batch(x, to_targets(rows.Y, device, dtype), mask, weight, rows.supervision)


def batches(
    rows: Rows, size: int, order: list[NDArray[np.int64]] | None = None, device: torch.device | str = "cpu"
) -> Iterator[Batch]:
    """All rows once: the batches of ``order``, or by default in their own; the last batch may be short."""
    if sparse.issparse(rows.Y) and np.prod(rows.Y.shape) <= DENSE:
        rows = replace(rows, Y=rows.Y.toarray())
    for index in in_order(rows.X, size) if order is None else order:
        yield to_batch(rows.take(index), device)


def digest(rows: Rows) -> int:
    """Of inputs and targets of some rows from all over the data: rows of one shape are told from others."""
    index = np.unique(np.linspace(0, len(rows) - 1, SAMPLED).astype(np.int64))
    of_rows = b"" if rows.weight is None else np.asarray(rows.weight[index]).tobytes()
    return zlib.crc32(bytes_of(to_inputs(rows.X[index]).x) + bytes_of(to_targets(rows.Y[index])) + of_rows)


def bytes_of(data: Any) -> bytes:
    """Of a tensor, or several."""
    if isinstance(data, tuple):
        return b"".join(bytes_of(part) for part in data if part is not None)
    dense = data if data.layout is torch.strided else data.to_dense()
    return bytes(dense.cpu().numpy().tobytes())


# -- texts as tokens --------------------------------------------------------------------------------------------------------


@shuffled.register
def _(X: TokenRows, size: int) -> list[NDArray[np.int64]]:
    cut = buckets(X.lengths, size, torch.randperm(X.shape[0], generator=generator("cpu")).numpy(), MOST_TOKENS)
    return [cut[i] for i in torch.randperm(len(cut), generator=generator("cpu")).tolist()]


@in_order.register
def _(X: TokenRows, size: int = 64) -> list[NDArray[np.int64]]:
    return buckets(X.lengths, size, np.argsort(X.lengths, kind="stable"), MOST_TOKENS)


@assemble.register
def _(X: TokenRows, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    together = np.concatenate(parts)
    out = np.empty_like(together)
    out[np.concatenate(in_order(X))] = together
    return out


# -- sentences --------------------------------------------------------------------------------------------------------------


@to_inputs.register
def _(X: Sentences, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Inputs:
    there = _padded_places(X)
    tokens = np.zeros((*there.shape, X.tokens.shape[1]), dtype=np.int64)
    tokens[there] = X.tokens
    tagged = there.copy()
    tagged[there] = ~X.holes
    spellings, inverse = np.unique(tokens[..., -1], return_inverse=True)
    tokens[..., -1] = inverse.reshape(there.shape)
    batch = TokenBatch(
        moved(torch.from_numpy(tokens), device),
        moved(torch.from_numpy(there), device),
        moved(torch.from_numpy(X.spellings[spellings]), device),
        None if X.pieces is None else moved(torch.from_numpy(X.pieces[spellings]), device),
    )
    return Inputs(batch, moved(torch.from_numpy(tagged), device, dtype).unsqueeze(-1))


@to_targets.register
def _(Y: TagSequences, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Tensor:
    there = _padded_places(Y)
    tags = np.full(there.shape, Y.n_tags, dtype=np.int64)
    tags[there] = np.where(Y.tags < 0, Y.n_tags, Y.tags)
    targets = F.one_hot(torch.from_numpy(tags), Y.n_tags + 1)[..., : Y.n_tags]
    if Y.allowed is not None:  # of a token that may have several, all of these; nothing of one that may have any
        several = np.where(Y.allowed.all(1, keepdims=True), False, Y.allowed)
        targets[torch.from_numpy(there)] = torch.from_numpy(several.astype(np.int64))
    return moved(targets, device, dtype)


@shuffled.register
def _(X: Sentences, size: int) -> list[NDArray[np.int64]]:
    cut = buckets(X.lengths, size, torch.randperm(len(X), generator=generator("cpu")).numpy(), MOST_TOKENS)
    return [cut[i] for i in torch.randperm(len(cut), generator=generator("cpu")).tolist()]


@in_order.register
def _(X: Sentences, size: int = 64) -> list[NDArray[np.int64]]:
    return buckets(X.lengths, size, np.argsort(X.lengths, kind="stable"), MOST_TOKENS)


@assemble.register
def _(X: Sentences, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    where = in_order(X)
    out = np.empty((len(X.tokens), parts[0].shape[-1]), dtype=parts[0].dtype)
    for index, part in zip(where, parts, strict=True):
        for i, padded in zip(index, part, strict=True):
            begin, end = X.offsets[i], X.offsets[i + 1]
            out[begin:end] = padded[: end - begin]
    return out


def _padded_places(X: Sentences | TagSequences) -> NDArray[np.bool_]:
    """(sentences, longest) whether there is a token; filled row by row in the order of the tokens."""
    lengths = np.diff(X.offsets)
    return np.arange(max(1, lengths.max(initial=0))) < lengths[:, None]


# -- images -----------------------------------------------------------------------------------------------------------------


@to_inputs.register
def _(X: Images, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Inputs:
    pixels = moved(torch.from_numpy(X.patches()), device, dtype)
    if X.known is None:
        return Inputs(pixels, None)
    return Inputs(pixels, moved(torch.from_numpy(X.patches(X.known)), device, dtype).unsqueeze(-1))


@to_targets.register
def _(Y: Masks, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Tensor:
    numbers = moved(torch.from_numpy(Y.patches()).long(), device)
    numbers = numbers.where(numbers >= 0, Y.n_classes)
    return F.one_hot(numbers, Y.n_classes + 1)[..., : Y.n_classes].to(dtype=dtype)


@shuffled.register
def _(X: Images, size: int) -> list[NDArray[np.int64]]:
    order = X.one_a_time(torch.randperm(len(X), generator=generator("cpu")).numpy())
    return [order[start : start + size] for start in range(0, len(order), size)]


@in_order.register
def _(X: Images, size: int = CHUNK) -> list[NDArray[np.int64]]:
    size = max(1, min(size, MOST_PIXELS // (X.size[0] * X.size[1])))
    return [np.arange(start, min(start + size, len(X))) for start in range(0, len(X), size)]


@assemble.register
def _(X: Images, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return X.averaged(np.concatenate(parts))
