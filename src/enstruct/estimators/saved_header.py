"""What model.json and auto.json may hold, as types that a header is checked against whole before anything is made of it.

The fields are those of :mod:`enstruct.estimators.persistence`. A field that is missing, of another type or out of range is a
ModelFileError that names its place (``$.labels.classes[3]``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from enstruct.errors import ModelFileError

Whole = Annotated[int, Meta(ge=0, lt=2**31)]
Count = Annotated[int, Meta(ge=1, lt=2**31)]
Share = Annotated[float, Meta(ge=0, le=1)]
Words = list[str]
SomeWords = Annotated[list[str], Meta(min_length=1)]
Name = str | int | float | bool


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


class Labels(Struct, forbid_unknown_fields=True):
    kind: Literal["indicator", "names", "single"]
    classes: Annotated[list[Name], Meta(min_length=1)]
    dtype: Annotated[str, Meta(pattern="^[<>|=]?([biuf](1|2|4|8|16)|U[0-9]{1,9}|O)$")]
    sparse: bool


class Input(Struct, forbid_unknown_fields=True):
    n_features: Count
    names: Words
    sparse: bool = False


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


class PerLabel(Struct, forbid_unknown_fields=True):
    min_positives: Whole
    thresholds: Share | list[Share]


class Rules(Struct, forbid_unknown_fields=True):
    fixed: Fixed
    threshold: Fixed | UnsetType = UNSET
    top_k: TopK | UnsetType = field(name="top-k", default=UNSET)
    expected_f1: ExpectedF1 | UnsetType = field(name="expected-f1", default=UNSET)
    bayes_risk: BayesRisk | UnsetType = field(name="bayes-risk", default=UNSET)
    per_label: PerLabel | UnsetType = field(name="per-label", default=UNSET)


class OfLabelSets(Common, kw_only=True):
    labels: Labels
    input: Input
    rules: Rules


class Tokens(Struct, forbid_unknown_fields=True):
    words: Words
    characters: Words
    vectors: tuple[list[str], list[Count]]
    clusters: dict[str, str]
    columns: list[Words]
    width: Count


class Tags(Struct, forbid_unknown_fields=True):
    tags: SomeWords
    given: Literal["IOB1", "IOB2", "BIOES", "BILOU"] | None


class OfTagger(Common, kw_only=True):
    tokens: Tokens
    tags: Tags
    metric: Literal["span-f1", "accuracy"]


class Images(Struct, forbid_unknown_fields=True):
    mean: Annotated[list[float], Meta(min_length=1)]
    std: Annotated[list[Annotated[float, Meta(gt=0)]], Meta(min_length=1)]
    size: tuple[Count, Count] | None
    most: float


class Masks(Struct, forbid_unknown_fields=True):
    classes: Annotated[list[int], Meta(min_length=2)]
    ignore: int | None
    binarise: int | None


class OfSegmenter(Common, kw_only=True):
    images: Images
    masks: Masks
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


def check_header(header: Any, kind: type[Struct], path: Any) -> None:
    """ModelFileError, with the place, unless the header is one of this kind."""
    try:
        msgspec.convert(header, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {error}.") from error
