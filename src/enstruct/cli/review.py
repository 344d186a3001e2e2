"""What ``enstruct review`` does; its options are declared in :mod:`enstruct.cli.parsers.review`."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.inputs import read_examples
from enstruct.cli.outputs import check_free
from enstruct.cli.progress import working_bar
from enstruct.cli.tables import say
from enstruct.errors import ConfigError
from enstruct.estimators import find_label_issues
from enstruct.files import replace_file
from enstruct.validation import check_whole

COLUMNS = ("row", "label", "value", "quality")
Suspect = tuple[int, str, int, str]


def run(options: Namespace) -> None:
    if options.out.resolve() == Path(options.data).resolve():
        raise ConfigError(f"--out {options.out} is the file to be reviewed: name another.")
    if options.out.suffix != ".csv":
        raise ConfigError(f"--out {options.out}: cells are listed as CSV, so name it FILE.csv.")
    check_free([options.out], options.overwrite)
    if options.top is not None:
        check_whole(1, top=options.top)
    encoder = shared.encoder_of(options)
    text = shared.text_argument(options.text)
    examples = read_examples(options.data, shared.label_argument(options.labels), options.drop, options.base, text)
    with working_bar("reviewing"), shared.side_by_side(options):
        settings = {**shared.joint_parameters(options), **encoder}
        issues = find_label_issues(examples.X, examples.y, random_state=options.seed, **settings)
    names, cells = examples.data.label_names, issues.cells()
    told = examples.data.Y.toarray()
    suspects = [
        (int(examples.numbers[row]), names[label], int(told[row, label]), f"{quality:.6g}")
        for row, label, quality in cells[: options.top]
    ]
    replace_file(options.out, partial(_write, suspects=suspects))
    row, label, value, quality = suspects[0]
    say(f"{len(cells)} given labels of {len(told)} rows, {len(suspects)} of them in {options.out}")
    say(f"least likely: row {row}, label {label}, given as {value}, quality {quality}")


def _write(path: Path, suspects: list[Suspect]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(suspects)
