"""Words to numbers: the columns that the token encoder reads, learnt from the training sentences.

0       row of the word in the pretrained table (its own spelling, else in lower case); 0 if it is not there
1       number of the lower-cased word among the training words; 0 if it is not there
2, 3    case (lower, upper, title, mixed, none) and digits (none, some, all)
4 ..    one for each further column of the tokens, one for each length of cluster prefix; 0 for unseen values
last    the spelling's number, whose characters the character network reads
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta, Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from enstruct.data.embeddings import WordVectors, read_clusters, read_vectors
from enstruct.data.sentences import Sentences, offsets_of
from enstruct.errors import ConfigError, DataError, shown
from enstruct.validation import check_series

CASES = ("", "lower", "upper", "title", "mixed", "none")
PREFIXES = (2, 4, 6, 8, 12, 16)
LONGEST_WORD = 25
Token = str | tuple[str, ...]
Count = Annotated[int, Meta(ge=1, lt=2**31)]


class Tokens(Struct, forbid_unknown_fields=True):
    """What a saved model holds of a :class:`TokenFormat`: what has a number, in the order of the numbers."""

    words: list[str]
    characters: list[str]
    vectors: tuple[list[str], list[Count]]
    clusters: dict[str, str]
    columns: list[list[str]]
    width: Count


@dataclass
class TokenFormat:
    """Numbers for words and for what is known of them."""

    vectors: dict[str, int] = field(default_factory=dict)  # word -> row of the pretrained table, from 1
    clusters: dict[str, str] = field(default_factory=dict)  # word -> bits
    words: dict[str, int] = field(default_factory=dict)
    columns: list[dict[str, int]] = field(default_factory=list)
    characters: dict[str, int] = field(default_factory=dict)
    width: int = 1  # of a token: the word and its further columns
    pieces_of: Callable[[list[str]], list[list[int]]] | None = field(default=None, compare=False, repr=False)  # of an encoder

    def fit(self, sentences: Sequence[Sequence[Token]]) -> TokenFormat:
        """Numbers for what these sentences hold."""
        tokens = [as_tuple(token) for tokens in sentences for token in tokens]
        self.width = len(tokens[0])
        check_tokens(sentences, self.width)
        self.words = _numbered({token[0].lower() for token in tokens})
        sides = [{token[i] for token in tokens} for i in range(1, self.width)]
        seen = {token[0] for token in tokens}
        prefixes = [{p for word in seen if (p := self._prefix(word, n))} for n in (PREFIXES if self.clusters else ())]
        self.columns = [_numbered(values) for values in (*sides, *prefixes)]
        self.characters = _numbered({c for word in seen for c in word})
        return self

    @property
    def categories(self) -> tuple[int, ...]:
        """How many values each category has, 0 for unseen included."""
        return (len(CASES), 4, *(len(values) + 1 for values in self.columns))

    def encode(self, sentences: Sequence[Sequence[Token]], holes: Sequence[Sequence[bool]] | None = None) -> Sentences:
        """``holes``: True where a token is read but not tagged. DataError for tokens of another form."""
        check_tokens(sentences, self.width)
        tokens = [as_tuple(token) for tokens in sentences for token in tokens]
        spellings = _numbered({token[0] for token in tokens})
        table = {token: self._row(token) for token in set(tokens)}
        rows = [(*table[token], spellings[token[0]]) for token in tokens]
        n_columns = 3 + len(self.categories)
        numbers = np.array(rows, dtype=np.int64).reshape(-1, n_columns)
        lengths = [len(s) for s in sentences]
        pieces = None if self.pieces_of is None else _padded(self.pieces_of(list(spellings)))
        return Sentences(numbers, offsets_of(lengths), _hole_places(holes, lengths), self._spell(spellings), pieces)

    def _row(self, token: tuple[str, ...]) -> tuple[int, ...]:
        word = token[0]
        low = word.lower()
        row = self.vectors.get(word) or self.vectors.get(low) or 0
        values = [*token[1:], *(self._prefix(word, n) for n in (PREFIXES if self.clusters else ()))]
        numbered = (numbers.get(value, 0) for numbers, value in zip(self.columns, values, strict=True))
        return row, self.words.get(low, 0), CASES.index(_case(word)), _digits(word), *numbered

    def _prefix(self, word: str, length: int) -> str:
        bits = self.clusters.get(word) or self.clusters.get(word.lower()) or ""
        return bits[:length]

    def _spell(self, spellings: dict[str, int]) -> NDArray[np.int64]:
        out = np.zeros((len(spellings) + 1, min(LONGEST_WORD, max([1, *map(len, spellings)]))), dtype=np.int64)
        for word, number in spellings.items():
            characters = [self.characters.get(c, len(self.characters) + 1) for c in word[: out.shape[1]]]
            out[number, : len(characters)] = characters
        return out

    def record(self) -> dict[str, Any]:
        vectors, columns = (list(self.vectors), list(self.vectors.values())), [list(values) for values in self.columns]
        return asdict(Tokens(list(self.words), list(self.characters), vectors, self.clusters, columns, self.width))

    @classmethod
    def from_record(cls, record: Tokens) -> TokenFormat:
        """ValueError for parts that do not go together."""
        tokens = cls(
            dict(zip(*record.vectors, strict=True)),
            record.clusters,
            _numbered(record.words),
            [_numbered(values) for values in record.columns],
            _numbered(record.characters),
            record.width,
        )
        if len(tokens.columns) != tokens.width - 1 + (len(PREFIXES) if tokens.clusters else 0):
            raise ValueError(f"{len(tokens.columns)} columns of tokens that have {tokens.width}")
        return tokens


def _padded(pieces: list[list[int]]) -> NDArray[np.int64]:
    """(spellings from 1 on, most pieces) numbers plus one, 0 for padding."""
    out = np.zeros((len(pieces) + 1, max([1, *map(len, pieces)])), dtype=np.int64)
    for row, numbers in enumerate(pieces, 1):
        out[row, : len(numbers)] = np.array(numbers) + 1
    return out


def check_tokens(sentences: Sequence[Sequence[Token]], width: int | None = None) -> None:
    """DataError for what is no word or tuple of strings, or (with ``width``) has another number of columns."""
    check_series("sentences", sentences)
    for i, tokens in enumerate(sentences):
        if isinstance(tokens, str):
            raise DataError(f"Sentence {i} is a string; a sentence is a list of tokens. Split it into words first.")
        check_series(f"Sentence {i} of sentences", tokens)
        for j, token in enumerate(tokens):
            parts = token if isinstance(token, tuple) else (token,)
            if not parts or not all(isinstance(part, str) for part in parts):
                raise DataError(f"Token {j} of sentence {i} is {shown(token)}; it must be a word or a tuple of strings.")
            if not parts[0]:
                raise DataError(f"Token {j} of sentence {i} is an empty word: leave it out, with its tag.")
            if width is not None and len(parts) != width:
                raise DataError(f"Token {j} of sentence {i} has {len(parts)} columns, not {width} as in training.")


def check_pairs(sentences: Sequence[Sequence[Token]], tags: Sequence[Sequence[str | None]]) -> None:
    """DataError unless there is a tag, or None, for each token."""
    check_tokens(sentences)
    check_series("tags", tags)
    if len(sentences) != len(tags):
        raise DataError(f"There are {len(sentences)} sentences and {len(tags)} sequences of tags.")
    for i, (tokens, names) in enumerate(zip(sentences, tags, strict=True)):
        check_series(f"Row {i} of tags", names)
        if len(tokens) != len(names):
            raise DataError(f"Sentence {i} has {len(tokens)} tokens and {len(names)} tags.")
        if isinstance(names, str):
            raise DataError(f"The tags of sentence {i} are one string; they are a list, with a tag for each token.")
        for name in names:
            if not (name is None or isinstance(name, str)):
                raise DataError(f"Sentence {i} has the tag {shown(name)}; tags are strings, or None where a token has none.")
            if name == "":
                raise DataError(f"Sentence {i} has an empty tag: give it a name, or None where a token has none.")


def as_tuple(token: Token) -> tuple[str, ...]:
    return (token,) if isinstance(token, str) else tuple(token)


def _numbered(values: Iterable[str]) -> dict[str, int]:
    """From 1 on, in the order of the alphabet."""
    return {value: i for i, value in enumerate(sorted(values), 1)}


def _case(word: str) -> str:
    if not any(c.isalpha() for c in word):
        return "none"
    if word.islower():
        return "lower"
    if word.isupper():
        return "upper"
    return "title" if word[0].isupper() and word[1:].islower() else "mixed"


def _digits(word: str) -> int:
    """1 none, 2 some, 3 all; 0 is padding."""
    n = sum(c.isdigit() for c in word)
    return 1 if n == 0 else 3 if n == len(word) else 2


def _hole_places(holes: Sequence[Sequence[bool]] | None, lengths: Sequence[int]) -> NDArray[np.bool_]:
    if holes is None:
        return np.zeros(sum(lengths), dtype=bool)
    check_series("holes", holes)
    if len(holes) != len(lengths):
        raise DataError(f"There are holes of {len(holes)} sentences, and {len(lengths)} sentences.")
    for i, (row, length) in enumerate(zip(holes, lengths, strict=True)):
        check_series(f"Row {i} of holes", row)
        if len(row) != length:
            raise DataError(f"The holes of sentence {i} are {len(row)}, its tokens {length}.")
    return np.array([hole for row in holes for hole in row], dtype=bool)


def vector_table(embeddings: Path | str | WordVectors | None) -> tuple[dict[str, int], torch.Tensor | None]:
    """Word -> row, and (words + 1, width): row 0 is that of ``<unk>``, or zeros; of a word that occurs twice the first counts.

    Nothing of None.
    """
    if embeddings is None:
        return {}, None
    vectors = embeddings if isinstance(embeddings, WordVectors) else read_vectors(embeddings)
    unknown = vectors.vectors[vectors.words.index("<unk>")] if "<unk>" in vectors.words else np.zeros(vectors.vectors.shape[1])
    table = torch.from_numpy(np.concatenate([unknown[None].astype(np.float32), vectors.vectors]))
    return {word: row for row, word in reversed(list(enumerate(vectors.words, 1)))}, table


def cluster_table(clusters: Path | str | Mapping[str, str] | None) -> dict[str, str]:
    """Word -> bits; nothing of None."""
    if clusters is None:
        return {}
    return dict(clusters) if isinstance(clusters, Mapping) else read_clusters(clusters)


def check_tables(tokens: TokenFormat | None, embeddings: object, clusters: object) -> None:
    """ConfigError where a fit anew would lose the tables that a loaded tagger has in its weights alone."""
    for name, source, table in (("embeddings", embeddings, "vectors"), ("clusters", clusters, "clusters")):
        if source is None and tokens is not None and getattr(tokens, table):
            raise ConfigError(
                f"This tagger has learnt with {name}=, which its file does not keep: set_params({name}=...) to fit it anew, "
                "warm_start=True to go on, or clone() it to do without."
            )
