"""One study a method: trials in a journal file, or a database, that several processes may share, each judged on the validation
rows.

The value of a trial is the best cross-validated score of any decision rule within the validation rows, what ``decision="auto"``
goes by. Trials that fall behind the median of the others at the same epoch are cut short; trials that diverge count as failed.
"""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enstruct.data.splits import Splits
from enstruct.errors import ConfigError, DivergenceError, MissingExtraError, shortened, shown
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.saved_values import encode_parameter
from enstruct.methods import get_method
from enstruct.training.callbacks import Callback
from enstruct_bench.tuning.search_spaces import suggest

if TYPE_CHECKING:
    from optuna import Study, Trial

    from enstruct.training.loop import Loop

log = logging.getLogger("enstruct")
LONGEST = timedelta(days=1)
"""That a trial of another machine counts as under way."""
FIRST_CUT = 20
"""Epochs that every trial may have."""


@dataclass(frozen=True)
class Task:
    """What all trials of a comparison share. ``fixed``: parameters that are not searched."""

    splits: Splits
    metric: str = "example-f1"
    fixed: dict[str, Any] | None = None
    most_updates: int = 10
    seed: int = 0


def open_study(name: str, storage: str | Path, task: dict[str, Any] | None = None) -> Study:
    """The study of that name, new or to go on with, in a journal file or in the database that a URL names (Optuna's
    ``RDBStorage``), as ``postgresql://host/trials``.

    ``task``: what its trials are about (JSON); ConfigError if the study's are about another, and for a storage that cannot be
    used. MissingExtraError without Optuna.
    """
    optuna = _optuna()
    pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=FIRST_CUT)
    where = {"study_name": name, "pruner": pruner, "direction": "maximize", "load_if_exists": True}
    place = str(storage).rpartition("@")[2] if "://" in str(storage) else str(storage)  # without a password
    if "://" in str(storage):
        try:
            study = optuna.create_study(storage=str(storage), **where)
        except Exception as error:  # of Optuna, of SQLAlchemy and of the database's own driver
            why = shortened(str(error).replace(str(storage), place), 120)
            raise ConfigError(
                f"The database {shown(place, 60)} cannot be used ({why}): mend --storage, or name a file."
            ) from error
    else:
        storage = Path(storage)
        try:
            storage.parent.mkdir(parents=True, exist_ok=True)
            _mend(storage)
            journal = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(storage)))
            study = optuna.create_study(storage=journal, **where)
        except (OSError, ValueError, KeyError, AssertionError) as error:  # the last are Optuna's of records it does not know
            raise ConfigError(
                f"{storage} is no journal of trials, and none can be made there: give another ({error})."
            ) from error
    written = study.user_attrs.get("task")
    if written is not None and task is not None and written != task:
        differs = ", ".join(sorted(k for k in {*written, *task} if written.get(k) != task.get(k)))
        raise ConfigError(f"{place} holds trials of {name} with another {differs}: give another --storage.")
    if written is None and task is not None:
        study.set_user_attr("task", task)
    return study


def _mend(storage: Path) -> None:
    """Take a last line off that was cut short, which Optuna would go on writing in.

    ValueError for a file that is no journal: it stays as it is, and Optuna would write into it.
    """
    if not storage.is_file() or not storage.stat().st_size:
        return
    lock = _optuna().storages.journal.JournalFileSymlinkLock(str(storage))  # what it writes under
    lock.acquire()
    try:
        whole, _, torn = storage.read_bytes().rpartition(b"\n")
        if not all(_is_record(line) for line in whole.split(b"\n")):
            raise ValueError("its lines are no records of trials")
        if torn:
            os.truncate(storage, len(whole) + 1)
            log.warning("%s: its last line was cut short and is taken off", storage)
    finally:
        lock.release()


def _is_record(line: bytes) -> bool:
    """Of Optuna's journals."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and "op_code" in entry


def search(method: str, task: Task, study: Study, trials: int, bar: Callable[[str], list[Callback]] = lambda title: []) -> None:
    """Trials until so many of the study ended or are others' work, whoever made them."""
    optuna = _optuna()
    if trials < 1:
        raise ConfigError(f"Give at least one trial, not {trials}.")
    searched(method, task.most_updates)
    while len(ended(study)) + at_work(study) < trials:
        trial = study.ask()
        # by the trial's number, which no two processes share: none draws another's trials again
        seed = int(np.random.SeedSequence((task.seed, trial.number)).generate_state(1)[0])
        study.sampler = optuna.samplers.TPESampler(seed=seed)
        trial.set_user_attr("process", f"{platform.node()} {os.getpid()} {_begun(os.getpid())}")
        title = f"{method} trial {trial.number}"
        try:
            value = _value(method, task, trial, bar(title))
        except optuna.TrialPruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        except DivergenceError as error:
            log.warning("%s: %s", title, error)
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, value)


