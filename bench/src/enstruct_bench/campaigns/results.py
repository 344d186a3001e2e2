"""Results files that are cut, damaged, or not of one time; and what else programs of the library write for themselves:
checkpoints, lists of suspects, settings that were searched for, kept features of texts.

A command that meets one says so in one error, or goes on from what is whole: figures that nobody has measured must not appear.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct import EnergyMultiLabelClassifier
from enstruct.cli.main import main as program
from enstruct.encoders.text import feature_cache
from enstruct.errors import EnstructError
from enstruct.metrics import Counts
from enstruct.training.checkpoint import Checkpoint
from enstruct.workbench.review import Review
from enstruct_bench.campaigns import mutations
from enstruct_bench.campaigns.documents import Random
from enstruct_bench.campaigns.tiny import table
from enstruct_bench.campaigns.trial import Trial, Unsound
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.tuned_settings import Tuned
from enstruct_bench.reports.results import page, sections
from enstruct_bench.reports.summaries import FOLDER, renew
from enstruct_bench.reproduce.store import Key, Store

SECONDS = 20.0
ALSO: tuple[type[Exception], ...] = ()
MOST = 2**31
COMPARE = [
    "--labels",
    "-2",
    "--methods",
    "binary-relevance,cross-entropy",
    "--seeds",
    "2",
    "--model.max_epochs",
    "1",
    "--model.hidden",
    "4",
]
NETWORK: dict[str, Any] = {"hidden": 6, "layers": 1, "max_epochs": 3, "random_state": 0}
main = partial(program, commands="enstruct_bench.cli.commands")
FEATURES = np.random.default_rng(0).normal(size=(80, 4)).astype(np.float32)


def prepare(seed: int, folder: Path) -> None:
    """One sound file, or two that belong together, of each kind."""
    torch.set_num_threads(1)
    sound = folder / "sound"
    for group in GROUPS:
        (sound / group).mkdir(parents=True)
    rows = folder / "rows.csv"
    rows.write_text("a,b,calm,sad\n" + "".join(f"{k},{k % 3},{k % 2},{(k // 2) % 2}\n" for k in range(40)), encoding="utf-8")
    out = sound / "compare again" / "compare-mine.json"
    if main(["compare", str(rows), *COMPARE, "--json", str(out)]) != 0:
        raise RuntimeError("the comparison that is to be spoilt did not run")
    shutil.copytree(out.parent, sound / "report", dirs_exist_ok=True)
    renew(sections(sound / "report"), sound / "report", lambda text: None)
    shutil.copytree(sound / "report" / FOLDER, sound / "summaries" / FOLDER)
    _store(sound / "store")
    settings = {
        "method": "dvn",
        "metric": "example-f1",
        "settings": {"hidden": 9},
        "fixed": {"layers": 1},
        "trials": {"complete": 3},
        "value": 0.5,
        "unit": "s",
        "searched": {},
    }
    (sound / "tuned" / "tuned.json").write_text(json.dumps({"best": [settings], "trials": []}), encoding="utf-8")
    suspect = {"row": 1, "label": "calm", "given": True, "quality": 0.1, "alone": 0.2, "reason": "so"}
    about = {"content": "abc", "settings": {"base": "auto"}, "corrected": "x.csv"}
    (sound / "suspects" / "list.json").write_text(
        json.dumps({**about, "suspects": [suspect, {**suspect, "row": 2}]}), encoding="utf-8"
    )
    X, y = table()
    EnergyMultiLabelClassifier(
        "seal-nce", **{**NETWORK, "max_epochs": 2}, callbacks=[Checkpoint(sound / "checkpoint" / "c.safetensors")]
    ).fit(X, y)
    _features(sound / "kept features")


def most_bytes(trial: Trial) -> int:
    return MOST


def trial(number: int, seed: int, folder: Path) -> Trial:
    rng = random.Random(f"results {seed} {number}")
    group = rng.choice([*GROUPS])
    place = folder / "spoilt"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "sound" / group, place)
    change = _spoil(rng, rng.choice(sorted(path for path in place.rglob("*") if path.is_file() and path.suffix != ".lock")))
    act = GROUPS[group]
    return Trial(group, change, lambda: act(place, folder), False, 0)


def _spoil(rng: Random, path: Path) -> str:
    content = path.read_bytes()
    chance = rng.random()
    if chance < 0.1:
        path.unlink()
        return f"{path.suffix} gone"
    if chance < 0.2:
        change, content = mutations.foreign(rng)
    elif path.suffix in (".json", ".jsonl") and chance < 0.8:
        lines = content.decode().splitlines() if path.suffix == ".jsonl" else [content.decode()]
        at = rng.randrange(len(lines))
        change, value = mutations.spoil_json(rng, json.loads(lines[at]))
        lines[at] = json.dumps(value)
        content = ("\n".join(lines) + "\n").encode()
    elif path.suffix == ".npz" and chance < 0.6:
        change, content = _arrays(rng, content)
    else:
        change, content = mutations.spoil_bytes(rng, content)
    path.write_bytes(content)
    return f"{path.suffix} {change}"


def _arrays(rng: Random, content: bytes) -> tuple[str, bytes]:
    with np.load(io.BytesIO(content)) as archive:
        arrays: dict[str, Any] = dict(archive)
    key = rng.choice([*arrays])
    kinds: dict[str, Callable[[Any], Any]] = {
        "cut": lambda array: array[:-1],
        "NaN": lambda array: array * np.nan,
        "texts": lambda array: array.astype(str),
        "flat": np.ravel,
        "one more axis": lambda array: array[None],
        "objects": lambda array: array.astype(object),
        "nothing": lambda array: array[:0],
        "huge": lambda array: array * 1e38,
        "negative": lambda array: -array - 1,
    }
    name = rng.choice([*kinds, "gone", "renamed"])
    if name in kinds:
        arrays[key] = kinds[name](arrays[key])
    else:
        array = arrays.pop(key)
        if name == "renamed":
            arrays[f"{key}/x"] = array
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return f"arrays: {name}", file.getvalue()


# -- what reads them ----------------------------------------------------------------------------------


def _compare_again(place: Path, folder: Path) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main(["compare", str(folder / "rows.csv"), *COMPARE, "--json", str(place / "compare-mine.json")])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 2
    text = said.getvalue().strip()
    if code == 2 and text:
        raise EnstructError(text.splitlines()[-1])
    if code != 0:
        raise Unsound(f"the command ends with {code}: {text[-200:]}")
    if " nan" in text.replace("|", " ").lower():
        raise Unsound("a figure of the table is no number")


def _report(place: Path, folder: Path) -> None:
    renew(sections(place), place, lambda text: None)
    if " nan " in page(place).lower():
        raise Unsound("a figure of the page is no number")


def _summaries(place: Path, folder: Path) -> None:
    page(place)


def _read_store(place: Path, folder: Path) -> None:
    store = Store(place, "table")
    for run in (*store.runs.values(), *store.elsewhere):
        for counts in run.rows.values():
            if not (np.isfinite(counts.above).all() and np.isfinite(counts.below).all()):
                raise Unsound("a score is no number")
    store.add(Key("mine", "fair", "fresh", 0), _cell(), {}, dict(_WHERE), None)
    again = Store(place, "table")
    if Key("mine", "fair", "fresh", 0) not in {run.key for run in (*again.runs.values(), *again.elsewhere)}:
        raise Unsound("a run that was added is not there")


_WHERE = {"enstruct": "0.2.0", "torch": "2", "python": "3", "processor": "x", "machine": "y"}


def _cell() -> Cell:
    return Cell({"seconds": 1.0}, {"fixed": Counts.of(np.ones(5)), "tuned": Counts.of(np.ones(5), np.full(5, 2.0))})


def _store(folder: Path) -> None:
    store = Store(folder, "table")
    for seed in range(3):
        store.add(Key("mine", "fair", "dvn", seed), _cell(), {"hidden": 3}, dict(_WHERE), "abc")


def _tuned(place: Path, folder: Path) -> None:
    tuned = Tuned.read(place / "tuned.json", "example-f1") if (place / "tuned.json").exists() else None
    for settings in tuned.settings.values() if tuned else ():
        str(settings)


def _suspects(place: Path, folder: Path) -> None:
    Y = np.zeros((5, 2))
    listed = Review.read(place / "list.json", ["calm", "sad"], Y, "abc", {"base": "auto"})
    for one in listed.suspects:
        if not (0 <= one.row < 5 and one.label in ("calm", "sad") and 0 <= one.quality <= 1):
            raise Unsound(f"the suspect {str(one)[:80]} is none")


def _checkpoint(place: Path, folder: Path) -> None:
    X, y = table()
    path = place / "c.safetensors"
    model = EnergyMultiLabelClassifier("seal-nce", **NETWORK, callbacks=[Checkpoint(path, resume=True)]).fit(X, y)
    if np.isnan(model.predict_proba(X)).any():
        raise Unsound("training goes on from it to NaN")


def _features(place: Path, folder: Path | None = None) -> None:
    """Kept, or computed anew: always those that the texts have."""
    texts = [f"text {k}" for k in range(len(FEATURES))]
    number = {text: k for k, text in enumerate(texts)}
    out = feature_cache.kept("an encoder", texts, 4, place, lambda some: FEATURES[[number[text] for text in some]])
    if not np.array_equal(out, FEATURES):
        raise Unsound("features are others than the texts have")


GROUPS: dict[str, Callable[[Path, Path], None]] = {
    "compare again": _compare_again,
    "report": _report,
    "summaries": _summaries,
    "store": _read_store,
    "tuned": _tuned,
    "suspects": _suspects,
    "checkpoint": _checkpoint,
    "kept features": _features,
}
