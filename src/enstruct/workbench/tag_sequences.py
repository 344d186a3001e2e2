"""Tags at the workbench: a told span moves the others, by the chain's best sequence among those that have the told tags."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from enstruct.data.conll import write_conll
from enstruct.data.tag_schemes import find_spans, spells_span
from enstruct.errors import DataError, shown
from enstruct.estimators.tag_rules import plain_words
from enstruct.estimators.tagger import EnergySequenceTagger
from enstruct.files import write_text
from enstruct.rules.tags import tag_may_be
from enstruct.workbench.labelling import Cells, Labelling


class TagSequences(Labelling):
    """``sentences``: as the tagger reads them. Cells are numbers of tokens, from "0" on, and their tags."""

    task = "tags"

    def __init__(self, tagger: EnergySequenceTagger, sentences: Sequence[Any]) -> None:
        self.tagger, self.sentences = tagger, sentences
        self.names = [str(tag) for tag in sorted(tagger.tags_.user_tags)]
        self.n_rows = len(sentences)
        self._words = plain_words(sentences)
        self._lock = threading.Lock()

    @property
    def ending(self) -> str:
        return ".conll"

    def describe(self) -> dict[str, Any]:
        scheme = self.tagger.tags_.user_scheme
        types = sorted({name[2:] for name in self.names if spells_span(name)}) if scheme else []
        return {"names": self.names, "scheme": scheme, "types": types, "rules": []}

    def content(self, row: int) -> dict[str, Any]:
        return {"words": list(self._words[row])}

    def answers(self, row: int, cells: Cells, read: Cells) -> dict[str, Any]:
        """``tags`` (tokens,) the best sequence, ``p`` (tokens,) its tags' marginals, ``spans`` [[type, start, end], ...]."""
        known = [self._known(row, cells)]
        with self._lock:
            tags = self.tagger.predict([self.sentences[row]], known=known)[0]
            table = self.tagger.predict_proba([self.sentences[row]], known=known)[0]
        of = self.tagger.tags_  # a user's tag may stand for several trained ones
        stands = {tag: [tag_may_be(tag, one, of.user_scheme) for one in of.tags] for tag in set(tags)}
        p = [round(float(row[stands[tag]].sum()), 4) for tag, row in zip(tags, table, strict=True)]
        spans = [[span.type, span.start, span.end] for span in find_spans(tags)] if self.tagger.tags_.user_scheme else []
        return {"tags": list(map(str, tags)), "p": p, "spans": spans}

    def check(self, row: int, cells: Cells, told: Cells, done: bool) -> None:
        n = len(self._words[row])
        for name, value in cells.items():
            if not (name.isascii() and name.isdigit() and int(name) < n):
                raise DataError(f"The sentence has tokens 0 to {n - 1}, and {shown(name)} is none of them.")
            if value is not None and value not in self.names:
                raise DataError(f"Training has seen no tag {shown(value)}: one of {', '.join(self.names[:12])}.")
        if done and len(told) < n:
            raise DataError("A sentence is finished once all its tokens have their tags.")
        known = self._known(row, told)
        with self._lock:
            self.tagger.predict([self.sentences[row]], known=[known])  # raises tags that cannot stand there

    def uncertainty(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The entropies of the tokens' tags, summed."""
        with self._lock:
            tables = self.tagger.predict_proba([self.sentences[int(row)] for row in rows])
        return np.array([-xlogy(p, p).sum() for p in tables])

    def write(self, path: Path, told: Mapping[int, Cells]) -> None:
        """CoNLL columns of the sentences of which all is told. DataError where there is none."""
        write_sentences(path, self.sentences, told)

    def _known(self, row: int, cells: Cells) -> list[str | None]:
        return [cells.get(str(k)) for k in range(len(self._words[row]))]


def write_sentences(path: Path, sentences: Sequence[Any], told: Mapping[int, Cells]) -> None:
    """Of which all tokens have their tags. DataError where there is none."""
    whole = [row for row in sorted(told) if len(told[row]) == len(sentences[row])]
    if not whole:
        raise DataError("No sentence is finished yet: there is nothing to write.")
    tags = [[str(told[row][str(k)]) for k in range(len(sentences[row]))] for row in whole]
    write_text(path, write_conll([sentences[row] for row in whole], tags))
