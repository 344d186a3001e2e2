"""Tag sequences: train, predict, evaluate, picture.

DATA is a named set (conll2003, twitter_pos, cora), a file of CoNLL columns (the word first, the tag last, an empty line between
sentences), or of references tagged inline (``<author> ... </author>``; ``.tagged`` or ``.cite`` in its name); compressed or not.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser
from enstruct.cli.signatures import class_of

NOT_ON_THE_COMMAND_LINE = {"encoder", "energy_network", "initial", "warm_start", "verbose", "callbacks"}


def add_tagged(p: Parser, part: bool = False) -> None:
    p.add_argument("data", type=str, help="DATA: conll2003, twitter_pos, cora, or a file")
    if part:
        p.add_argument("--part", type=str, default=None, help="of a named set (default: test, or the whole where that is all)")
    else:
        p.add_argument("--columns", type=list[int], default=[], help="further CoNLL columns as features, as [1,2]")


def add_tagger(p: Parser, skip: set[str]) -> None:
    """Every parameter of the tagger as ``--model.NAME``."""
    tagger = class_of("enstruct", "estimators.tagger", "EnergySequenceTagger")
    p.add_class_arguments(tagger, "model", skip=NOT_ON_THE_COMMAND_LINE | skip)


def parser() -> Parser:
    return Parser(description=__doc__)


def add_actions(p: Parser) -> None:
    actions = p.add_subcommands(dest="action", required=True)
    train = shared.new_parser("Train a tagger and save it. Ctrl-C leaves OUT.checkpoint; --resume goes on from there.")
    add_tagged(train)
    train.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    train.add_argument("--validation", type=str, default=None, help="a file for early stopping (default: a part is held out)")
    train.add_argument("--unlabelled", type=str, default=None, help="a file of sentences without tags, to learn from as well")
    train.add_argument("--reward", type=str, default=None, help="what plausible tags are: citations (rules for references)")
    train.add_argument("--resume", type=bool, nargs="?", const=True, default=False, help="go on from OUT.checkpoint")
    train.add_argument("--seed", type=shared.Seed, default=0)
    add_tagger(train, skip={"random_state"})
    actions.add_subcommand("train", train)
    predict = shared.new_parser(
        "Tag the sentences of a file. Out come CoNLL columns, inline tags for references, or JSON lines (--spans). Tags that "
        "could not be read again in lines, as those with tabs, are refused: spans hold any."
    )
    _add_model(predict)
    predict.add_argument("--out", type=Path, default=None, help="file to write (default: standard output)")
    add_overwrite(predict)
    predict.add_argument("--unlabelled", type=bool, nargs="?", const=True, default=False, help="the file has no tag column")
    predict.add_argument("--decision", type=str, default=None, help="greedy, legal or map instead of the chosen rule")
    predict.add_argument("--spans", type=bool, nargs="?", const=True, default=False, help="write spans instead of tags")
    actions.add_subcommand("predict", predict)
    evaluate = shared.new_parser("Score a saved tagger on labelled sentences, under every decision rule.")
    _add_model(evaluate)
    evaluate.add_argument("--json", type=shared.json_file, default=None, help="also write the figures to this file")
    add_overwrite(evaluate)
    actions.add_subcommand("evaluate", evaluate)
    picture = shared.new_parser("Draw the learned energy of each pair of tags, and a sentence with its tags' probabilities.")
    _add_model(picture)
    picture.add_argument("--sentence", type=int, default=0, help="number of the sentence to draw")
    picture.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the pictures")
    add_overwrite(picture)
    actions.add_subcommand("picture", picture)


def _add_model(p: Parser) -> None:
    p.add_argument("model", type=Path, help="folder written by `enstruct tags train`")
    add_tagged(p, part=True)
