"""Options several commands share."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ActionConfigFile, Namespace
from jsonargparse.typing import restricted_number_type

from enstruct.cli.parser import Parser
from enstruct.cli.signatures import class_of
from enstruct.errors import ConfigError

Seed = restricted_number_type("Seed", int, [(">=", 0), ("<", 2**32)], docstring="Such as every generator takes.")
OBJECTS = {"encoder", "energy_network", "initial", "callbacks", "rules", "warm_start", "class_weight", "verbose", "base"}
"""Parameters of estimators that no command line can tell, or has another option for."""


class Reader:
    """A type of options by the function that reads it; help shows its name."""

    def __init__(self, name: str, read: Callable[[Any], Any]) -> None:
        self.name, self.read = name, read

    def __call__(self, value: Any) -> Any:
        return self.read(value)

    def __repr__(self) -> str:
        return self.name


def _names(value: Any) -> list[str]:
    """Of a list, or of a text as a,b or [a, "b,c"]: texts all of them, 0 and no too."""
    if isinstance(value, (list, tuple)):
        return [str(name) for name in value]
    try:
        listed = yaml.load(str(value), Loader=yaml.BaseLoader) if str(value).lstrip().startswith("[") else str(value).split(",")
    except yaml.YAMLError as error:
        raise ArgumentTypeError(f"{value!r} is no list of names, as [a,b]") from error
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise ArgumentTypeError(f"{value!r} is no list of names, as [a,b]")
    return [name.strip() for name in listed]


NAMES = Reader("list[str]", _names)
"""Of columns: YAML would read some as numbers, dates, or yes and no."""


def new_parser(description: str) -> Parser:
    parser = Parser(description=description)
    parser.add_argument("--config", action=ActionConfigFile, help="YAML file with any of these options")
    return parser


def add_switch(parser: Parser, name: str, text: str) -> None:
    """An option that is given, or not."""
    parser.add_argument(f"--{name}", type=bool, nargs="?", const=True, default=False, help=text)


def add_data(parser: Parser, remembered: str = "") -> None:
    """``remembered`` : where --labels and --drop come from unless they are given."""
    parser.add_argument(
        "data", type=str, help="DATA: a catalogue name (see `enstruct data list`) or a .csv/.parquet/.arff/.svm/.npz file"
    )
    parser.add_argument(
        "--labels",
        type=str,
        default=None,
        help="tables, ARFF: n for the first n columns, -n for the last n; tables: names of 0/1 columns joined by commas, or one "
        f"column of names separated by ; or |; ARFF: Mulan XML file{remembered}",
    )
    parser.add_argument("--drop", type=NAMES, default=[], help=f"tables, ARFF: columns to leave out, as a,b or [a,b]{remembered}")


def add_text(parser: Parser, remembered: str = "") -> None:
    """``remembered`` : where it comes from unless it is given."""
    parser.add_argument(
        "--text",
        type=str | None,
        default=None,
        help="tables: the column that holds texts, or several joined by commas, the only ones read beside labels; JSON lines: "
        f'the field that does ("text"), with labels in the field that --labels names ("labels"){remembered}',
    )


def text_argument(value: str | None) -> list[str] | None:
    """Names of columns or of a field."""
    return None if value is None else [name.strip() for name in value.split(",")]


def add_encoder(parser: Parser) -> None:
    """What reads texts."""
    parser.add_argument(
        "--encoder",
        type=str | None,
        default=None,
        help="of texts or sentences: the folder of a pretrained transformer, or its name on Hugging Face's hub if it was fetched "
        "before (needs enstruct[text]); without it texts go by tf-idf, words by themselves",
    )
    parser.add_argument(
        "--tuning", type=str | None, default=None, help="of --encoder: frozen (the default), adapter, pfeiffer, lora or full"
    )
    parser.add_argument("--pooling", type=str | None, default=None, help="of --encoder: mean (the default) or cls")
    parser.add_argument(
        "--encoder_layers",
        type=int | None,
        default=None,
        help="of --encoder: how many layers' states are features, if it is frozen (1)",
    )
    parser.add_argument("--max_tokens", type=int | None, default=None, help="of --encoder: what of a text is read (256)")


def add_label_texts(parser: Parser) -> None:
    parser.add_argument(
        "--label_texts",
        type=str | None,
        default=None,
        help="of --encoder, for a --model.method: what networks score labels by beside weights of their own, names (their own "
        "names) or a JSON file of label -> description",
    )


OF_ENCODERS = {name: name for name in ("tuning", "pooling", "max_tokens", "label_texts")} | {"encoder_layers": "layers"}
"""Options about --encoder, and what its class calls them."""


def encoder_of(options: Namespace) -> dict[str, Any]:
    """What --encoder and the options about it say of an estimator's parameters. ConfigError, DataError."""
    from enstruct.encoders.text import TextEncoder  # only here: options are read before torch is there

    given = {name: value for name in OF_ENCODERS if (value := options.get(name)) is not None}
    if options.encoder is None:
        if given:
            raise ConfigError(f"--{next(iter(given))} is about --encoder: give that too, or leave it out.")
        return {}
    told = {OF_ENCODERS[name]: value for name, value in given.items()}
    if told.get("label_texts", "names") != "names":
        told["label_texts"] = _label_texts(Path(told["label_texts"]))
    return {"encoder": TextEncoder(options.encoder, **told).check()}


