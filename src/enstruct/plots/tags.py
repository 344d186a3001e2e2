"""Pictures of a tagger: which tags attract each other, and how sure it is of each token.

tag pairs   -W of E = sum_t y_{t-1}' W y_t (implicit-training paper, Fig. 2): the sign is turned so that attraction is positive
sentence    P(tag | token) of one sentence, true tags marked
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from enstruct.data.tagged import Tagged
from enstruct.energies.base import SumEnergy
from enstruct.energies.chain import ChainEnergy
from enstruct.errors import ConfigError
from enstruct.estimators import EnergySequenceTagger
from enstruct.estimators.token_format import as_tuple
from enstruct.plots.labels import panels, save


def tag_pairs(tagger: EnergySequenceTagger) -> np.ndarray:
    """(tags, tags) attraction of the second tag to the first, -W. ConfigError if the energy has no chain."""
    terms = list(tagger.energy_.terms) if isinstance(tagger.energy_, SumEnergy) else []
    for term in terms:
        if isinstance(term, ChainEnergy) and term.distance == 1:
            return -term.transitions.detach().cpu().numpy()
    raise ConfigError("Only an energy with the term 'chain' has a table of tag pairs; this tagger has none.")


def transitions_picture(tagger: EnergySequenceTagger, path: Path) -> None:
    attraction = tag_pairs(tagger)
    figure, (axis,) = panels(1)
    bound = float(np.abs(attraction).max()) or 1.0
    image = axis.imshow(attraction, cmap="RdBu_r", vmin=-bound, vmax=bound)
    _ticks(axis, list(tagger.classes_), list(tagger.classes_))
    axis.set(xlabel="tag", ylabel="tag before it", title="attraction of tag pairs (-W)")
    figure.colorbar(image, ax=axis)
    save(figure, path)


def probabilities_picture(tagger: EnergySequenceTagger, data: Tagged, sentence: int, path: Path) -> None:
    """ConfigError if there is no such sentence."""
    if not 0 <= sentence < len(data):
        raise ConfigError(f"There are {len(data)} sentences, numbered from 0; {sentence} is none of them.")
    tokens = data.sentences[sentence]
    (p,) = tagger.predict_proba([tokens])
    figure, (axis,) = panels(1)
    axis.imshow(p.T, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    _ticks(axis, [as_tuple(token)[0] for token in tokens], list(tagger.classes_))
    if data.tags is not None:
        seen = [[tag if tag in tagger.tags_.user_tags else None for tag in data.tags[sentence]]]
        for i, tag in enumerate(tagger.tags_.encode(seen).tags):
            if tag >= 0:  # a tag that training has not seen has no place
                axis.plot(i, tag, "o", markersize=9, markerfacecolor="none", markeredgecolor="tab:red")
    axis.set(title="P(tag | token); circles: true tags")
    save(figure, path)


def _ticks(axis: Any, columns: list[str], rows: list[str]) -> None:
    axis.set_xticks(range(len(columns)), columns, rotation=90, fontsize=6)
    axis.set_yticks(range(len(rows)), rows, fontsize=6)
