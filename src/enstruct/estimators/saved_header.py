"""What model.json and auto.json hold, as types that a header is read into whole before anything else is made of it.

The fields are those of :mod:`enstruct.estimators.persistence`. A field that is missing, of another type or out of range is a
ModelFileError that names its place (``$.labels.classes[3]``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from enstruct.errors import ModelFileError
from enstruct.estimators.image_format import ImageFormat, MaskFormat
from enstruct.estimators.label_format import Labels
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.token_format import Count, Tokens

Whole = Annotated[int, Meta(ge=0, lt=2**31)]
Share = Annotated[float, Meta(ge=0, le=1)]
Words = list[str]
SomeWords = Annotated[list[str], Meta(min_length=1)]
Header = TypeVar("Header", bound=Struct)


class Common(Struct):
    """Of every estimator but the automatic one."""

    format: Count
    estimator: str
    parameters: dict[str, Any]
    custom: Words
    decision: str
    decision_scores: dict[str, float]
    history: list[dict[str, Any]]
    updates: dict[str, Whole]
    notes: dict[str, Any]
    library: str = ""
    weights: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None


class TermsOfTexts(Struct, forbid_unknown_fields=True, tag_field="read_by", tag="terms"):
    """Texts by tf-idf (:class:`enstruct.encoders.text.TextFeatures`): of each kind its terms, in order, and their idf."""

    words: list[Count] | None
    characters: list[Count] | None
    terms: dict[Literal["words", "characters"], Words]
    idf: dict[Literal["words", "characters"], list[float]]


class TermsAndEncoded(TermsOfTexts, forbid_unknown_fields=True, tag_field="read_by", tag="both"):
    """Both, the terms first, then features less their centre over their spread, or (these are empty) token numbers."""

    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    centre: list[float]
    spread: list[Annotated[float, Meta(gt=0)]]


class Encoded(Struct, forbid_unknown_fields=True, tag_field="read_by", tag="encoder"):
    """Texts by the encoder among the parameters, whose weights have this digest."""

    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Verbatim(Struct, forbid_unknown_fields=True, tag_field="read_by", tag="base"):
    """Texts, which a base takes as they are."""


class Input(Struct, forbid_unknown_fields=True):
    n_features: Count
    names: Words
    sparse: bool = False
    text: TermsOfTexts | TermsAndEncoded | Encoded | Verbatim | UnsetType = UNSET


class Fixed(Struct, forbid_unknown_fields=True):
    threshold: Share


class TopK(Struct, forbid_unknown_fields=True):
    k: Count


class ExpectedF1(Struct, forbid_unknown_fields=True):
    sharpness: Annotated[float, Meta(gt=0)]
    shift: float
    allow_empty: bool


class BayesRisk(Struct, forbid_unknown_fields=True):
    alpha: Annotated[float, Meta(ge=0)]
    gain: Literal["f1", "hamming", "subset"]
    allow_empty: bool


class Scaled(Struct, forbid_unknown_fields=True):
    exponent: Annotated[float, Meta(ge=0, le=1)]
    thresholds: Share | list[Share]


class PerLabel(Struct, forbid_unknown_fields=True):
    min_positives: Whole
    thresholds: Share | list[Share]


class Rules(Struct, forbid_unknown_fields=True):
    fixed: Fixed
    threshold: Fixed | UnsetType = UNSET
    scaled: Scaled | UnsetType = UNSET
    top_k: TopK | UnsetType = field(name="top-k", default=UNSET)
    expected_f1: ExpectedF1 | UnsetType = field(name="expected-f1", default=UNSET)
    bayes_risk: BayesRisk | UnsetType = field(name="bayes-risk", default=UNSET)
    per_label: PerLabel | UnsetType = field(name="per-label", default=UNSET)


class OfLabelSets(Common, kw_only=True):
    labels: Labels
    input: Input
    rules: Rules


class OfTagger(Common, kw_only=True):
    tokens: Tokens
    tags: TagFormat
    metric: Literal["span-f1", "accuracy"]
    encoder_digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | UnsetType = UNSET


class OfSegmenter(Common, kw_only=True):
    images: ImageFormat
    masks: MaskFormat
    threshold: Share | None


class OfAutomatic(Struct, kw_only=True):
    format: Count
    estimator: str
    parameters: dict[str, Any]
    labels: Labels
    input: Input
    methods: SomeWords
    members: SomeWords
    chosen: str
    judged_rows: Whole
    candidates: dict[str, dict[str, float]]
    decision: str
    rules: Rules
    updates: dict[str, Whole]
    epochs: Whole
    notes: dict[str, Any]


class OfBase(Struct, forbid_unknown_fields=True):
    """A base that answers: a method's members, a solver's models of observed labels (no ``members``: one fitted to all rows), or
    a classifier or function that is passed to load.

    ``view``: the part of the columns that it sees, where texts have terms and features."""

    kind: Literal["method", "observed", "classifier", "function"]
    name: str
    members: Whole
    view: Literal["terms", "encoder", "both", "tokens"] | UnsetType = UNSET


class OfEnergy(Struct, forbid_unknown_fields=True):
    pairs: bool
    units: Whole
    stacked: bool
    rank: Whole = 0
    smoothed: bool = False


class OfJoint(Struct, kw_only=True):
    format: Count
    estimator: str
    parameters: dict[str, Any]
    custom: Words
    labels: Labels
    input: Input
    bases: Annotated[list[OfBase], Meta(min_length=1)]
    members: Words
    base_scores: dict[str, float]
    energy: OfEnergy
    terms: str
    likelihoods: dict[str, float]
    marginals_of: Literal["base", "joint"]
    decision: str
    decision_scores: dict[str, float]
    rules: Rules
    seed: Whole
    notes: dict[str, Any]
    weights: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


def typed_header(header: Any, kind: type[Header], path: Any) -> Header:
    """The header as this kind of one. ModelFileError, with the place, where it is none."""
    try:
        return msgspec.convert(header, kind)
    except (msgspec.ValidationError, RecursionError, UnicodeError) as error:  # of half a character, which JSON can write
        raise ModelFileError(f"{path} is damaged: {error}.") from error