def searched(method: str, most_updates: int) -> dict[str, Any]:
    """The dimensions that are searched, with their bounds (JSON). ConfigError for a method that has none."""
    optuna = _optuna()
    trial = optuna.trial.FixedTrial(_middle())
    suggest(trial, get_method(method), most_updates)
    written = {
        name: optuna.distributions.distribution_to_json(distribution) for name, distribution in trial.distributions.items()
    }
    return {name: json.loads(text) for name, text in sorted(written.items())}


def ended(study: Study) -> list[Any]:
    """Trials that are complete, cut short or failed."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]


def at_work(study: Study) -> int:
    """Trials that other living processes are busy with; those of killed ones, or of another machine's yesterday, do not count."""
    running = [trial for trial in study.get_trials(deepcopy=False) if not trial.state.is_finished()]
    return sum(_alive(trial.user_attrs.get("process", ""), trial.datetime_start) for trial in running)


def _alive(process: str, since: datetime | None) -> bool:
    node, number, begun = [*process.split(" "), "", "", ""][:3]
    if not number or (node, int(number)) == (platform.node(), os.getpid()):
        return False
    if node != platform.node():  # nobody can ask after it from here
        return since is not None and datetime.now() - since < LONGEST
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not begun or begun == _begun(int(number))  # numbers of processes are given again


def _begun(number: int) -> str:
    """When the process began, by the system's own count; empty where that is not told."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def summary(method: str, task: Task, study: Study, trials: int) -> dict[str, Any]:
    """The best of the first so many trials that ended, its settings as JSON, and how many ended how.

    A study may hold more, asked for at another time: of those nothing is taken, since methods are compared after equally many.
    ConfigError if not one came to an end.
    """
    optuna = _optuna()
    counted = ended(study)[:trials]
    states = [trial.state.name.lower() for trial in counted]
    counts = {name: states.count(name) for name in sorted(set(states))}
    if "complete" not in counts:
        others = f", {at_work(study)} are other processes' work" if at_work(study) else ""
        raise ConfigError(f"No trial of {method} came to an end ({counts or 'none ended'}{others}): allow more of them.")
    whole = [trial for trial in counted if trial.state == optuna.trial.TrialState.COMPLETE]  # one cut short has a value too
    best = max(whole, key=lambda trial: (trial.value, -trial.number))
    suggested = suggest(optuna.trial.FixedTrial(best.params), get_method(method), task.most_updates)
    searched, fixed = ({k: encode_parameter(k, v) for k, v in settings.items()} for settings in (suggested, task.fixed or {}))
    return {
        "method": method,
        "metric": task.metric,
        "trials": counts,
        "best": best.number,
        "value": best.value,
        "settings": searched,
        "fixed": fixed,
    }


def _value(method: str, task: Task, trial: Trial, callbacks: list[Callback]) -> float:
    suggested = suggest(trial, get_method(method), task.most_updates)
    settings = {**(task.fixed or {}), **suggested, "method": method, "metric": task.metric, "random_state": task.seed}
    model = NetworkClassifier().set_params(**settings, callbacks=[Report(trial), *callbacks])
    train, validation = task.splits.train, task.splits.validation
    model.fit(train.X, train.Y, X_val=validation.X, y_val=validation.Y)
    return float(max(model.decision_scores_.values()))


class Report(Callback):
    """Tells the study each epoch's leading score, and stops where it says so."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.epochs = 0

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None:
        if record["stage"] + 1 < len(loop.game.method.stages):
            return  # what leads in an early stage says little of the last
        if "objective" in loop.progress.best:
            return  # that of an energy alone does not compare with another trial's, whose candidates differ
        self.epochs += 1
        self.trial.report(record["score"], self.epochs)
        if self.trial.should_prune():
            raise _optuna().TrialPruned


def _middle() -> dict[str, Any]:
    """One point of every space."""
    rates = {"learning_rate": 1e-3, "energy_learning_rate": 1e-3, "energy_weight": 1.0, "std": 1.0, "inference_rate": 0.1}
    return {
        **rates,
        "layers": 2,
        "hidden": 400,
        "dropout": 0.5,
        "units": 200,
        "n_samples": 20,
        "rounds_per_batch": 1,
        "energy_steps": 1,
    }


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("Tuning needs Optuna: pip install enstruct-bench.") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
