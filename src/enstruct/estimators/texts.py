"""Texts where rows of numbers may be: what an estimator reads them by, learnt in ``fit`` and kept as its ``text_``.

    encoder=TextEncoder(...), frozen     rows of its features
    encoder=TextEncoder(...), tuned      rows of token numbers, which the networks' own encoder takes
    either, of a joint on base="auto"    these behind the columns of tf-idf
    a base that takes texts itself       the texts (:func:`takes_texts`)
    else                                 tf-idf of words and pieces of words (:class:`~enstruct.encoders.text.TextFeatures`)

Terms and their weights are those of all rows of ``fit``, whose labels they know nothing of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from enstruct.data.texts import are_texts, as_array, as_texts, check_some_text
from enstruct.data.tokens import TokenRows
from enstruct.encoders.text import TextEncoder, TextFeatures
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.saved_header import Encoded, Input, TermsAndEncoded, TermsOfTexts, Verbatim

LENGTH = 0.5
"""Of a row's features, as a root mean square, where its terms' is 1. Of 0.5, 1 and 2 it was best on held-out documents of two
collections, by a script; what it gives beside terms or features alone is on the results page (`views-*`)."""


class Reader(Protocol):
    """A fitted way to make rows of texts."""

    def rows(self, texts: Sequence[str]) -> Any:
        """Dense, CSR, token rows or, verbatim, an array of the texts."""

    def record(self) -> dict[str, Any]:
        """For a model's header (:class:`~enstruct.estimators.saved_header.Input`)."""


@dataclass(frozen=True)
class ByTerms:
    features: TextFeatures

    def rows(self, texts: Sequence[str]) -> Any:
        return self.features.transform(texts)

    def record(self) -> dict[str, Any]:
        return {"read_by": "terms", **self.features.record()}


@dataclass(frozen=True)
class ByEncoder:
    """``digest``: of the encoder's weights when the model was fitted."""

    encoder: TextEncoder
    digest: str

    @classmethod
    def of(cls, encoder: TextEncoder) -> Self:
        return cls(clone(encoder), encoder.trunk.digest)

    def rows(self, texts: Sequence[str]) -> Any:
        return self.encoder.features(texts) if self.encoder.frozen else self.encoder.token_rows(texts)

    def record(self) -> dict[str, Any]:
        return {"read_by": "encoder", "digest": self.digest}


@dataclass(frozen=True)
class ByBoth:
    """Terms first, then what the encoder makes of a text. Of a frozen one that is its features, (f - ``centre``) / ``spread``: of
    one variance each, and together half as long as the terms of a row, so that a linear model may read them side by side. Of one
    that is tuned token numbers, for its network alone, and ``centre`` and ``spread`` are empty."""

    terms: ByTerms
    features: ByEncoder
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, encoder: TextEncoder, texts: Sequence[str]) -> Self:
        features = ByEncoder.of(encoder)
        if not encoder.frozen:
            return cls(ByTerms(TextFeatures().fit(texts)), features, np.zeros(0), np.zeros(0))
        rows = np.asarray(features.rows(texts), dtype=np.float64)
        deviation = rows.std(0)
        spread = np.where(deviation > 0, deviation, 1.0) * np.sqrt(rows.shape[1]) / LENGTH
        return cls(ByTerms(TextFeatures().fit(texts)), features, rows.mean(0), spread)

    @property
    def encoder(self) -> TextEncoder:
        return self.features.encoder

    @property
    def n_terms(self) -> int:
        return len(self.terms.features.get_feature_names_out())

    def rows(self, texts: Sequence[str]) -> Any:
        rows = self.features.rows(texts)
        behind = sparse.csr_matrix((rows - self.centre) / self.spread) if self.encoder.frozen else rows
        return sparse.csr_matrix(sparse.hstack([self.terms.rows(texts), behind]))

    def record(self) -> dict[str, Any]:
        own = {"centre": self.centre.tolist(), "spread": self.spread.tolist()}
        return {**self.terms.record(), "read_by": "both", "digest": self.features.digest, **own}


@dataclass(frozen=True)
class AsTheyAre:
    def rows(self, texts: Sequence[str]) -> Any:
        return as_array(texts)

    def record(self) -> dict[str, Any]:
        return {"read_by": "base"}


def rows_of(estimator: BaseEstimator, X: Any, reset: bool) -> Any:
    """Texts as rows of numbers, whatever else X is as it is. ``reset``: learn how, from these.

    DataError for texts where numbers were trained and the other way round.
    """
    texts = are_texts(X)
    if reset:
        estimator.__dict__.pop("text_", None)
        if texts:
            estimator.text_ = _learnt(estimator, as_texts(X))
        elif isinstance(getattr(estimator, "encoder", None), TextEncoder) and not isinstance(X, TokenRows):  # as a joint hands on
            raise DataError("encoder= reads texts, a list or column of strings, and X is something else: leave one of them out.")
    trained_on_texts = hasattr(estimator, "text_")
    if texts and not trained_on_texts:
        raise DataError("X are texts, and this model was trained on rows of numbers: give it such, or fit it on texts.")
    if not texts and trained_on_texts and isinstance(X, (list, tuple)) and not len(X):
        raise DataError("X holds no text: give it one at least.")
    if not texts and trained_on_texts:
        check_some_text(X)
        raise DataError("This model was trained on texts, and X is something else: give it a list or column of strings.")
    if not texts:
        return X
    check_same_reader(estimator)
    return estimator.text_.rows(as_texts(X))


