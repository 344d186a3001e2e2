"""Data sets: list the catalogue, describe or convert one, find images that are there twice, write synthetic ones."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser
from enstruct.cli.parsers.masks import add_pictures


def parser() -> Parser:
    return Parser(description=__doc__)


def add_actions(p: Parser) -> None:
    actions = p.add_subcommands(dest="action", required=True)
    actions.add_subcommand("list", Parser(description="Names, and whether each is at hand."))
    described = shared.new_parser("Size, label statistics, and near-duplicates across the 60/20/20 or published split.")
    shared.add_data(described)
    described.add_argument("--split_seed", type=shared.Seed, default=0)
    described.add_argument("--json", type=shared.json_file, default=None, help="file to write the figures to as well")
    add_overwrite(described)
    actions.add_subcommand("describe", described)
    converted = shared.new_parser(
        "A file as a folder of arrays, which trains without being read into memory. Of svmlight, CSV and Parquet of any size, "
        "which are read block by block, and of whatever else is read."
    )
    shared.add_data(converted)
    converted.add_argument("out", type=Path, help="OUT: the folder to write")
    converted.add_argument(
        "--first_feature",
        type=int | None,
        default=None,
        help="what features of an svmlight file without header count from, 0 or 1 (1 unless index 0 occurs)",
    )
    shared.add_switch(converted, "unlabelled", "the file has no labels: rows to be answered")
    add_overwrite(converted)
    actions.add_subcommand("convert", converted)
    duplicates = shared.new_parser("Pairs of images that are nearly the same, across the parts of a set and within them.")
    add_pictures(duplicates)
    duplicates.add_argument("--similarity", type=float, default=0.99, help="correlation of small grey versions")
    duplicates.add_argument("--split_seed", type=shared.Seed, default=0, help="of the 60/20/20 split, for sets without parts")
    actions.add_subcommand("duplicates", duplicates)
    synthetic = shared.new_parser("The SPEN paper's block-exclusive task, as an .npz file.")
    synthetic.add_argument("out", type=Path)
    synthetic.add_argument("--rows", type=int, default=1500)
    synthetic.add_argument("--seed", type=shared.Seed, default=0)
    add_overwrite(synthetic)
    actions.add_subcommand("synthetic", synthetic)
    songs = shared.new_parser(
        "Generated notices of songs with labels that hang together, as CSV: a column of texts, a column a label."
    )
    songs.add_argument("out", type=Path)
    songs.add_argument("--rows", type=int, default=400)
    songs.add_argument("--seed", type=shared.Seed, default=0)
    shared.add_switch(songs, "unlabelled", "the texts alone")
    add_overwrite(songs)
    actions.add_subcommand("songs", songs)
    pictures = shared.new_parser("Noisy pictures of ellipses and their masks, as folders of PNG files: OUT/images, OUT/masks.")
    pictures.add_argument("out", type=Path)
    pictures.add_argument("--images", type=int, default=100)
    pictures.add_argument("--size", type=int, default=32)
    pictures.add_argument("--seed", type=shared.Seed, default=0)
    add_overwrite(pictures)
    actions.add_subcommand("pictures", pictures)
