"""The options of train, predict and evaluate for tag sequences."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.options import add_switch
from enstruct.cli.parser import Parser

LEARNT = "A named set is trained on and validated by as published."
WRITTEN = """Writes CoNLL columns, inline tags for references, or with --spans JSON lines. Tags that could not be read again in
lines, as those with tabs, are refused: spans hold any."""
RULES = "greedy, legal or map"
DRAWN = "tag-pairs.png, which tags attract each other, and sentence.png, the probabilities of a sentence,"


def add_tagged(p: Parser, part: bool = False) -> None:
    p.add_argument(
        "data",
        type=str,
        help="DATA: conll2003, twitter_pos, cora; a file of CoNLL columns (the word first, the tag last, an empty line between "
        "sentences); or one of references tagged inline (<author> ... </author>; .tagged or .cite in its name)",
    )
    if part:
        p.add_argument("--part", type=str, default=None, help="of a named set (default: test, or the whole where that is all)")
    else:
        p.add_argument("--columns", type=list[int], default=[], help="further CoNLL columns as features, as [1,2]")


def add_data(p: Parser) -> None:
    add_tagged(p, part=True)
    shared.add_moved_encoder(p)


def add_train(p: Parser) -> None:
    add_tagged(p)
    shared.add_encoder(p)
    p.add_argument("--validation", type=str, default=None, help="a file for early stopping (default: a part is held out)")
    p.add_argument("--unlabelled", type=str, default=None, help="a file of sentences without tags, to learn from as well")
    p.add_argument("--reward", type=str, default=None, help="what plausible tags are: citations (rules for references)")
    p.add_argument(
        "--rules",
        type=Path,
        default=None,
        help="a text file of rules that bind every answer, a line each: B-LOC never follows B-PER; I-X only follows: B-X, I-X; "
        "starts: O, B-X; ends: O; at most one: X; always X: a phrase; another; never X in phrases.txt",
    )


def add_predict(p: Parser) -> None:
    p.add_argument("--out", type=Path, default=None, help="file to write (default: standard output)")
    add_switch(p, "unlabelled", "the file has no tag column")
    p.add_argument(
        "--known",
        type=str,
        default=None,
        help="tags that are known already: a file of the same words with a tag column, _ where nothing is known; or `same`: "
        "DATA's own tag column. They come back as told",
    )
    add_switch(p, "spans", "write spans instead of tags")


def add_evaluate(p: Parser) -> None:
    shared.add_told(
        p, "share of each sentence's tags told to the model, drawn at random; the other tokens count, and spans that have one"
    )
    p.add_argument("--sentence", type=int, default=0, help="number of the sentence to draw")
