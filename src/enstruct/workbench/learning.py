"""Starting from nothing: a first model once some rows are labelled, and again as answers come in; how good it is by now.

Fits go on in a process of their own, so that the page answers meanwhile. A model is judged by rows that were drawn at random
(:mod:`enstruct.workbench.row_order`) and by models that have not seen them: its folds'. What more rows still pay is what the last
doubling of the rows gained: on rows answered since, the model of then, which has not seen them, against the folds of now.
"""

from __future__ import annotations

import logging
import multiprocessing
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.estimators.left_out import check_each_left_out
from enstruct.metrics import rowwise_f1
from enstruct.metrics.intervals import Counted, Interval, intervals
from enstruct.metrics.labels import mean_counts
from enstruct.workbench.label_sets import LabelSets

log = logging.getLogger("enstruct")

FIRST, GROWTH = 20, 1.25
"""Finished rows from which on there is a model, and how many times as many before the next one."""
FEW = 10
"""Rows drawn at random from which on a model is judged."""
NO_LONGER = 0.02
"""F1 that a doubling of the rows must be able to gain: below it going on pays no longer."""


class Work(NamedTuple):
    """A fit: ``rows`` their numbers, ``X`` and ``Y`` (rows, labels) of 0, 1 and NaN; ``judging`` (rows,): drawn at random;
    ``before``: the folder of the model of half as many rows, and the numbers of those, None where there is none."""

    rows: NDArray[np.intp]
    X: Any
    Y: NDArray[np.float64]
    judging: NDArray[np.bool_]
    folder: str
    settings: dict[str, Any]
    before: tuple[str, NDArray[np.intp]] | None
    drawn: bool = True


class Judgement(NamedTuple):
    """``f1``, ``wrong`` labels a row, over ``judged`` rows; ``gain``: of F1 by the last doubling, None where it is not known."""

    rows: int
    judged: int
    f1: Interval | None
    wrong: Interval | None
    gain: Interval | None
    drawn: bool = True
    """Whether these rows were drawn at random, or came as they stand."""

    @property
    def words(self) -> str:
        """Whole sentences."""
        if self.f1 is None or self.wrong is None:
            return f"A model of {self.rows} rows helps. Too few {self._which} are finished to say how good it is."
        good = (
            f"A model of {self.rows} rows helps. Judged on {self.judged} {self._which} that it had not seen: F1 "
            f"{_percent(self.f1)}, {self.wrong.value:.1f} [{self.wrong.low:.1f}, {self.wrong.high:.1f}] wrong labels a row."
        )
        if self.gain is None:
            return f"{good} What more rows would gain is not known yet."
        gained = f"The last doubling of the rows gained {_percent(self.gain)} points of F1"
        if self.gain.high < NO_LONGER:
            return f"{good} {gained}: going on hardly pays any longer."
        return f"{good} {gained}: " + ("going on pays." if self.gain.low > 0 else "whether going on pays is not certain.")

    @property
    def _which(self) -> str:
        return "rows drawn at random" if self.drawn else "of the rows as they stand"


def fit(work: Work) -> Judgement:
    """Fit a joint, save it to ``work.folder``, judge it. DataError for rows that nothing can be learnt from."""
    model = JointMultiLabelClassifier(**work.settings).fit(work.X, work.Y)
    check_each_left_out(model.fitted_on_.each_left_out)
    model.save(Path(work.folder))
    p = model.fitted_on_.marginals(model.constants_)
    chosen = np.flatnonzero(work.judging)
    if len(chosen) < FEW:
        return Judgement(len(work.rows), len(chosen), None, None, None, work.drawn)
    f1 = rowwise_f1(work.Y, p >= 0.5)
    wrong = ((p >= 0.5) != work.Y).sum(1)
    return Judgement(len(work.rows), len(chosen), over_rows(f1[chosen]), over_rows(wrong[chosen]), _gain(work, f1), work.drawn)


def _gain(work: Work, f1: NDArray[np.float64]) -> Interval | None:
    """Of the folds of now over the model of half as many rows, on rows drawn at random that it has not seen."""
    if work.before is None:
        return None
    folder, seen = work.before
    later = np.flatnonzero(work.judging & ~np.isin(work.rows, seen))
    if len(later) < FEW:
        return None
    former = JointMultiLabelClassifier.load(Path(folder))
    X = [work.X[k] for k in later] if isinstance(work.X, list) else work.X[later]
    then = rowwise_f1(work.Y[later], np.asarray(former.predict_proba(X)) >= 0.5)
    return over_rows(f1[later] - then)


