"""Label sets at the workbench: every label told moves all others, by the joint's conditional marginals."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from enstruct.errors import DataError, shown, unknown_name
from enstruct.estimators.conditionals import Conditionals
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.rules import RuleSystem
from enstruct.rules.closest import nearest
from enstruct.rules.follow import follow
from enstruct.rules.labels import mapped
from enstruct.workbench.contents import Contents
from enstruct.workbench.labelling import Cells, Labelling
from enstruct.workbench.written import Written, filled

MOST_RULES = 200
"""That are listed on the page."""
REMEMBERED = 64
"""Rows whose base answers are kept."""
YES = 0.5
"""A label is shown as there from this probability on: the set of the fewest expected wrong labels."""


class LabelSets(Labelling):
    """``X``: what the model takes, one row for each of ``contents``; ``told`` (rows, labels): what the data tell, NaN elsewhere.

    ``model`` may be None, and be put in place later (:meth:`use`): until then nothing is known but what is told, and what follows
    from it by ``rules``; a model has its own.
    """

    task = "labels"

    def __init__(
        self,
        names: list[str],
        X: Any,
        contents: Contents,
        told: NDArray[np.float64] | None,
        written: Written,
        model: JointMultiLabelClassifier | None = None,
        rules: RuleSystem | None = None,
    ) -> None:
        self.names, self.X, self.contents, self.written = names, X, contents, written
        self.n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        self._number = {name: k for k, name in enumerate(names)}
        self._told, self._model, self._rules = told, model, rules
        self._named: RuleSystem | None = None  # the model's rules, by the labels' names
        self._lock = threading.Lock()
        self._asked: OrderedDict[int, Conditionals] = OrderedDict()

    @property
    def ending(self) -> str:
        return self.written.ending

    def use(self, model: JointMultiLabelClassifier) -> None:
        """Answer by this model from now on."""
        with self._lock:
            self._model, self._named = model, None
            self._asked.clear()

    def prepare(self) -> None:
        """What answers one row is compiled by the first that is asked."""
        told = {self.names[0]: True}
        try:
            self.answers(0, told, {})
            self.question(0, told, {})
        except DataError:
            return  # a rule forbids that label, which does no harm here

    def describe(self) -> dict[str, Any]:
        system = self._system
        rules = [] if system is None else [system.words(k) for k in range(min(MOST_RULES, len(system.inequalities)))]
        return {"names": self.names, "rules": rules}

    def content(self, row: int) -> dict[str, Any]:
        return self.contents.of(row)

    def given_whole(self) -> set[int]:
        return set() if self._told is None else set(np.flatnonzero(~np.isnan(self._told).any(1)).tolist())

    def given(self, row: int) -> Cells:
        if self._told is None:
            return {}
        there = np.flatnonzero(~np.isnan(self._told[row]))
        return {self.names[k]: bool(self._told[row, k]) for k in there}

    def answers(self, row: int, cells: Cells, read: Cells) -> dict[str, Any]:
        """``p`` (labels,) or None without a model, ``shown`` (labels,): the set, ``follows``: label -> the rule that tells it."""
        told = self.vector(row, cells)
        closed, system = told, self._system
        if system is not None:
            try:
                closed = follow(system, told[None])[0]
            except DataError as error:  # of labels that the data gave: they can be mended on the page
                return {"p": None, "shown": [bool(value == 1) for value in told], "follows": {}, "problem": str(error)}
        with self._lock:
            model, beside = self._model, self._beside(told, read)
            p = None if model is None else self._conditionals(model, row).predict_proba(_known(model, beside))[0]
        p = np.where(np.isnan(closed), 0.0 if p is None else p, closed)
        decided = p >= YES
        if system is not None and model is not None:
            decided = nearest(system, decided[None].astype(np.uint8), p[None], closed[None])[0] > 0
        follows = {}
        if system is not None:
            told_by_rules = np.flatnonzero(np.isnan(told) & ~np.isnan(closed))
            follows = {self.names[k]: _rule_of(system, int(k), told) for k in told_by_rules}
        shown = [bool(one) for one in decided]
        return {"p": None if model is None else [round(float(value), 4) for value in p], "shown": shown, "follows": follows}

    def question(self, row: int, cells: Cells, read: Cells) -> str | None:
        told = self.vector(row, cells)
        if (system := self._system) is not None:
            try:
                follow(system, told[None])
            except DataError:
                return None  # what the data gave breaks a rule: :meth:`answers` says which
        told = self._beside(told, read)
        with self._lock:
            if (model := self._model) is None or not np.isnan(told).any():
                return None
            drop = self._conditionals(model, row).drop_in_entropy(_known(model, told))[0]
        drop = np.where(np.isnan(told), drop, -1.0)
        return self.names[int(drop.argmax())] if drop.max() > 0 else None

    def check(self, row: int, cells: Cells, told: Cells, done: bool) -> None:
        for name, value in cells.items():
            if name not in self._number:
                raise DataError(str(unknown_name("label", name, self.names)))
            if not (value is None or isinstance(value, bool)):
                raise DataError(f"The label {shown(name)} is told {shown(value)}: true, false or null.")
        whole = self.vector(row, told)
        if done and np.isnan(whole).any():
            name = self.names[int(np.flatnonzero(np.isnan(whole))[0])]
            raise DataError(f"A row is finished once all its labels are told, and {shown(name)} is not.")
        if (system := self._system) is not None:
            follow(system, whole[None])  # raises what breaks a rule

    def uncertainty(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """What answers would teach the model, by how far its base's models differ; of one model the labels' entropies, summed."""
        model = self._model
        if model is None:
            return None
        return uncertainty_of(model, self.rows_of(rows))

    def write(self, path: Path, told: Mapping[int, Cells]) -> None:
        self.written.write(path, self.names, self.told_table(told))

    def told_table(self, told: Mapping[int, Cells]) -> NDArray[np.float64]:
        """(rows, labels) of 0, 1 and NaN: what the data told, and what was answered."""
        return filled(self.names, self.n_rows, self._told, told)

    # -- rows -------------------------------------------------------------------------------------

    @property
    def _system(self) -> RuleSystem | None:
        """By the labels' names."""
        if self._model is None or self._model.legality_ is None:
            return self._rules
        if self._named is None:
            name = dict(zip(self._model.classes_.tolist(), self.names, strict=True)).__getitem__
            rules = [mapped(rule, name) for rule in self._model.legality_.whole.rules]
            self._named = RuleSystem.of(rules, self.names)
        return self._named

    def rows_of(self, rows: NDArray[np.intp]) -> Any:
        """As a model takes them."""
        return [self.X[int(row)] for row in rows] if isinstance(self.X, list) else self.X[rows]

    def vector(self, row: int, cells: Cells) -> NDArray[np.float64]:
        """(labels,) what is told."""
        told = np.full(len(self.names), np.nan) if self._told is None else self._told[row].copy()
        for name, value in cells.items():
            told[self._number[name]] = np.nan if value is None else float(value)
        return told

    def _beside(self, told: NDArray[np.float64], read: Cells) -> NDArray[np.float64]:
        """With what was read, as far as no rule forbids it."""
        out = told.copy()
        for name, value in read.items():
            if name in self._number and np.isnan(out[self._number[name]]) and isinstance(value, bool):
                out[self._number[name]] = float(value)
        if (system := self._system) is not None:
            try:
                follow(system, out[None])
            except DataError:
                return told
        return out

    def _conditionals(self, model: JointMultiLabelClassifier, row: int) -> Conditionals:
        if row not in self._asked:
            self._asked[row] = model.conditionals(self.rows_of(np.array([row]))).hurried()
            if len(self._asked) > REMEMBERED:
                self._asked.popitem(last=False)
        self._asked.move_to_end(row)
        return self._asked[row]


def _known(model: JointMultiLabelClassifier, told: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1, labels) as the model takes it: without labels that training has seen with the other value alone, of which nothing
    follows."""
    constants = model.constants_
    return np.where(~np.isnan(constants) & (told != constants), np.nan, told)[None]


def uncertainty_of(model: JointMultiLabelClassifier, X: Any) -> NDArray[np.float64]:
    """(rows,) nats."""
    if sum(len(fitted.models) for fitted in model.base_) > 1:
        return model.disagreement(X)
    p = np.asarray(model.predict_proba(X))
    return np.asarray(-(xlogy(p, p) + xlogy(1 - p, 1 - p)).sum(1))


def _rule_of(system: RuleSystem, label: int, told: NDArray[np.float64]) -> str:
    """Words of a rule that is about the label and something told; of any about the label where several act together."""
    there = set(np.flatnonzero(~np.isnan(told)).tolist())
    about = [k for k in np.flatnonzero(system.binds) if label in system.inequalities[k].labels]
    acting = [k for k in about if there & set(system.inequalities[k].labels)]
    return system.words(int((acting or about)[0])) if about else "a rule"
