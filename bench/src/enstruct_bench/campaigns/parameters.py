"""Values that nobody means: parameters of estimators and methods, data handed to calls, arguments of rules, options of commands.

The answer is an error of the library's, or a ValueError or TypeError as scikit-learn's contract has them, of at most 300
characters, and nothing half-fitted; or a fit whose answers are sound.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import random
import shutil
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError

from enstruct import (
    METHODS,
    EnergyMultiLabelClassifier,
    EnergySegmenter,
    EnergySequenceTagger,
    JointMultiLabelClassifier,
    find_label_issues,
)
from enstruct import rules as rules_of_labels
from enstruct.cli.main import main
from enstruct.rules import masks as rules_of_masks
from enstruct.rules import tags as rules_of_tags
from enstruct_bench.campaigns.documents import Random
from enstruct_bench.campaigns.mutations import NASTY
from enstruct_bench.campaigns.small_models import NETWORK, small
from enstruct_bench.campaigns.tiny import images, sentences, table
from enstruct_bench.campaigns.trial import Trial, Unsound

SECONDS = 20.0
ALSO: tuple[type[Exception], ...] = (ValueError, TypeError)
MOST = 2**31
TAGGER: dict[str, Any] = {"hidden": 4, "embedding_dim": 4, "max_epochs": 1, "random_state": 0}
SEGMENTER: dict[str, Any] = {"width": 2, "levels": 1, "max_epochs": 1, "random_state": 0}
JOINT: dict[str, Any] = {"base": "binary-relevance", "folds": 2, "random_state": 0, "minutes": 0.02}
METHODS_TRIED = ("seal-nce", "cross-entropy", "spen", "binary-relevance", "dvn", "infnet", "extra-trees")
LONG = ("max_epochs", "n_iter_no_change", "members")
"""Parameters that say how long to work: a large one is no mistake, and is not tried."""


def odd_values() -> list[Any]:
    """New ones each time: some can be used once."""
    around: list[Any] = []
    around.append(around)
    return [
        None, True, False, 0, -1, 1, 3, 10**30, -(10**30), 0.5, -0.5, 1e308, 1e-320, float("nan"), float("inf"),
        -float("inf"), 2 + 1j, Decimal("0.1"), Decimal("NaN"), Fraction(1, 3), np.float32("nan"), np.int8(-3),
        np.uint64(2**63), np.array(3), np.array([]), np.array([0.1, 0.2]), np.array(["a"]), np.datetime64("2026-11-27"),
        torch.tensor(1.0), torch.tensor([1.0, 2.0]), "", " ", "auto", "nan", "1", "none", "x" * 10_000, "é", "\x00",
        "\ud800", b"auto", [], [1], [None], ["auto"], (), (1, 2), {}, {"a": 1}, {1, 2}, frozenset(), range(3),
        (k for k in range(3)), object(), object, lambda *a: a, print, np, Exception("x"), datetime.date(2026, 1, 1),
        slice(None), Ellipsis, NotImplemented, around, Path("nowhere"), sparse.eye(3).tocsr(), np.ma.masked, *NASTY[:12],
    ]  # fmt: skip


def prepare(seed: int, folder: Path) -> None:
    torch.set_num_threads(1)
    for kind in ("network", "joint", "tagger", "segmenter", "texts"):
        small(kind)
    (folder / "rows.csv").write_text(
        "a,b,calm,sad\n" + "".join(f"{k},{k % 3},{k % 2},{(k // 2) % 2}\n" for k in range(24)), encoding="utf-8"
    )
    small("linear").model.save(folder / "model")


def most_bytes(trial: Trial) -> int:
    return MOST


def trial(number: int, seed: int, folder: Path) -> Trial:
    rng = random.Random(f"parameters {seed} {number}")
    np.random.seed(rng.randrange(2**32))
    return rng.choice(GROUPS)(rng, folder)


def _told(value: Any) -> str:
    text = f"{type(value).__name__} {value!r}" if not isinstance(value, list) or value is not value[:1] else "a list in itself"
    return text[:60]


# -- parameters -----------------------------------------------------------------------------------


def _estimator(rng: Random, folder: Path) -> Trial:
    """One parameter, or two, of an estimator."""
    made: dict[Any, tuple[dict[str, Any], Callable[[], tuple[Any, Any]]]] = {
        EnergyMultiLabelClassifier: ({**NETWORK, "max_epochs": 1, "method": rng.choice(METHODS_TRIED)}, table),
        EnergySequenceTagger: (TAGGER, sentences),
        EnergySegmenter: (SEGMENTER, images),
        JointMultiLabelClassifier: (JOINT, table),
    }
    of = rng.choice([*made])
    settings, data = dict(made[of][0]), made[of][1]
    names = [name for name in signature(of.__init__).parameters if name != "self"]
    changed = rng.sample(names, rng.choice((1, 1, 1, 2)))
    for name in changed:
        settings[name] = rng.choice([one for one in odd_values() if not (name in LONG and isinstance(one, int) and one > 10)])
    said = ", ".join(f"{name}={_told(settings[name])}" for name in changed)

    def act() -> None:
        _fitted(of(**settings), *data())

    return Trial(f"parameters of {of.__name__}", said, act)


def _column(rng: Random, folder: Path) -> Trial:
    """A column of a method's row."""
    method = METHODS[rng.choice(("seal-nce", "seal-margin", "spen", "infnet", "implicit-cd", "cross-entropy"))]
    names = [name for name in method.__dataclass_fields__ if name != "name"]
    name, value = rng.choice(names), rng.choice([one for one in odd_values() if not (isinstance(one, int) and one > 10)])
    if callable(value) and name == "solver":
        value = None  # a user's own function is run, whatever it does

    def act() -> None:
        X, y = table()
        model = EnergyMultiLabelClassifier(method, **{**NETWORK, "max_epochs": 1})
        model = (
            model.set_params(**{f"method__{name}": value})
            if rng.random() < 0.5
            else EnergyMultiLabelClassifier(method.with_(**{name: value}), **{**NETWORK, "max_epochs": 1})
        )
        _fitted(model, X, y)

    return Trial("columns of methods", f"{method.name} {name}={_told(value)}", act)


