"""What ``enstruct data`` does; its options are declared in :mod:`enstruct.cli.parsers.data`."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import Namespace
from PIL import Image
from rich.console import Console
from rich.table import Table

from enstruct.cli import options as shared
from enstruct.cli.outputs import check_figures, check_free
from enstruct.cli.progress import counting_bar
from enstruct.cli.tables import counted, say
from enstruct.data.catalogue import CATALOGUE, data_root
from enstruct.data.convert import convert
from enstruct.data.describe import describe, near_duplicates
from enstruct.data.image_folders import load_picture_parts, near_duplicate_pictures
from enstruct.data.load import load_splits
from enstruct.data.npz import write_npz
from enstruct.data.on_disk import is_on_disk, read_on_disk
from enstruct.data.songs import songs
from enstruct.data.synthetic import block_exclusive, ellipses
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.files import replace_file, write_json


def run(options: Namespace) -> None:
    actions = {
        **{"list": _list, "describe": _describe, "convert": _convert},
        **{"duplicates": _duplicates, "synthetic": _synthetic, "songs": _songs, "pictures": _pictures},
    }
    actions[options.action](options[options.action])


def _list(options: Namespace) -> None:
    root = data_root()
    table = Table("name", "below ENSTRUCT_DATA", "public copy")
    for name, entry in CATALOGUE.items():
        here = root is not None and any((root / path).is_file() for path in entry.parts.values())
        table.add_row(name, "yes" if here else "no", "yes" if entry.url else "no")
    Console().print(table)


def _describe(options: Namespace) -> None:
    if options.json is not None:
        check_figures(options.json, options.overwrite, {"data": str, "parts": dict, "near": list})
    labels = shared.label_argument(options.labels)
    splits = load_splits(options.data, options.split_seed, labels, options.drop, unknown_labels=True)
    holes = any(part.unknown is not None for part in splits.parts().values())
    left_out = "rows of which no label is known" if holes else "rows without a label"
    columns: dict[str, dict[str, Any]] = {name: describe(part) for name, part in splits.parts().items()}
    table = Table("", *columns, title=f"{options.data} ({left_out} left out)")
    for key in next(iter(columns.values())):
        table.add_row(key, *(str(column[key]) for column in columns.values()))
    console = Console()
    console.print(table)
    pairs = near_duplicates(splits)
    if pairs:
        near = Table(*pairs[0].keys(), title="rows with cosine similarity ≥ 0.99 across parts")
        for row in pairs:
            near.add_row(*(str(value) for value in row.values()))
        console.print(near)
    if options.json is not None:
        write_json(options.json, {"data": options.data, "parts": columns, "near": pairs, "environment": environment()})


def _duplicates(options: Namespace) -> None:
    pairs = near_duplicate_pictures(load_picture_parts(options.data, options.split_seed), options.similarity)
    if pairs:
        table = Table(*pairs[0])
        for pair in pairs:
            table.add_row(*map(str, pair.values()))
        Console().print(table)
    across = [pair for pair in pairs if pair["in"] != pair["also in"]]
    say(f"{len(pairs)} pairs, {len(across)} of them across parts: what is tested on, training has seen")


def _convert(options: Namespace) -> None:
    out = options.out
    if options.unlabelled and options.labels is not None:
        raise ConfigError("--labels says which columns are labels, and --unlabelled that there are none: leave one out.")
    if out.exists() and not (options.overwrite and is_on_disk(out)):
        what = "add --overwrite to write over it" if is_on_disk(out) else "it is none of these folders"
        raise ConfigError(f"{out} is there already: name another; {what}.")
    with counting_bar("rows") as told:
        labels = () if options.unlabelled else shared.label_argument(options.labels)
        convert(options.data, out, labels, options.drop, told, options.first_feature)
    data = read_on_disk(out)
    size = sum(file.stat().st_size for file in out.iterdir())
    counts = {"rows": len(data), "features": data.X.shape[1], "labels": data.Y.shape[1]}
    say(f"{counted(counts)}; {size / 2**20:.1f} MiB in {out}")


def _synthetic(options: Namespace) -> None:
    if options.out.suffix != ".npz":
        raise ConfigError(f"{options.out} would be read by nobody: give a name that ends in .npz.")
    check_free([options.out], options.overwrite)
    replace_file(options.out, partial(write_npz, data=block_exclusive(options.rows, options.seed)))


def _songs(options: Namespace) -> None:
    if options.out.suffix != ".csv":
        raise ConfigError(f"{options.out} would be read by nobody: give a name that ends in .csv.")
    check_free([options.out], options.overwrite)
    data = songs(options.rows, options.seed)
    labels = () if options.unlabelled else data.label_names
    rows = zip(data.X, data.Y.toarray().tolist(), strict=True)
    replace_file(
        options.out, partial(_write_csv, rows=[["text", *labels], *([text, *(y if labels else ())] for text, y in rows)])
    )


def _write_csv(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _pictures(options: Namespace) -> None:
    for kind in ("images", "masks"):
        there = options.out / kind
        if there.is_dir() and any(there.iterdir()) and not options.overwrite:
            raise ConfigError(f"{there} has files already, and would hold them and new ones: name another, or add --overwrite.")
        check_free([there / "0000.png"], overwrite=True)
    images, masks = ellipses(options.images, options.size, seed=options.seed)
    for kind, grids in (("images", images), ("masks", masks)):
        for i, grid in enumerate(grids):
            picture = Image.fromarray((255 * grid).round().astype(np.uint8))
            replace_file(options.out / kind / f"{i:04d}.png", partial(picture.save, format="PNG"))
