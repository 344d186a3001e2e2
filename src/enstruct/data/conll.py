"""CoNLL columns: a token a line, its columns split by tabs or blanks, an empty line between sentences.

The first column is the word, the last one the tag. Lines that begin with ``-DOCSTART-`` are left out. Every line has as many
columns as the first.

Of CoNLL-U (``.conllu``) the tag is UPOS, and the columns beside the word are 1 lemma, 2 XPOS, 3 features, 4 head, 5 relation,
6 enhanced relations, 7 notes. Comments, ranges of words and empty nodes are no tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from enstruct.data.label_names import check_label_name
from enstruct.data.numbers import is_whole
from enstruct.data.opening import stream_lines
from enstruct.data.token_rows import TokenRows
from enstruct.errors import ParseError, shown

BLANKS = " \t\r"
"""What separates columns; others, as the no-break space of 10 000, are parts of words."""
NOTE = re.compile(r"#(\s+(newdoc|newpar|sent_id|text|id|global\.columns)\b|(newdoc|newpar|sent_id|text|id)\s*=)[^\t]*$")
"""Comments of CoNLL-U before a sentence, which some write into other files of columns too; not words as #text."""


def read_conll(
    path: Path | str, columns: Sequence[int] = (), labelled: bool = True
) -> tuple[TokenRows[str | tuple[str, ...]], TokenRows[str] | None]:
    """(sentences, tags). ``columns`` go beside the word, which makes tokens tuples. Raises ParseError with the line."""
    sentences: TokenRows[str | tuple[str, ...]] = TokenRows(are_tuples=bool(columns))
    tags: TokenRows[str] = TokenRows()
    columns_read: list[TokenRows[Any]] = [sentences, tags] if labelled else [sentences]
    width, universal = 0, is_universal(path)
    for number, line in enumerate(stream_lines(path), 1):
        if not line.strip(BLANKS) or line.startswith("-DOCSTART-"):
            for column in columns_read:
                column.close()
            continue
        if not sentences.is_open and NOTE.match(line):
            continue
        if universal:
            if line.startswith("#"):
                continue
            cells = _universal(path, number, line, labelled)
            if not cells:
                continue
        else:
            cells = line.rstrip(BLANKS).split("\t") if "\t" in line else [cell for cell in line.rstrip(BLANKS).split(" ") if cell]
        if width == 0:
            width = len(cells)
            _check_columns(path, number, width, columns, labelled)
        if len(cells) != width:
            raise ParseError(f"{len(cells)} columns, but {width} in the lines before: {shown(line.strip())}", path, number)
        if not cells[0]:
            raise ParseError("there is no word before the first tab", path, number)
        sentences.append([cells[0], *(cells[c] for c in columns)])
        if labelled:
            check_label_name(cells[-1], path, number)
            tags.append([cells[-1]])
    for column in columns_read:
        column.close()
    if not sentences:
        raise ParseError("there are no tokens in it", path)
    return sentences, tags if labelled else None


def is_universal(path: Path | str) -> bool:
    """Whether the name says that it is CoNLL-U."""
    return ".conllu" in {suffix.lower() for suffix in Path(path).suffixes}


def _universal(path: Path | str, number: int, line: str, labelled: bool) -> list[str]:
    """[word, lemma, ..., UPOS] of a token's ten columns, without UPOS where it is not asked for; nothing where there is none."""
    cells = line.rstrip("\r\n").split("\t")
    if len(cells) != 10:
        what = f"CoNLL-U has ten columns with tabs between them, this line {len(cells)}: {shown(line.strip())}"
        raise ParseError(what, path, number)
    token, word, lemma, upos, *others = cells
    if re.fullmatch(r"\d+[-.]\d+", token):
        return []
    if not is_whole(token):
        raise ParseError(f"{shown(token)} is no number of a word, as 1, 1-2 or 1.1 are", path, number)
    if labelled and upos in ("_", ""):
        mend = "say that the file is unlabelled (--unlabelled), or leave its sentence out"
        raise ParseError(f"{shown(word)} has no UPOS tag: {mend}", path, number)
    return [word, lemma, *others, *([upos] if labelled else [])]


def _check_columns(path: Path | str, number: int, width: int, columns: Sequence[int], labelled: bool) -> None:
    if labelled and width < 2:
        raise ParseError(
            "one column, so there are no tags: say that the file is unlabelled (--unlabelled), or add a tag column", path, number
        )
    last = width - 1 if labelled else width
    for column in columns:
        if not 0 < column < last:
            raise ParseError(f"there is no column {column} between the word and the tag ({width} columns)", path, number)


def write_conll(sentences: Sequence[Sequence[str | tuple[str, ...]]], tags: Sequence[Sequence[str]]) -> str:
    """The text of a CoNLL file: the tokens' columns and their tags, with tabs between them."""
    blocks = []
    for tokens, names in zip(sentences, tags, strict=True):
        rows = [[token, tag] if isinstance(token, str) else [*token, tag] for token, tag in zip(tokens, names, strict=True)]
        blocks.append("\n".join(map("\t".join, rows)) + "\n")
    return "\n".join(blocks)
