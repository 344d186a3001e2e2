"""What goes on at the workbench, without the web: rows are given out, answers kept, the model asked."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

from enstruct.errors import DataError
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.labelling import Cells, Labelling
from enstruct.workbench.learning import Learner
from enstruct.workbench.review import Review
from enstruct.workbench.row_order import RowOrder


class Session:
    """``learner``: of label sets that begin from nothing; ``review``: where given labels are gone through."""

    def __init__(
        self,
        labelling: Labelling,
        journal: Journal,
        order: RowOrder,
        title: str,
        learner: Learner | None = None,
        review: Review | None = None,
    ) -> None:
        self.labelling, self.journal, self.order, self.title = labelling, journal, order, title
        self.learner, self.review = learner, review
        self._given_whole = labelling.given_whole() if review is None else set()
        self.finished = self._given_whole | {row for row, answers in journal.rows.items() if answers.done}
        self._preparing: threading.Thread | None = None
        self._lock = threading.RLock()
        self.model_number = 0
        """Rises as models are put in place, so that pages ask again."""
        if learner is not None:
            learner.ready = partial(self._use, learner.sets)
        self._consider()

    def describe(self) -> dict[str, Any]:
        """What a page is drawn from once."""
        return {
            **self.labelling.describe(),
            "task": self.labelling.task,
            "mode": "label" if self.review is None else "review",
            "title": self.title,
            "rows": self.labelling.n_rows,
            "answers": str(self.journal.path),
            "order": self.order.order,
        }

    def progress(self, row: int | None = None) -> dict[str, Any]:
        """How far all is, and the version of ``row`` for a page that shows it."""
        words = "" if self.learner is None else self.learner.words
        out = {"finished": len(self.finished), "rows": self.labelling.n_rows, "told": self.journal.n_told, "learning": words}
        if self.review is not None:
            out |= self.review.counts(self.journal)
        if row is not None:
            out["version"] = self.journal.row(self._checked(row)).version
        return {**out, "model": self.model_number}

    def next(self, by: str, after: int = -1) -> int | None:
        with self._lock:
            return self.order.next(by, self.finished, after)

    def row(self, number: int, by: str = "") -> dict[str, Any]:
        """What it holds, and how it stands."""
        self._checked(number)
        if by:
            self.order.claim(by, number)
        out = {"content": self.labelling.content(number), **self._state(number)}
        return out if self.review is None else {**out, "given_labels": self.review.given(number)}

    def answers(self, number: int, read: Cells) -> dict[str, Any]:
        self._checked(number)
        return {**self.labelling.answers(number, self.journal.row(number).cells, read), "model": self.model_number}

    def question(self, number: int, read: Cells) -> str | None:
        self._checked(number)
        return self.labelling.question(number, self.journal.row(number).cells, read)

    def tell(self, act: str, by: str, row: int, cells: Cells, done: bool, seen: int | None) -> dict[str, Any]:
        """DataError for what cannot be told, ConflictError, SaveError."""
        self._checked(row)
        with self._lock:  # what was checked is what is told
            if self.journal.knows(act):
                return self._state(row)
            after = {**self.journal.row(row).cells, **cells}
            self.labelling.check(row, cells, self._whole(row, after), done and self.review is None)
            self.journal.tell(act, by, row, cells, done, seen)
            self._settle(row)
            return self._state(row)

    def undo(self, act: str, by: str) -> dict[str, Any] | None:
        """The row of what was undone, as it is now; None where there was nothing."""
        with self._lock:
            if not self.journal.knows(act) and (after := self.journal.after_undo(by)) is not None:
                self.labelling.check(after[0], {}, self._whole(*after), False)
            row = self.journal.undo(act, by)
            if row is None:
                return None
            self._settle(row)
            return self._state(row)

    def write(self, path: Path) -> None:
        """The data with all that was told. DataError where there is nothing to write yet."""
        self.labelling.write(path, {row: answers.cells for row, answers in self.journal.snapshot().items()})

    def close(self) -> None:
        """Threads end here: one that PyTorch works in would take the process down with it."""
        if self.learner is not None:
            self.learner.close()
        self.order.stop()
        if self._preparing is not None:
            self._preparing.join()
        self.journal.close()

    def begin_ranking(self) -> None:
        """Of rows by what they can teach; and what first answers need is made ready."""
        if self._preparing is None:
            self._preparing = threading.Thread(target=self.labelling.prepare, name="preparing", daemon=True)
            self._preparing.start()
        if self.order.order == "teaching":
            self.order.rank(self.labelling.uncertainty)

    def _settle(self, row: int) -> None:
        if self.journal.row(row).done or (row in self._given_whole and not self.journal.row(row).cells):
            self.finished.add(row)
        else:
            self.finished.discard(row)
        self._consider()

    def _use(self, sets: LabelSets, model: JointMultiLabelClassifier) -> None:
        """A model that was just fitted."""
        sets.use(model)
        self.model_number += 1
        self.begin_ranking()

    def _consider(self) -> None:
        """Whether it is time for another model."""
        if self.learner is not None and self.learner.wants(len(self.finished)):
            sets = self.learner.sets
            self.learner.consider({row: sets.vector(row, self.journal.row(row).cells) for row in self.finished})

    def _whole(self, row: int, cells: Cells) -> dict[str, Any]:
        """What stands of a row: what the data gave, and over it what is told."""
        return {**self.labelling.given(row), **{name: value for name, value in cells.items() if value is not None}}

    def _state(self, row: int) -> dict[str, Any]:
        answers = self.journal.row(row)
        return {"row": row, "cells": self._whole(row, answers.cells), "done": answers.done, "version": answers.version}

    def _checked(self, row: int) -> int:
        if not 0 <= row < self.labelling.n_rows:
            raise DataError(f"There are {self.labelling.n_rows} rows, numbered from 0; {row} is none of them.")
        return row