def _rule(rng: Random, folder: Path) -> Trial:
    kinds: list[Callable[..., Any]] = [
        *(
            getattr(rules_of_labels, name)
            for name in ("AtLeast", "AtMost", "Exactly", "Excludes", "Forbids", "Implies", "Not", "Requires", "Soft", "Hierarchy")
        ),
        *(getattr(rules_of_tags, name) for name in ("AtMostOnce", "Ends", "Gazetteer", "NeverFollows", "OnlyFollows", "Starts")),
        *(getattr(rules_of_masks, name) for name in ("Connected", "Size", "Within")),
    ]
    kind = rng.choice(kinds)
    arguments = [rng.choice([*odd_values(), 0, 1, 2, [0, 1], "calm"]) for _ in range(rng.choice((1, 2, 2, 3)))]

    def act() -> None:
        rule = kind(*arguments)
        if kind.__module__.endswith("tags"):
            _fitted(EnergySequenceTagger("cross-entropy", rules=rule, **TAGGER), *sentences())
        elif kind.__module__.endswith("masks"):
            _fitted(EnergySegmenter("cross-entropy", rules=rule, **SEGMENTER), *images())
        else:
            _fitted(EnergyMultiLabelClassifier("binary-relevance", rules=[rule], random_state=0), *table())

    return Trial("rules", f"{getattr(kind, '__name__', kind)}({', '.join(map(_told, arguments))})"[:160], act)


# -- data -----------------------------------------------------------------------------------------


def _data(rng: Random, folder: Path) -> Trial:
    """Features and labels of other kinds, shapes and contents."""
    X, y = table()
    side = rng.choice(("X", "y"))
    change, value = _spoilt(rng, X if side == "X" else y)
    of: Any = rng.choice(
        (
            lambda: EnergyMultiLabelClassifier("cross-entropy", **{**NETWORK, "max_epochs": 1}),
            lambda: EnergyMultiLabelClassifier("binary-relevance", random_state=0),
            lambda: EnergyMultiLabelClassifier("extra-trees", random_state=0),
            lambda: JointMultiLabelClassifier(**JOINT),
        )
    )

    def act() -> None:
        _fitted(of(), *((value, y) if side == "X" else (X, value)), probe=side == "y")

    return Trial("data of label sets", f"{side}: {change}", act)


