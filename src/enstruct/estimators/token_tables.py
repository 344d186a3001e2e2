"""Tables of words that a tagger is given: pretrained vectors and Brown clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from enstruct.data.embeddings import WordVectors, read_clusters, read_vectors
from enstruct.errors import ConfigError
from enstruct.estimators.token_format import TokenFormat


def vector_table(given: Path | str | WordVectors | None) -> tuple[dict[str, int], torch.Tensor | None]:
    """Word -> row, and (words + 1, width): row 0 is that of ``<unk>``, or zeros; of a word that occurs twice the first counts.

    Nothing of None.
    """
    if given is None:
        return {}, None
    vectors = given if isinstance(given, WordVectors) else read_vectors(given)
    unknown = vectors.vectors[vectors.words.index("<unk>")] if "<unk>" in vectors.words else np.zeros(vectors.vectors.shape[1])
    table = torch.from_numpy(np.concatenate([unknown[None].astype(np.float32), vectors.vectors]))
    return {word: row for row, word in reversed(list(enumerate(vectors.words, 1)))}, table


def cluster_table(given: Path | str | Mapping[str, str] | None) -> dict[str, str]:
    """Word -> bits; nothing of None."""
    if given is None:
        return {}
    return dict(given) if isinstance(given, Mapping) else read_clusters(given)


def check_tables(tokens: TokenFormat | None, embeddings: object, clusters: object) -> None:
    """ConfigError where a fit anew would lose the tables that a loaded tagger has in its weights alone."""
    for name, given, table in (("embeddings", embeddings, "vectors"), ("clusters", clusters, "clusters")):
        if given is None and tokens is not None and getattr(tokens, table):
            raise ConfigError(
                f"This tagger has learnt with {name}=, which its file does not keep: set_params({name}=...) to fit it anew, "
                "warm_start=True to go on, or clone() it to do without."
            )