def check_same_reader(estimator: Any) -> None:
    """ConfigError where ``encoder=`` reads otherwise than the one that the estimator was fitted with."""
    fitted = getattr(getattr(estimator, "text_", None), "encoder", None)
    present = getattr(estimator, "encoder", None)
    if fitted is not None and not (isinstance(present, TextEncoder) and present.reads_like(fitted)):
        raise ConfigError("encoder= reads texts in another way than in fit (set_params since?): set it back, or fit anew.")


def _learnt(estimator: BaseEstimator, texts: list[str]) -> Reader:
    encoder = getattr(estimator, "encoder", None)
    if isinstance(encoder, TextEncoder):
        base = getattr(estimator, "base", None)
        if getattr(estimator, "_reads_both", False) and isinstance(base, str) and base == "auto":
            return ByBoth.of(encoder, texts)
        return ByEncoder.of(encoder)
    if takes_texts(getattr(estimator, "base", None)):
        return AsTheyAre()
    return ByTerms(TextFeatures().fit(texts))


def takes_texts(base: Any) -> bool:
    """Whether it is a classifier of scikit-learn's that reads strings, as a pipeline that begins with a vectoriser is."""
    steps = getattr(base, "steps", None)
    if isinstance(steps, list) and steps:  # a pipeline, whose own tags say nothing of it
        return _reads_strings(steps[0][1])
    return hasattr(base, "predict_proba") and not isinstance(base, type) and _reads_strings(base)


def _reads_strings(step: Any) -> bool:
    return isinstance(step, BaseEstimator) and bool(get_tags(step).input_tags.string)


def input_record(estimator: Any, **more: Any) -> dict[str, Any]:
    """What a model's header says of its input."""
    check_same_reader(estimator)
    names = list(getattr(estimator, "feature_names_in_", []))
    text = {"text": estimator.text_.record()} if hasattr(estimator, "text_") else {}
    return {"n_features": estimator.n_features_in_, "names": names, **more, **text}


def restore_input(estimator: Any, record: Input) -> None:
    """The inverse of :func:`input_record`. ValueError for what does not go together, ConfigError without the encoder."""
    estimator.n_features_in_ = record.n_features
    if record.names:
        estimator.feature_names_in_ = np.array(record.names, dtype=object)
    if isinstance(record.text, TermsAndEncoded):
        estimator.text_ = _by_both(estimator, record.text)
    elif isinstance(record.text, TermsOfTexts):
        estimator.text_ = _by_terms(record.text)
    elif isinstance(record.text, Encoded):
        estimator.text_ = _by_encoder(estimator, record.text.digest)
    elif isinstance(record.text, Verbatim):
        estimator.text_ = AsTheyAre()


def _by_terms(record: TermsOfTexts | TermsAndEncoded) -> ByTerms:
    return ByTerms(TextFeatures.from_record(msgspec.structs.asdict(record)))


def _by_both(estimator: Any, record: TermsAndEncoded) -> ByBoth:
    features = _by_encoder(estimator, record.digest)
    centre, spread = (np.array(values, dtype=np.float64) for values in (record.centre, record.spread))
    if {centre.shape, spread.shape} != {(features.encoder.width if features.encoder.frozen else 0,)}:
        raise ValueError("the centre and spread of its features are of another width than the encoder")
    return ByBoth(_by_terms(record), features, centre, spread)


def _by_encoder(estimator: Any, digest: str) -> ByEncoder:
    return ByEncoder(read_by(getattr(estimator, "encoder", None), digest), digest)


def lying(parameters: dict[str, Any], place: Any) -> dict[str, Any]:
    """``load``'s ``encoder``: another one, or by a folder or name the saved one, that lies there now. ConfigError."""
    if not isinstance(place, (str, Path)):
        return {} if place is None else {"encoder": place}
    saved = parameters.get("encoder")
    if not isinstance(saved, TextEncoder):
        raise ConfigError("encoder= says where a model's TextEncoder lies, and this one was saved without one: leave it out.")
    return {"encoder": replace(saved, name=place)}


def read_by(encoder: Any, digest: str) -> TextEncoder:
    """The encoder, if its weights have this digest; else a ValueError."""
    if not isinstance(encoder, TextEncoder):
        raise ValueError("its texts are read by an encoder, and it has none")
    if encoder.trunk.digest != digest:
        raise ValueError(f"the encoder at {encoder.name} has other weights than the one that it was trained with")
    return encoder
