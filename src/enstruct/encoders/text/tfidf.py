"""``TextFeatures``: tf-idf of words, pairs of words and pieces of words, as rows of a CSR matrix.

    tf-idf(t, d) = (1 + ln tf(t, d)) (1 + ln((1 + n) / (1 + df(t)))),     each block's rows of length 1, then both over sqrt(2)

for the tf(t, d) > 0 times that a term t of a block occurs in a text d of n (scikit-learn's ``TfidfVectorizer``, which does the
counting).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from enstruct.data.texts import are_texts, as_texts
from enstruct.errors import ConfigError, DataError
from enstruct.validation import count, optional

RARE = 2
"""Texts that a term must occur in, where there are enough of them that this leaves any."""
ANALYZERS = {"words": "word", "characters": "char_wb"}


class TextFeatures(TransformerMixin, BaseEstimator):
    """Texts -> (rows, terms) CSR of float64 in [0, 1], as scikit-learn's transformers; also within its ``ColumnTransformer``.

    Parameters
    ----------
    words : (int, int) or None, default=(1, 2)
        From how many to how many words in a row are a term.
    characters : (int, int) or None, default=(3, 4)
        Likewise of the characters of a word, its ends among them.
    most_words, most_characters : int or None, default=50_000 and 20_000
        Terms of each kind at most, the most frequent ones.

    Attributes
    ----------
    blocks_ : dict of fitted ``TfidfVectorizer``, by "words" and "characters".
    """

    def __init__(
        self,
        *,
        words: tuple[int, int] | None = (1, 2),
        characters: tuple[int, int] | None = (3, 4),
        most_words: int | None = 50_000,
        most_characters: int | None = 20_000,
    ) -> None:
        self.words = words
        self.characters = characters
        self.most_words = most_words
        self.most_characters = most_characters

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the terms of these texts. DataError where there are none; ConfigError for lengths that are none."""
        texts = _checked(X)
        self.blocks_ = {}
        for kind, lengths in self._lengths().items():
            vectorizer = self._vectorizer(kind, lengths)
            for least in (RARE, 1):
                try:
                    self.blocks_[kind] = vectorizer.set_params(min_df=least).fit(texts)
                    break
                except ValueError:  # no term is left
                    continue
        if not self.blocks_:
            raise DataError(
                f"None of the {len(texts)} texts has a word in it: are they of the right column, and in the right encoding?"
            )
        return self

    def transform(self, X: Any) -> sparse.csr_matrix:
        check_is_fitted(self, "blocks_")
        texts = _checked(X)
        share = 1 / np.sqrt(len(self.blocks_))
        return sparse.csr_matrix(sparse.hstack([share * block.transform(texts) for block in self.blocks_.values()]))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """(terms,) "words: ..." and "characters: ..."."""
        check_is_fitted(self, "blocks_")
        return np.array(
            [f"{kind}: {term}" for kind, block in self.blocks_.items() for term in block.get_feature_names_out()], dtype=object
        )

    def _lengths(self) -> dict[str, tuple[int, int]]:
        asked = {"words": self.words, "characters": self.characters}
        for kind, lengths in asked.items():
            if lengths is not None and not (
                isinstance(lengths, (tuple, list)) and len(lengths) == 2 and 1 <= lengths[0] <= lengths[1]
            ):
                raise ConfigError(
                    f"{kind}= is the least and the largest length of a term, as (1, 2), or None, not {lengths!r:.60}."
                )
        found = {kind: (int(lengths[0]), int(lengths[1])) for kind, lengths in asked.items() if lengths is not None}
        for name in ("most_words", "most_characters"):
            optional(count)(name, getattr(self, name))
        if not found:
            raise ConfigError("words= and characters= are both None, so that a text has no terms: give one of them.")
        return found

    def _vectorizer(self, kind: str, lengths: tuple[int, int]) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(
            analyzer=ANALYZERS[kind],
            ngram_range=lengths,
            max_features=getattr(self, f"most_{kind}"),
            sublinear_tf=True,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    # -- saving -----------------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """As JSON: the lengths, and of each block its terms, in the order of the columns, and their idf."""
        check_is_fitted(self, "blocks_")
        return {
            "words": None if self.words is None else list(self.words),
            "characters": None if self.characters is None else list(self.characters),
            "terms": {kind: block.get_feature_names_out().tolist() for kind, block in self.blocks_.items()},
            "idf": {kind: block.idf_.tolist() for kind, block in self.blocks_.items()},
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`record`. ValueError for what does not go together."""
        words, characters = (None if record[kind] is None else (*record[kind],) for kind in ANALYZERS)
        self = cls(words=words, characters=characters)
        self.blocks_ = {}
        lengths = self._lengths()
        for kind, terms in record["terms"].items():
            idf = np.array(record["idf"][kind], dtype=np.float64)
            if not terms or len(set(terms)) < len(terms) or idf.shape != (len(terms),) or not np.isfinite(idf).all():
                raise ValueError(f"the terms of its texts ({kind}) are not those that its idf weighs")
            block = self._vectorizer(kind, lengths[kind])
            block.vocabulary = {term: column for column, term in enumerate(terms)}
            block.idf_ = idf
            self.blocks_[kind] = block
        if not self.blocks_:
            raise ValueError("its texts have no terms")
        return self


def _checked(X: Any) -> list[str]:
    if not are_texts(X):
        raise DataError("TextFeatures reads texts, a list or column of strings, one a row, and X is something else.")
    return as_texts(X)
