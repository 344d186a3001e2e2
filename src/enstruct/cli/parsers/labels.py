"""The options of train, predict and evaluate for label sets."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.options import add_switch
from enstruct.cli.parser import Parser

LEARNT = "Missing cells take the mean of all rows of the file: rows that training holds out later are among them."
WRITTEN = """Writes one line a row, labels separated by tabs; to a .csv file, a column of 0 and 1 for each label; to a .jsonl
file, objects with labels and probabilities, which are those of predict_proba: a joint may decide by its base's. Labels
that are empty or hold tabs, line breaks or characters that the output's encoding lacks are refused in lines:
a .csv or .jsonl file holds any. A label told by --known comes back as it was told."""
RULES = """one that the model has fitted; of the method joint also subset-accuracy, example-f1, hamming and jaccard, the
set of least risk"""
DRAWN = "measurement_matrix.png, which labels the energy keeps apart,"


def add_data(p: Parser) -> None:
    shared.add_data(p, remembered=" (default: as in training)")
    shared.add_text(p, remembered=" (default: as in training)")
    shared.add_moved_encoder(p)


def add_train(p: Parser) -> None:
    shared.add_data(p)
    shared.add_text(p)
    shared.add_encoder(p)
    shared.add_label_texts(p)
    p.add_argument(
        "--auto",
        type=float,
        default=None,
        help="minutes to try methods and average nets in; what does best on rows held out is saved, whatever --model.method",
    )
    p.add_argument(
        "--rules",
        type=Path,
        default=None,
        help="a text file of rules that bind every answer, a line each: a -> b; exclude: a, b; at most 2: a, b, c; at least 1: "
        "a, b; exactly 1: a, b; a requires: b, c; soft 2.5: a -> b, which weighs 2.5 nats and does not bind; or a YAML list",
    )
    shared.add_base(
        p,
        None,
        "of the method joint, the default: auto, or a method, what gives the marginals on which an energy learns how labels "
        "hang together. Its model answers `predict --known`, and with auto labels may have holes (empty cells, ? in ARFF, "
        "NaN). Of --model only metric and decision count for it",
    )


def add_predict(p: Parser) -> None:
    p.add_argument("--out", type=Path, default=None, help="file to write (default: standard output)")
    p.add_argument("--top_k", type=int, default=None, help="the k most probable labels instead")
    add_switch(p, "unlabelled", "the file has no labels (a table without any of the model's label columns need not say so)")
    p.add_argument(
        "--known",
        type=str,
        default=None,
        help="what is known of the labels already, for models of the method joint: a table of 0/1 columns named as labels, "
        "any of them, a row for each of DATA's, empty where nothing is known; or `same`: DATA's own labels, with empty cells",
    )
    add_switch(p, "probabilities", "write probabilities instead, as CSV with a column a label")


def add_evaluate(p: Parser) -> None:
    shared.add_told(p, "of models of the method joint: share of the labels told to the model, drawn at random; the others count")