def _label_texts(path: Path) -> Any:
    """ConfigError for a file that is no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f'--label_texts is names, or a JSON file of label -> description, as {{"rock": "loud guitars"}}, and {path} is '
            f"not: {error!s:.80}."
        ) from error


def add_told(parser: Parser, text: str) -> None:
    """A share of the truth that evaluation tells the model."""
    parser.add_argument("--told", type=float, default=0.0, help=text)
    parser.add_argument("--seed", type=Seed, default=0, help="of that draw")


def add_moved_encoder(parser: Parser) -> None:
    parser.add_argument(
        "--encoder", type=str | None, default=None, help="where the model's encoder lies now, if not where it was in training"
    )


def moved_encoder(options: Namespace) -> dict[str, Any]:
    """What ``load`` takes of it."""
    place = getattr(options, "encoder", None)
    return {} if place is None else {"encoder": place}


def add_base(parser: Parser, default: str | None, text: str) -> None:
    """What marginals an energy is put on, and how long to look for them."""
    parser.add_argument("--base", type=str | None, default=default, help=text)
    parser.add_argument("--minutes", type=float | None, default=None, help="of --base auto: to try models in (default: 3)")
    parser.add_argument(
        "--folds",
        type=int | None,
        default=None,
        help="of --base: parts of the rows, each left out once; 1: a fifth alone (default: 5)",
    )
    parser.add_argument("--workers", type=int | None, default=None, help="of --base: folds fitted side by side (default: 1)")


def add_page(parser: Parser) -> None:
    """Where a page is served."""
    parser.add_argument("--port", type=int, default=0, help="of the page's address (default: any that is free)")
    parser.add_argument(
        "--host",
        type=str,
        default="127.0.0.1",
        help="to listen at; another than this machine's own lets others in (default: %(default)s)",
    )
    add_switch(parser, "open", "open the page in the browser of this machine")


def base_of(options: Namespace) -> str | None:
    """What gives the marginals of a joint distribution: "auto" unless it is named; None where a method or --auto learns."""
    if options.base is None and options.auto is None and options.model.method == "joint":
        return "auto"
    base: str | None = options.base
    return base


def joint_parameters(options: Namespace) -> dict[str, Any]:
    """What --base, --minutes and --folds say of a joint distribution's parameters, as far as they were given."""
    told = {"base": options.base, "minutes": options.minutes, "folds": options.folds}
    return {name: value for name, value in told.items() if value is not None}


@contextmanager
def side_by_side(options: Namespace) -> Iterator[None]:
    """Within, so many folds are fitted at a time as --workers says. ConfigError."""
    workers = getattr(options, "workers", None)
    if workers is None:
        yield
        return
    from joblib import parallel_config  # only here: not to show --help

    if workers < 1:
        raise ConfigError(f"--workers must be at least 1, not {workers}.")
    with parallel_config(n_jobs=workers):
        yield


ESTIMATORS = {
    "labels": ("estimators.multilabel", "EnergyMultiLabelClassifier"),
    "tags": ("estimators.tagger", "EnergySequenceTagger"),
    "masks": ("estimators.segmenter", "EnergySegmenter"),
}
"""Task -> the module and the class of its estimator, whose constructor is read without importing it."""
COLUMNS: dict[str, type] = {
    **dict.fromkeys(("energy_weight", "supervised_weight", "entropy_weight", "anchor_weight", "rule_weight"), float),
    **dict.fromkeys(("warmup", "n_samples", "energy_steps", "predictor_steps", "rounds_per_batch"), int),
    **dict.fromkeys(("supervised", "energy_as", "update_first", "negatives", "coupling", "sample_gradient", "cost"), str),
    **{"energy_rate": float, "energy_clip": float, "validation_epochs": int},
    **{"energy_units": int, "energy_nonlinearity": str},
}
"""Columns of a method's row that are told in a word or a number."""


def add_model(parser: Parser, skip: set[str], task: str = "labels") -> None:
    """Every parameter of the task's estimator as ``--model.NAME``, columns of the method's row as ``--method.NAME``."""
    estimator = class_of("enstruct", *ESTIMATORS[task])
    parser.add_class_arguments(estimator, "model", skip=OBJECTS | skip)
    for name, kind in COLUMNS.items():
        parser.add_argument(f"--method.{name}", type=kind | None, default=None, help="this column of the method's row")


def _json_file(name: str) -> Path:
    """Of files that are written over: a slip may not name one of the user's data."""
    if Path(name).suffix != ".json":
        raise ArgumentTypeError(f"{name!r}: results are written as JSON, so name it FILE.json")
    return Path(name)


json_file = Reader("FILE.json", _json_file)


def label_argument(value: str | None) -> Any:
    """A number stays a number, anything else is names of columns or the path of an XML file."""
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        return value


def given_columns(options: Namespace) -> dict[str, Any]:
    """Columns of the method's row that were told."""
    return {name: value for name, value in vars(options.method).items() if name in COLUMNS and value is not None}


def model_parameters(options: Namespace) -> dict[str, Any]:
    """What ``set_params`` of the estimator takes: its parameters, and the columns that were given, as ``method__NAME``.

    Without the parser's own notes, as of the file that a value comes from (``__path__``).
    """
    parameters = {name: value for name, value in vars(options.model).items() if not name.startswith("__")}
    return {**parameters, **{f"method__{name}": value for name, value in given_columns(options).items()}}