def over_rows(values: NDArray[np.float64]) -> Interval:
    """The mean of the rows' values, with its interval of 95%."""
    return intervals({"": Counted(mean_counts(values))}, seed=0)[""]


def _percent(value: Interval) -> str:
    return f"{100 * value.value:.1f} [{100 * value.low:.1f}, {100 * value.high:.1f}]"


@dataclass
class Learner:
    """Fits whenever enough rows of ``sets`` have been finished since the last fit. ``at_random`` (rows,): whether a model may be
    judged by a row, ``drawn``: as these were drawn; ``ready(model)`` is called in the thread of the fit."""

    sets: LabelSets
    at_random: NDArray[np.bool_]
    settings: dict[str, Any]
    ready: Callable[[JointMultiLabelClassifier], None] = lambda model: None
    drawn: bool = True
    folder: Path | None = None
    """Where models are kept while it works, this process's alone; None for a temporary one."""
    judgement: Judgement | None = None
    problem: str = ""
    fitting: int = 0
    """Rows of the fit that goes on, 0 while none does."""
    _fits: list[tuple[str, NDArray[np.intp]]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _tried: int = 0

    def __post_init__(self) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="enstruct-workbench-")) if self.folder is None else self.folder
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)  # what a killed process left
            self.folder.mkdir(parents=True)
        self._process: Any = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def consider(self, finished: Mapping[int, NDArray[np.float64]]) -> bool:
        """Begin a fit on these rows, number -> (labels,), if it is time for one."""
        with self._lock:
            if not self.wants(len(finished)):
                return False
            self.fitting = self._tried = len(finished)
        numbers = np.array(sorted(finished), dtype=np.intp)
        Y = np.stack([finished[int(row)] for row in numbers])
        self._thread = threading.Thread(target=self._fit, args=(numbers, Y), name="fitting", daemon=True)
        self._thread.start()
        return True

    def wants(self, finished: int) -> bool:
        """Whether it is time for a fit, of so many rows."""
        wanted = FIRST if self._tried == 0 else int(np.ceil(GROWTH * self._tried))
        return not (self._closed or self.fitting) and finished >= wanted

    @property
    def words(self) -> str:
        """How it stands, in whole sentences."""
        parts = [] if self.judgement is None else [self.judgement.words]
        if self.fitting:
            parts.append(f"A model of {self.fitting} rows is being fitted.")
        elif self.problem:
            parts.append(self.problem)
        elif not parts:
            parts.append(f"A first model is fitted once {FIRST} rows are finished.")
        return " ".join(parts)

    def close(self) -> None:
        """End a fit that goes on, and forget all models."""
        self._closed = True
        process = self._process
        if process is not None and process.is_alive():
            process.kill()
        if self._thread is not None:
            self._thread.join()
        shutil.rmtree(self._place, ignore_errors=True)

    def _fit(self, numbers: NDArray[np.intp], Y: NDArray[np.float64]) -> None:
        folder = str(self._place / str(len(numbers)))
        half = [one for one in self._fits if len(one[1]) <= len(numbers) / 2]
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        try:
            judging, before = self.at_random[numbers], half[-1] if half else None
            work = Work(numbers, self.sets.rows_of(numbers), Y, judging, folder, self.settings, before, self.drawn)
            self._process = context.Process(target=_in_process, args=(work, theirs), daemon=True)
            self._process.start()
            theirs.close()
            if self._closed:
                self._process.kill()
            try:
                outcome = ours.recv()
            except EOFError:
                outcome = "its process was ended"
            self._process.join()
            if self._closed:
                return
            if isinstance(outcome, Judgement):
                model = JointMultiLabelClassifier.load(Path(folder))
                self._fits.append((folder, numbers))
                self.judgement, self.problem = outcome, ""
                self.ready(model)
            else:
                self._failed(len(numbers), outcome)
        except Exception as error:  # whatever it is, the page says so, and later rows are tried
            self._failed(len(numbers), error)
        finally:
            ours.close()
            self.fitting = 0

    def _failed(self, rows: int, why: object) -> None:
        self.problem = f"No model of {rows} rows could be fitted: {why}"
        log.warning("%s", self.problem)


def _in_process(work: Work, pipe: Any) -> None:
    import torch

    torch.set_num_threads(1)  # the page answers beside it
    try:
        outcome: Any = fit(work)
    except Exception as error:
        outcome = str(error) or type(error).__name__
    pipe.send(outcome)
    pipe.close()