def _other_data(rng: Random, folder: Path) -> Trial:
    tagger = rng.random() < 0.5
    X, y = sentences() if tagger else images()
    side = rng.choice(("X", "y"))
    value = rng.choice([*odd_values(), *_of_lists(rng, X if side == "X" else y)])
    model: Any = EnergySequenceTagger("cross-entropy", **TAGGER) if tagger else EnergySegmenter("cross-entropy", **SEGMENTER)

    def act() -> None:
        _fitted(model, *((value, y) if side == "X" else (X, value)), probe=side == "y")

    return Trial("data of tags" if tagger else "data of masks", f"{side}: {_told(value)}", act)


def _of_lists(rng: Random, value: Any) -> list[Any]:
    """Lists of sequences, or arrays of images, with one that is odd."""
    listed = [*value]
    k = rng.randrange(len(listed))
    first = listed[k]
    empty = first[:0]
    odd = [
        None,
        [],
        "",
        3,
        [None],
        [[]],
        first[:1],
        empty,
        [*first, *first],
        np.zeros(3),
        np.zeros((4, 4)),
        "text",
        [1.5],
        {"a": 1},
    ]
    return [[*listed[:k], one, *listed[k + 1 :]] for one in odd] + [
        listed[:1],
        listed[:-1],
        listed[::-1],
        tuple(listed),
        iter(listed),
    ]


def _spoilt(rng: Random, numbers: Any) -> tuple[str, Any]:
    """Another form of a table of numbers."""
    array = np.array(numbers, dtype=float)

    def with_one(value: float) -> Any:
        changed = array.copy()
        changed[rng.randrange(len(array)), rng.randrange(array.shape[1])] = value
        return changed

    kinds: dict[str, Callable[[], Any]] = {
        "NaN": lambda: with_one(float("nan")),
        "infinite": lambda: with_one(float("inf")),
        "huge": lambda: with_one(1e308),
        "minus one": lambda: with_one(-1),
        "a half": lambda: with_one(0.5),
        "two": lambda: with_one(2),
        "all NaN": lambda: array * np.nan,
        "a row of NaN": lambda: np.vstack([array[:-1], array[-1:] * np.nan]),
        "a column of NaN": lambda: np.hstack([array[:, :-1], array[:, -1:] * np.nan]),
        "zeros": lambda: array * 0,
        "ones": lambda: array * 0 + 1,
        "flat": array.ravel,
        "one row": lambda: array[:1],
        "two rows": lambda: array[:2],
        "no rows": lambda: array[:0],
        "no columns": lambda: array[:, :0],
        "one column": lambda: array[:, :1],
        "fewer rows": lambda: array[:-1],
        "one axis more": lambda: array[None],
        "turned": lambda: array.T,
        "objects": lambda: array.astype(object),
        "texts": lambda: array.astype(str),
        "complex": lambda: array + 1j,
        "dates": lambda: array.astype("M8[s]"),
        "bool": lambda: array > 0,
        "int8": lambda: array.astype(np.int8),
        "float16": lambda: array.astype(np.float16),
        "long double": lambda: array.astype(np.longdouble),
        "big-endian": lambda: array.astype(">f8"),
        "csr": lambda: sparse.csr_matrix(array),
        "csc": lambda: sparse.csc_matrix(array),
        "coo array": lambda: sparse.coo_array(array),
        "dok": lambda: sparse.dok_matrix(array),
        "csr of NaN": lambda: sparse.csr_matrix(with_one(float("nan"))),
        "masked": lambda: np.ma.masked_array(array, array > 0),
        "matrix": lambda: np.asmatrix(array),
        "lists": array.tolist,
        "ragged": lambda: [*array.tolist()[:-1], [1.0]],
        "a list of sets": lambda: [{"a"}, {"b"}] * (len(array) // 2),
        "a list of texts": lambda: ["a", "b"] * (len(array) // 2),
        "None": lambda: None,
        "torch": lambda: torch.tensor(array),
        "records": lambda: np.zeros(len(array), [("a", "f8")]),
        "strided": lambda: np.repeat(array, 2, axis=0)[::2],
        "read-only": lambda: _read_only(array),
        "fortran": lambda: np.asfortranarray(array),
        "frame": lambda: _frame(array),
        "frame of texts": lambda: _frame(array.astype(str)),
        "frame of categories": lambda: _frame(array).astype("category"),
        "odd": lambda: rng.choice(odd_values()),
        "a number": lambda: 3,
        "a generator": lambda: (row for row in array),
    }
    name = rng.choice([*kinds])
    try:
        return name, kinds[name]()
    except (ValueError, TypeError):  # what NumPy itself will not make
        return "odd", rng.choice(odd_values())


def _read_only(array: Any) -> Any:
    copied = array.copy()
    copied.flags.writeable = False
    return copied


def _frame(array: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(array, columns=[f"c{k}" for k in range(array.shape[1])])


# -- calls on what is fitted ------------------------------------------------------------------------


def _call(rng: Random, folder: Path) -> Trial:
    one = small("joint")
    model, rows = one.model, one.rows
    known = np.full((len(rows), len(model.classes_)), np.nan)
    _, spoilt = _spoilt(rng, known)
    odd = rng.choice([spoilt, *odd_values(), {0: True}, [{0: True}] * len(rows)])
    _, other = _spoilt(rng, rows)
    calls: dict[str, Callable[[], Any]] = {
        "predict(known=)": lambda: model.predict(rows, known=odd),
        "predict_proba(known=)": lambda: model.predict_proba(rows, known=odd),
        "sample(known=)": lambda: model.sample(rows, 2, known=odd),
        "sample(n)": lambda: model.sample(rows, rng.choice([v for v in odd_values() if not (isinstance(v, int) and v > 10)])),
        "ask(known=)": lambda: model.ask(rows, known=odd),
        "log_prob": lambda: model.log_prob(rows, odd),
        "energy": lambda: model.energy(rows, odd),
        "predict": lambda: model.predict(other),
        "predict_proba": lambda: model.predict_proba(other),
        "network.predict": lambda: small("network").model.predict(other),
        "network.energy": lambda: small("network").model.energy(rows, odd),
        "network.set_decision": lambda: _of_copy("network", "set_decision", rng.choice(odd_values())),
        "tagger.predict": lambda: small("tagger").model.predict(
            rng.choice([*odd_values(), *_of_lists(rng, small("tagger").rows)])
        ),
        "tagger.predict(known=)": lambda: small("tagger").model.predict(
            small("tagger").rows, known=rng.choice([*odd_values(), [["O"]] * 4])
        ),
        "segmenter.predict": lambda: small("segmenter").model.predict(
            rng.choice([*odd_values(), np.zeros((2, 3)), np.zeros((2, 0, 5)), np.full((2, 16, 16), np.nan)])
        ),
        "segmenter.predict(known=)": lambda: small("segmenter").model.predict(
            small("segmenter").rows, known=rng.choice([*odd_values(), np.full((2, 16, 16), 7.0)])
        ),
        "texts.predict": lambda: small("texts").model.predict(rng.choice([*odd_values(), [None] * 3, [3, 4], [""], ["a", None]])),
        "find_label_issues": lambda: find_label_issues(
            *(table() if rng.random() < 0.2 else (other, table()[1])),
            base="binary-relevance",
            random_state=rng.choice(odd_values()),
        ),
        "load": lambda: EnergyMultiLabelClassifier.load(rng.choice([*odd_values(), folder, folder / "rows.csv"])),
        "save": lambda: small("linear").model.save(rng.choice([v for v in odd_values() if not isinstance(v, (str, Path))])),
    }
    name = rng.choice([*calls])

    def act() -> None:
        answer = calls[name]()
        for each in answer if isinstance(answer, (list, tuple)) else [answer]:
            values = each.toarray() if hasattr(each, "toarray") else each
            if isinstance(values, np.ndarray) and values.dtype.kind == "f" and np.isnan(values).any():
                raise Unsound("it answers NaN")

    return Trial("calls", f"{name}: {_told(odd)}", act)


def _of_copy(kind: str, method: str, *arguments: Any) -> Any:
    from copy import deepcopy

    if not hasattr(small(kind).model, method):
        raise ValueError(f"no {method}")
    return getattr(deepcopy(small(kind).model), method)(*arguments)


# -- the command line ---------------------------------------------------------------------------------


def _command(rng: Random, folder: Path) -> Trial:
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    text = rng.choice(
        [
            *NASTY,
            "1e3",
            "[1,2]",
            "{a: 1}",
            "null",
            "true",
            "-5",
            "10",
            "auto",
            "*",
            "&a",
            "!!python/object:os.system",
            "1,2",
            "a=b",
        ]
    )
    if "\x00" in text:  # no program can be given one
        text = "x"
    train = ["train", str(folder / "rows.csv"), "--labels", "-2", "--out", str(out), "--model.method", "binary-relevance"]
    options = (
        "labels",
        "drop",
        "text",
        "base",
        "minutes",
        "folds",
        "task",
        "seed",
        "model.method",
        "model.hidden",
        "model.dropout",
        "model.decision",
        "model.learning_rate",
        "model.clip",
        "model.optimizer",
        "model.standardize",
        "model.device",
        "model.validation_fraction",
        "method.energy_weight",
        "method.negatives",
        "method.coupling",
        "method.n_samples",
        "rules",
        "config",
        "model",
        "auto",
        "encoder",
    )
    predict = ["predict", str(folder / "model"), str(folder / "rows.csv")]
    whole = rng.choice(
        (
            [*train, f"--{rng.choice(options)}", text],
            [*train, f"--{rng.choice(options)}={text}"],
            [*predict, rng.choice(("--known", "--decision", "--proba", "--out", "--text", "--drop", "--rules", "--n")), text],
            ["evaluate", str(folder / "model"), rng.choice((text or "x", str(folder / "rows.csv"))), "--labels", text],
            ["data", rng.choice(("list", "describe", "convert", "songs", text)), text],
            [
                "review",
                str(folder / "rows.csv"),
                "--labels",
                text,
                "--out",
                str(folder / "suspects.csv"),
                "--base",
                "binary-relevance",
            ],
            ["export", str(folder / "model"), str(folder / "exported"), "--decision", text],
            ["report", str(folder / "model"), str(folder / "rows.csv"), "--labels", text, "--out", str(folder / "r.html")],
            [text],
            [text, text],
            [*train[:1], text, "--out", str(out)],
        )
    )

    def act() -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            try:
                code = main(whole)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 2
        last = said.getvalue().strip().splitlines()
        if code not in (0, 2):
            raise Unsound(f"the command ends with {code}: {' '.join(last)[-200:]}")
        if "Traceback" in said.getvalue():
            raise Unsound(f"a traceback: {' '.join(last)[-200:]}")
        if code == 2:
            if not last:
                raise Unsound("bad input is refused without a word")
            raise ValueError(last[-1][:MOST_LINE])
        return None

    return Trial("commands", " ".join(whole[:1] + whole[-2:])[:160], act)


MOST_LINE = 300
"""Of the last line of a command, which argparse's usage may stand before; a longer one is cut by the terminal, not by us."""


# -- fits ---------------------------------------------------------------------------------------------


def _fitted(model: Any, X: Any, y: Any, probe: bool = True) -> None:
    """Unsound for answers that are none, and for a model that answers after a fit that failed."""
    try:
        model.fit(X, y)
    except Exception:
        try:
            model.predict(X if not probe else table()[0])
        except NotFittedError:
            pass
        except Exception as other:
            if hasattr(model, "classes_") and hasattr(model, "predictor_"):
                raise Unsound(f"it is half-fitted ({type(other).__name__})") from other
        else:
            raise Unsound("it answers though its fit has failed") from None
        raise
    if not probe:
        return
    predicted = model.predict(X)
    if len(predicted) != len(X) if hasattr(X, "__len__") else False:
        raise Unsound("it answers another number of rows")


GROUPS = (_estimator, _estimator, _estimator, _column, _rule, _data, _data, _other_data, _call, _call, _command, _command)
